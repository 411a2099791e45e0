import { Agent, defineTool, type ExtensionToken, extensionToken, type RunEvent, type Tool } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

export const Tenant: ExtensionToken<"tenant", string> = extensionToken("tenant").of(z.string());
const Secret = extensionToken("secret").of(z.string());

/** What a call looked like to one process. */
export interface Entry {
  readonly links?: string;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly key: string | undefined;
  readonly parent: string | undefined;
  readonly isRemote: boolean;
  readonly output?: unknown;
}

export function logOf(write: (entry: Entry) => void): (event: RunEvent) => void {
  return (event) => {
    if (event.type !== "tool-completed") return;
    const { toolName, toolCallId, invocationKey: key, parent, isRemote } = event.invocation;
    write({ toolName, toolCallId, key, parent: parent?.toolCallId, isRemote, output: event.output });
  };
}

/** The end of the chain: tells what reached it. */
export const record: Tool<{ readonly note: string }, unknown, never> = defineTool({
  name: "record",
  input: z.object({ note: z.string() }),
  callWithExtensions: ({ note }, extensions) => ({
    note,
    tenant: extensions.get(Tenant),
    secret: extensions.get(Secret) ?? "none",
  }),
});

/** A sub-agent that calls `record`, wherever that is. */
export function researcher(
  tools: readonly Tool<never, unknown, never>[],
): Tool<{ readonly prompt: string }, unknown, never> {
  const toolCalls = [1, 2].map((n) => ({
    toolName: "record",
    toolCallId: `toolu_record${n}x`,
    input: { note: `n${n}` },
  }));
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? { toolCalls } : "recorded"));
  return new Agent({ name: "researcher", model, tools }).asTool({ name: "research" });
}
