import { invalidArgument } from "../errors.ts";
import type { InvocationFields, RemoteCall, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { derivedRunId, madeId, randomCallId, randomRunId } from "../invocation/tool-call-id.ts";
import type { CallScope } from "./dispatch.ts";
import { type HostCall, identifyHostCall } from "./host-call.ts";
import type { ToolEvent } from "./tool-events.ts";

export interface ToolSetCallOptions {
  /** Identifies the call; made where it is left out. */
  readonly toolCallId?: string | undefined;
  /** Gives the call an invocation key; inside another call, that call's key is taken where this is left out. */
  readonly sessionKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The identity that another process gave the call, for who serves tools to it; the invocation is then `isRemote`. */
  readonly remote?: RemoteCall | undefined;
  /** Hears of this call and of the calls made inside it; what it throws goes to the console and no further. */
  readonly listener?: ((event: ToolEvent) => void) | undefined;
  /** For adapters: the call's place in another framework's loop. */
  readonly host?: HostCall | undefined;
}

export function checkCallOptions({ sessionKey, remote, listener, host }: ToolSetCallOptions): void {
  if (sessionKey === "") throw invalidArgument("the session key", "", "a non-empty string");
  if (remote !== undefined) checkRemote(remote);
  if (host !== undefined) checkHost(host);
  if (listener !== undefined && typeof listener !== "function") {
    throw invalidArgument("option listener", listener, "a function");
  }
}

function checkRemote(remote: RemoteCall): void {
  for (const [field, value] of Object.entries(remote)) {
    if (value !== undefined && (typeof value !== "string" || value === "")) {
      throw invalidArgument(`option remote.${field}`, value, "a non-empty string");
    }
  }
}

function checkHost(host: HostCall): void {
  const { run, turn, earlierCallIds, repeat, isApproved } = Object(host) as Partial<HostCall>;
  const isCounted =
    Number.isSafeInteger(turn) && Number.isSafeInteger(repeat) && Number(turn) > 0 && Number(repeat) >= 0;
  if (isCounted && isTexts(run) && isTexts(earlierCallIds) && typeof isApproved === "boolean") return;
  throw invalidArgument("option host", host, "{ run, turn, earlierCallIds, repeat, isApproved }");
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** Identifies a call that no run made. */
export function identify(
  toolName: string,
  options: ToolSetCallOptions,
  parent: ToolInvocationContext | undefined,
  outer: CallScope | undefined,
): InvocationFields {
  const { toolCallId: providerToolCallId, host } = options;
  // Counted within the parent, so that a retry of the parent makes the same nested calls under the same ids.
  const index = outer === undefined || host !== undefined ? 0 : outer.nestedCalls++;
  const { runId, toolCallId, turn } =
    host === undefined
      ? nestedIdentity(options, parent, index)
      : identifyHostCall(host, { providerToolCallId, toolName }, parent);
  // Written out, because V8 keeps what a spread made in a table.
  return {
    toolCallId,
    providerToolCallId,
    toolName,
    sessionKey: options.sessionKey,
    runId,
    agentName: parent?.agentName,
    turn,
    index,
    batchSize: 1,
    attempt: 1,
    parent,
    remote: options.remote,
  };
}

function nestedIdentity(
  { toolCallId, remote }: ToolSetCallOptions,
  parent: ToolInvocationContext | undefined,
  index: number,
): ReturnType<typeof identifyHostCall> {
  // From the key, so that a call sent again makes the same calls under the same ids and keys.
  const key = remote?.invocationKey;
  const runId = key === undefined ? (parent?.runId ?? randomRunId()) : derivedRunId("remote", key);
  const turn = parent?.turn ?? 1;
  const given = remote?.toolCallId ?? toolCallId;
  if (given) return { runId, toolCallId: given, turn };
  const isRandom = parent === undefined && key === undefined;
  return {
    runId,
    turn,
    toolCallId: isRandom ? randomCallId() : madeId(runId, parent?.toolCallId ?? "", String(index)),
  };
}
