import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { Message, Usage } from "./model.ts";

/** What a run ended in. */
export interface RunResult<out Output = string> {
  readonly status: "completed";
  /** The final answer: text, or the value of the schema given to `.output()`. */
  readonly output: Output;
  readonly runId: string;
  /** The turns taken, from 1. */
  readonly turns: number;
  /** The whole conversation, for `.history()` of the next prompt. */
  readonly messages: readonly Message[];
  /** Of this run and its sub-agents' runs together. */
  readonly usage: Usage;
  readonly finishReason: string | undefined;
  /** What tools gave back with `toolResult`, in call order; where two gave the same token, the later wins. */
  readonly resultExtensions: ToolCallExtensions<string>;
}
