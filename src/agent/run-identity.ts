import type { InvocationFields, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { derivedRunId, randomRunId } from "../invocation/tool-call-id.ts";
import type { CallScope } from "../tool/dispatch.ts";
import type { AssistantPart, Message, ToolCallPart } from "./model.ts";
import type { RequestSettings } from "./prompt-request.ts";
import type { CallRecord } from "./turn-calls.ts";

/**
 * Gives the run's id. A run in a session is identified by its turn id or, without one, by the conversation it continues; a
 * run inside a call by that call, counted because one call may start several. So a replay finds the same run id, and with
 * it the same made ids.
 */
export function toRunId(
  { agent, session, history, prompt, state }: RequestSettings<unknown>,
  parent: ToolInvocationContext | undefined,
  scope: CallScope | undefined,
): string {
  if (state !== undefined) return state.runId;
  if (session !== undefined) {
    const { key, turnId } = session;
    return turnId === undefined
      ? derivedRunId("conversation", agent.name, key, String(history.length), prompt)
      : derivedRunId("turn", agent.name, key, turnId);
  }
  if (parent === undefined) return randomRunId();
  return derivedRunId("call", parent.runId, parent.toolCallId, String(scope === undefined ? 0 : scope.nestedCalls++));
}

/** What all calls of a run have in common. */
export type RunIdentity = Pick<InvocationFields, "sessionKey" | "runId" | "agentName" | "parent">;

/** Field by field: of two spreads V8 makes a hash table, and the reads of those took most of a run's time. */
export function fieldsOf(
  { toolCallId, providerToolCallId, toolName, index }: CallRecord,
  { sessionKey, runId, agentName, parent }: RunIdentity,
  { turn, batchSize }: Pick<InvocationFields, "turn" | "batchSize">,
): InvocationFields {
  return {
    toolCallId,
    providerToolCallId,
    toolName,
    sessionKey,
    runId,
    agentName,
    turn,
    index,
    batchSize,
    attempt: 1,
    parent,
  };
}

export function isToolCall(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call";
}

/** The ids that the conversation already uses, for calls and for results. */
export function seenIds(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role === "tool") return [message.toolCallId];
    if (message.role === "user") return [];
    return message.content.filter(isToolCall).map(({ toolCallId = "" }) => toolCallId);
  });
}

/** The provider gets its own ids back, unless that would leave two calls of the turn with one id, or one with none. */
export function toWireIds(calls: readonly ToolCallPart[], ids: readonly string[]): readonly string[] {
  const used = new Set<string>([""]);
  return calls.map(({ toolCallId }, index) => {
    const isUsable = typeof toolCallId === "string" && !used.has(toolCallId);
    const id = isUsable ? toolCallId : (ids[index] ?? "");
    used.add(id);
    return id;
  });
}

export function withWireIds(content: readonly AssistantPart[], wireIds: readonly string[]): readonly AssistantPart[] {
  let index = 0;
  return content.map((part) => {
    if (part.type !== "tool-call") return part;
    const toolCallId = wireIds[index++];
    return part.toolCallId === toolCallId ? part : { ...part, toolCallId };
  });
}
