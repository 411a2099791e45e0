import { invalidArgument, type ToolCall, ToolCallExtensionsError, type ToolMiddleware } from "../index.ts";
import { Claimant } from "./claimant.ts";
import { inputFingerprint } from "./input-fingerprint.ts";
import type { OnceStore } from "./once-store.ts";
import { decodeOutcome } from "./stored-outcome.ts";

const DAY_MS = 86_400_000;

/** Where {@link once} keeps its claims, and when a claim may be taken over. */
export interface OnceOptions {
  readonly store: OnceStore;
  /**
   * How long a claim outlives a holder that died; 30,000 by default. It is renewed while the tool runs, so it need not be
   * as long as the tool takes, but longer than anything that stops the process's timers.
   */
  readonly leaseMs?: number | undefined;
  /**
   * What must be the same whenever a key is used; the validated input by default. For a schema that puts something new into
   * each input, such as the time.
   */
  readonly fingerprintOf?: ((call: ToolCall) => unknown) | undefined;
  /**
   * Says whether a completed call's output is the last word, to be stored. By default everything is, save an output that asks for
   * more input in MCP's words: `resultType` or `status` is `"input_required"`.
   */
  readonly isFinal?: ((output: unknown) => boolean) | undefined;
}

/**
 * Makes a middleware that lets each call's tool complete once for its invocation key, over retries, resumes and processes:
 * a later call with the same key gets the stored outcome, and one at the same time waits for it.
 *
 * Only completed calls are stored. `docs/idempotency.md` says what is promised and what is not.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for an option. A call fails with `missing-session` when it has no key,
 * `input-mismatch` when the key came with another input before, `lease-lost` when somebody took it over meanwhile.
 * @example
 * ```ts
 * import { defineTool, ToolSet } from "tool-call-extensions";
 * import { memoryOnceStore, once } from "tool-call-extensions/once";
 *
 * let charges = 0;
 * const charge = defineTool({ name: "charge", input: { type: "object" }, call: () => ({ charge: ++charges }) });
 * const tools = new ToolSet([charge], { middleware: [once({ store: memoryOnceStore() })] });
 *
 * const sameCall = { sessionKey: "chat-7", toolCallId: "call_1" };
 * const outcomes = await Promise.all([1, 2, 3].map(() => tools.call("charge", { cents: 500 }, sameCall)));
 * if (charges !== 1) throw new Error("charged more than once");
 * if (new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size !== 1) throw new Error("outcomes differ");
 * ```
 */
export function once(options: OnceOptions): ToolMiddleware {
  checkOptions(options);
  const { store, leaseMs = 30_000, fingerprintOf = ({ input }) => input, isFinal = asksForNothing } = options;
  return async (call, next) => {
    const heldIn = storesHolding(call);
    if (heldIn.includes(store)) return next(call);
    const { name } = call.tool;
    const key = keyOf(call);
    const fingerprint = inputFingerprint(name, fingerprintOf(call));
    const claimant = new Claimant(store, name, { key, fingerprint, leaseMs });
    const claim = await claimant.claimOrWait(call.invocation);
    if (claim.status === "completed") return decodeOutcome(claim.outcome);
    const held: HeldCall = { ...call, [HELD_IN]: [...heldIn, store] };
    return claimant.hold(claim.fence, () => next(held), isFinal);
  };
}

const HELD_IN: unique symbol = Symbol.for("tool-call-extensions/once-held-in");

/**
 * Is on the call and not kept beside it, so that it goes with the copies that other middleware makes, and two calls that an
 * outer middleware makes at once under one invocation stay two.
 */
interface HeldCall extends ToolCall {
  readonly [HELD_IN]?: readonly OnceStore[];
}

/** `once` may be around one call twice, of a runner and of a tool set: the inner one would wait for the outer one for ever. */
function storesHolding(call: HeldCall): readonly OnceStore[] {
  return call[HELD_IN] ?? [];
}

function asksForNothing(output: unknown): boolean {
  const { resultType, status } = Object(output) as { readonly resultType?: unknown; readonly status?: unknown };
  return resultType !== "input_required" && status !== "input_required";
}

function keyOf({ tool, invocation }: ToolCall): string {
  if (invocation.invocationKey !== undefined) return invocation.invocationKey;
  const message =
    `tool "${tool.name}" runs once for its invocation key, and the call has none: ` +
    "give the request a .session(key), or a ToolSet's call the option sessionKey";
  throw new ToolCallExtensionsError("missing-session", message, { toolName: tool.name });
}

function checkOptions({ store, leaseMs = DAY_MS, fingerprintOf, isFinal }: OnceOptions): void {
  for (const method of ["claim", "renew", "complete", "release"] as const) {
    if (typeof store?.[method] !== "function") throw refused("store", store, `a OnceStore, with a method ${method}`);
  }
  if (!(typeof leaseMs === "number" && leaseMs >= 10 && leaseMs <= DAY_MS)) {
    throw refused("leaseMs", leaseMs, "a number of milliseconds from 10 to a day's 86,400,000");
  }
  for (const [option, value] of Object.entries({ fingerprintOf, isFinal })) {
    if (value !== undefined && typeof value !== "function") throw refused(option, value, "a function");
  }
}

function refused(option: string, value: unknown, expected: string): ToolCallExtensionsError {
  return invalidArgument(`option ${option} of once()`, value, expected);
}
