import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { Message, Usage } from "./model.ts";
import type { PendingCall, RunState } from "./run-state.ts";

interface RunResultBase {
  readonly runId: string;
  /** The turns taken, from 1. */
  readonly turns: number;
  /** The whole conversation, for `.history()` of the next prompt. */
  readonly messages: readonly Message[];
  /** Of this run and its sub-agents' runs together. */
  readonly usage: Usage;
  /** What tools gave back with `toolResult`, in call order; where two gave the same token, the later wins. */
  readonly resultExtensions: ToolCallExtensions<string>;
}

interface CompletedRun<out Output> extends RunResultBase {
  readonly status: "completed";
  /** The final answer: text, or the value of the schema given to `.output()`. */
  readonly output: Output;
  readonly finishReason: string | undefined;
}

interface PausedRun extends RunResultBase {
  readonly status: "paused";
  readonly output: undefined;
  /** The calls that wait for approval, those of sub-agents included. */
  readonly pending: readonly PendingCall[];
  /** For `agent.resume(state)`, here or in another process. */
  readonly state: RunState;
}

/** What a run ended in: an answer, or a pause in which calls wait for approval. */
export type RunResult<Output = string> = CompletedRun<Output> | PausedRun;
