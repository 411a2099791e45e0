import { type ExtensionToken, reservedToken } from "../extensions/extension-token.ts";
import { invocationKey } from "./invocation-key.ts";

/**
 * Identifies one call of one tool; there is one object for each attempt, and it is frozen.
 *
 * Read it in a tool with `extensions.require(ToolInvocationContext)` or `currentToolInvocation()`. Dispatch binds it
 * last, so a caller can neither insert nor change it.
 */
export interface ToolInvocationContext {
  /** Unique in the run and never empty, whatever the provider sent. */
  readonly toolCallId: string;
  /** The provider's id as it came: it may be empty, missing or repeated. */
  readonly providerToolCallId: string | undefined;
  readonly toolName: string;
  /**
   * The key for idempotent side effects: the same for this call over retries, resumes and processes, another for every other
   * call. `undefined` without a session. Computed on first read.
   */
  readonly invocationKey: string | undefined;
  /** The request's `.session(key)`; inside another call, that call's invocation key. */
  readonly sessionKey: string | undefined;
  readonly runId: string;
  /** The agent whose run made the call; `undefined` when a `ToolSet` was called directly. */
  readonly agentName: string | undefined;
  /** The run's turn, from 1. */
  readonly turn: number;
  /** The position among the turn's calls, from 0. */
  readonly index: number;
  /** The number of calls in the turn. */
  readonly batchSize: number;
  /** The attempt, from 1. */
  readonly attempt: number;
  /**
   * True where id or key, or those of a call around this one, came from another process, such as the client of an MCP server:
   * its word, which nobody checked.
   */
  readonly isRemote: boolean;
  /** The call inside which this one was made, by a nested call or a sub-agent. */
  readonly parent: ToolInvocationContext | undefined;
  /** Aborts when the run is aborted while this call is open. Belongs to this call alone. */
  readonly signal: AbortSignal;
}

/**
 * Finds the {@link ToolInvocationContext} of the running call in its extensions.
 *
 * @example
 * ```ts
 * import { defineTool, ToolInvocationContext, ToolSet } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const whoAmI = defineTool({
 *   name: "who_am_i",
 *   input: z.object({}),
 *   callWithExtensions: (_input, extensions) => extensions.require(ToolInvocationContext).toolCallId,
 * });
 * const outcome = await new ToolSet([whoAmI]).call("who_am_i", {}, { toolCallId: "call_1" });
 * if (outcome.status !== "completed" || outcome.output !== "call_1") throw new Error("another id");
 * ```
 */
export const ToolInvocationContext: ExtensionToken<"tool-invocation", ToolInvocationContext> =
  /* @__PURE__ */ reservedToken("tool-invocation");

/** What dispatch knows of a call when it begins. */
export interface InvocationFields {
  readonly toolCallId: string;
  readonly providerToolCallId: string | undefined;
  readonly toolName: string;
  /** The run's own session, if it has one. */
  readonly sessionKey: string | undefined;
  readonly runId: string;
  readonly agentName: string | undefined;
  readonly turn: number;
  readonly index: number;
  readonly batchSize: number;
  readonly attempt: number;
  readonly parent: ToolInvocationContext | undefined;
  /** Present where another process made the call's identity. */
  readonly remote?: RemoteCall | undefined;
}

/** The identity that another process gave a call: taken as it is, since both processes mean the same call. */
export interface RemoteCall {
  readonly toolCallId?: string | undefined;
  readonly invocationKey?: string | undefined;
}

/** What a call's invocation keeps out of sight: printers and serialisers do not see it. */
export interface InvocationScope {
  readonly cancellation: { readonly signal: AbortSignal };
  /** The calls and runs begun inside the call, for their ids. */
  nestedCalls: number;
}

export class Invocation implements ToolInvocationContext {
  readonly toolCallId: string;
  readonly providerToolCallId: string | undefined;
  readonly toolName: string;
  readonly runId: string;
  readonly agentName: string | undefined;
  readonly turn: number;
  readonly index: number;
  readonly batchSize: number;
  readonly attempt: number;
  readonly parent: ToolInvocationContext | undefined;
  readonly #scope: InvocationScope;
  readonly #fields: InvocationFields;
  #invocationKey: string | undefined;

  constructor(fields: InvocationFields, scope: InvocationScope) {
    this.toolCallId = fields.toolCallId;
    this.providerToolCallId = fields.providerToolCallId;
    this.toolName = fields.toolName;
    this.runId = fields.runId;
    this.agentName = fields.agentName;
    this.turn = fields.turn;
    this.index = fields.index;
    this.batchSize = fields.batchSize;
    this.attempt = fields.attempt;
    this.parent = fields.parent;
    this.#scope = scope;
    this.#fields = fields;
    Object.freeze(this);
  }

  get sessionKey(): string | undefined {
    return this.#fields.sessionKey ?? this.parent?.invocationKey;
  }

  get isRemote(): boolean {
    return this.#fields.remote !== undefined || (this.parent?.isRemote ?? false);
  }

  get invocationKey(): string | undefined {
    const { remote } = this.#fields;
    if (remote?.invocationKey !== undefined) return remote.invocationKey;
    const { sessionKey } = this;
    if (sessionKey === undefined) return undefined;
    this.#invocationKey ??= invocationKey(sessionKey, this.toolCallId);
    return this.#invocationKey;
  }

  get signal(): AbortSignal {
    return this.#scope.cancellation.signal;
  }

  get "~scope"(): InvocationScope {
    return this.#scope;
  }

  /** Calls made inside are counted anew, so that they get the ids they had in the attempt before. */
  "~next"(): ToolInvocationContext {
    return new Invocation({ ...this.#fields, attempt: this.attempt + 1 }, { ...this.#scope, nestedCalls: 0 });
  }
}

/**
 * Reads the hidden scope, also of an invocation that another copy of the package made.
 *
 * The cast is the boundary: only dispatch makes invocations, and it knows which scope it gave them.
 */
export function scopeOf<Scope extends InvocationScope>(invocation: ToolInvocationContext): Scope | undefined {
  return (invocation as { readonly "~scope"?: Scope } & ToolInvocationContext)["~scope"];
}

/** Makes the invocation of the call's next attempt: the same call, under the same id and key. */
export function nextAttempt(invocation: ToolInvocationContext): ToolInvocationContext {
  const make = (invocation as { readonly "~next"?: () => ToolInvocationContext } & ToolInvocationContext)["~next"];
  return make === undefined ? invocation : make.call(invocation);
}
