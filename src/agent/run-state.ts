import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { invocationKey } from "../invocation/invocation-key.ts";
import type { Tool } from "../tool/tool.ts";
import type { Message, Usage } from "./model.ts";

/**
 * Is a run that can go on elsewhere, as plain JSON: save it, read it in another process, and give it to `agent.resume()`. It
 * never holds an extension value. It is read through its own checks, so a state that was changed or cut is refused by field.
 */
export interface RunState {
  readonly version: 1;
  readonly agentName: string;
  readonly runId: string;
  readonly sessionKey?: string | undefined;
  /** The turn whose calls are listed, from 1; 0 before the first answer. */
  readonly turn: number;
  readonly messages: readonly Message[];
  readonly usage: Usage;
  /** The calls of the turn that are not yet in `messages`. */
  readonly calls: readonly CallState[];
}

export interface Decision {
  readonly isApproved: boolean;
  readonly reason?: string | undefined;
}

/** Where one call stands: `new` has not begun; `started` without a result may or may not have happened. */
export interface CallState {
  readonly toolCallId: string;
  readonly providerToolCallId?: string | undefined;
  /** The id under which the model knows the call. */
  readonly wireId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly status: "new" | "waiting" | "started" | "done";
  /** What was decided on a call that waits for approval. */
  readonly decision?: Decision | undefined;
  readonly result?: { readonly text: string; readonly isError: boolean } | undefined;
  /** The sub-agent's run inside the call. */
  readonly run?: RunState | undefined;
}

/** A call that waits for approval. */
export interface PendingCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
  readonly agentName: string;
  readonly invocationKey: string | undefined;
  /** The ids of the sub-agent calls it is inside of, outermost first; empty at the top. */
  readonly path: readonly string[];
}

/** Lists the calls that wait for a decision, at any depth. */
export function pendingCalls(
  state: RunState,
  path: readonly string[] = [],
  outerKey?: string | undefined,
): readonly PendingCall[] {
  const sessionKey = state.sessionKey ?? outerKey;
  return state.calls.flatMap(({ toolCallId, toolName, input, status, decision, run }) => {
    const key = sessionKey === undefined ? undefined : invocationKey(sessionKey, toolCallId);
    if (run !== undefined) return pendingCalls(run, [...path, toolCallId], key);
    if (status !== "waiting" || decision !== undefined) return [];
    return [{ toolCallId, toolName, input, agentName: state.agentName, invocationKey: key, path }];
  });
}

/**
 * Writes a decision into the state. A call is named by its id or, where two waiting calls share one, by its pending entry.
 *
 * @throws ToolCallExtensionsError `unknown-call` when no call, or more than one, waits under that id.
 */
export function decide(state: RunState, call: string | PendingCall, decision: Decision): RunState {
  const id = typeof call === "string" ? call : call.toolCallId;
  const isMeant = (pending: PendingCall): boolean =>
    pending.toolCallId === id && (typeof call === "string" || pending.path.join("\n") === call.path.join("\n"));
  const pending = pendingCalls(state);
  const [meant, ...others] = pending.filter(isMeant);
  if (meant === undefined || others.length > 0) throw unknownCall(id, pending);
  return decideAt(state, meant.path, id, decision);
}

function decideAt(state: RunState, path: readonly string[], id: string, decision: CallState["decision"]): RunState {
  const [next, ...rest] = path;
  const calls = state.calls.map((call) => {
    if (next === undefined) return call.toolCallId === id ? { ...call, decision } : call;
    if (call.toolCallId !== next || call.run === undefined) return call;
    return { ...call, run: decideAt(call.run, rest, id, decision) };
  });
  return { ...state, calls };
}

function unknownCall(toolCallId: string, calls: readonly PendingCall[]): ToolCallExtensionsError {
  const pending = calls.map((call) => call.toolCallId);
  const isShared = pending.includes(toolCallId);
  const message = isShared
    ? `several calls wait under the id "${toolCallId}"; pass the entry of result.pending instead of its id`
    : `no call waits for approval under the id "${toolCallId}"; waiting: ${pending.join(", ") || "none"}`;
  return new ToolCallExtensionsError("unknown-call", message, { toolCallId, pending });
}

/** More than agents have in one another; what is nested without a bound ends in a stack overflow. */
const MAX_DEPTH = 100;

/**
 * Reads a state from anywhere: whatever is not as a run wrote it is refused.
 *
 * @throws ToolCallExtensionsError `invalid-state`, naming the field.
 */
export function readRunState(value: unknown, field = "the state", depth = 0): RunState {
  const state = record(value, field);
  if (depth > MAX_DEPTH) throw stateError(field, "a deeper one", `at most ${MAX_DEPTH} runs deep`);
  check(state["version"] === 1, `${field}.version`, state["version"], "1, the version this package writes");
  for (const name of ["agentName", "runId"]) checkString(state[name], `${field}.${name}`);
  if (state["sessionKey"] !== undefined) checkString(state["sessionKey"], `${field}.sessionKey`);
  checkCount(state["turn"], `${field}.turn`);
  const usage = record(state["usage"], `${field}.usage`);
  for (const name of ["inputTokens", "outputTokens"]) checkNumber(usage[name], `${field}.usage.${name}`);
  for (const [index, item] of list(state["messages"], `${field}.messages`).entries()) {
    checkMessage(item, `${field}.messages[${index}]`);
  }
  const seen = new Set<unknown>();
  for (const [index, item] of list(state["calls"], `${field}.calls`).entries()) {
    const { toolCallId } = checkCall(item, `${field}.calls[${index}]`, depth);
    check(!seen.has(toolCallId), `${field}.calls[${index}].toolCallId`, toolCallId, "one that no other call has");
    seen.add(toolCallId);
  }
  // Every field has been checked above.
  return value as RunState;
}

type AgentOfTool = NonNullable<Tool["~agent"]>;

/** @throws ToolCallExtensionsError `invalid-state` when the state, or a sub-agent's inside it, is of another agent. */
export function assertAgents(state: RunState, agent: AgentOfTool, field = "the state"): void {
  const { agentName } = state;
  if (agentName !== agent.name) throw mismatch(`${field}.agentName`, agentName, `"${agent.name}", the agent's name`);
  for (const [index, { toolName, run }] of state.calls.entries()) {
    if (run === undefined) continue;
    const inner = agent.tools.get(toolName)?.["~agent"];
    const call = `${field}.calls[${index}]`;
    if (inner === undefined)
      throw mismatch(`${call}.toolName`, toolName, "the name of a sub-agent's tool, as it has a run");
    assertAgents(run, inner, `${call}.run`);
  }
}

function checkCall(value: unknown, field: string, depth: number): Readonly<Record<string, unknown>> {
  const call = record(value, field);
  for (const name of ["toolCallId", "wireId"]) checkString(call[name], `${field}.${name}`);
  check(typeof call["toolName"] === "string", `${field}.toolName`, call["toolName"], "a string");
  const { providerToolCallId, status, decision, result, run } = call;
  if (providerToolCallId !== undefined) {
    check(typeof providerToolCallId === "string", `${field}.providerToolCallId`, providerToolCallId, "a string");
  }
  const isStatus = status === "new" || status === "waiting" || status === "started" || status === "done";
  check(isStatus, `${field}.status`, status, "new, waiting, started or done");
  if (decision !== undefined) {
    const { isApproved, reason = "" } = record(decision, `${field}.decision`);
    check(typeof reason === "string", `${field}.decision.reason`, reason, "a string");
    check(typeof isApproved === "boolean", `${field}.decision.isApproved`, isApproved, "a boolean");
  }
  check(status !== "done" || result !== undefined, `${field}.result`, result, "a result, as the call is done");
  if (result !== undefined) {
    const { text, isError } = record(result, `${field}.result`);
    check(typeof text === "string", `${field}.result.text`, text, "a string");
    check(typeof isError === "boolean", `${field}.result.isError`, isError, "a boolean");
  }
  if (run !== undefined) readRunState(run, `${field}.run`, depth + 1);
  return call;
}

function checkMessage(value: unknown, field: string): void {
  const { role, text, content, toolCallId, toolName, isError } = record(value, field);
  check(role === "user" || role === "assistant" || role === "tool", `${field}.role`, role, "user, assistant or tool");
  if (role === "assistant") {
    for (const [index, part] of list(content, `${field}.content`).entries()) {
      checkPart(part, `${field}.content[${index}]`);
    }
    return;
  }
  check(typeof text === "string", `${field}.text`, text, "a string");
  if (role === "user") return;
  checkString(toolCallId, `${field}.toolCallId`);
  check(typeof toolName === "string", `${field}.toolName`, toolName, "a string");
  check(typeof isError === "boolean", `${field}.isError`, isError, "a boolean");
}

function checkPart(value: unknown, field: string): void {
  const { type, text, toolName, toolCallId } = record(value, field);
  const isType = type === "text" || type === "tool-call" || type === "provider";
  check(isType, `${field}.type`, type, "text, tool-call or provider");
  if (type === "text") check(typeof text === "string", `${field}.text`, text, "a string");
  if (type !== "tool-call") return;
  check(typeof toolName === "string", `${field}.toolName`, toolName, "a string");
  checkString(toolCallId, `${field}.toolCallId`);
}

function record(value: unknown, field: string): Readonly<Record<string, unknown>> {
  check(typeof value === "object" && value !== null && !Array.isArray(value), field, value, "an object");
  return Object(value);
}

function list(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw invalidState(field, value, "an array");
}

function checkString(value: unknown, field: string): void {
  check(typeof value === "string" && value !== "", field, value, "a non-empty string");
}

function checkNumber(value: unknown, field: string): void {
  check(typeof value === "number" && value >= 0, field, value, "a number from 0");
}

function checkCount(value: unknown, field: string): void {
  check(Number.isSafeInteger(value) && Number(value) >= 0, field, value, "a whole number from 0");
}

function check(holds: boolean, field: string, value: unknown, expected: string): void {
  if (!holds) throw invalidState(field, value, expected);
}

function invalidState(field: string, value: unknown, expected: string): ToolCallExtensionsError {
  const { received } = invalidArgument(field, value, expected).details as { readonly received: string };
  return stateError(field, received, expected);
}

/** Shows the name, which is no secret. */
function mismatch(field: string, name: string, expected: string): ToolCallExtensionsError {
  return stateError(field, `"${name}"`, expected);
}

function stateError(field: string, received: string, expected: string): ToolCallExtensionsError {
  const message = `${field} must be ${expected}; received ${received}`;
  return new ToolCallExtensionsError("invalid-state", message, { field, received, expected });
}
