import { ToolCallExtensionsError, type ToolInvocationContext, type ToolOutcome } from "../index.ts";
import { GrowingPause } from "./growing-pause.ts";
import { startHeartbeat } from "./heartbeat.ts";
import type { OnceClaim, OnceStore } from "./once-store.ts";
import { decodeOutcome, encodeOutput } from "./stored-outcome.ts";

type ClaimRequest = Parameters<OnceStore["claim"]>[0];
type Obtained = Extract<OnceClaim, { readonly status: "claimed" | "completed" }>;
type Completed = Extract<ToolOutcome, { readonly status: "completed" }>;

/** One call that wants its key. */
export class Claimant {
  readonly #store: OnceStore;
  readonly #toolName: string;
  readonly #request: ClaimRequest;

  constructor(store: OnceStore, toolName: string, request: ClaimRequest) {
    this.#store = store;
    this.#toolName = toolName;
    this.#request = request;
  }

  async claimOrWait(invocation: ToolInvocationContext): Promise<Obtained> {
    const pause = new GrowingPause();
    for (;;) {
      const askedAt = performance.now();
      const claim = await this.#store.claim(this.#request);
      if (claim.status === "completed") return claim;
      if (claim.status === "claimed" && (await this.#isFresh(askedAt, claim.fence))) return claim;
      if (claim.status === "mismatched") throw inputMismatch(this.#toolName, this.#request.key);
      await pause.next(invocation.signal);
    }
  }

  /** The answer may be read long after it was given, by a process that slept: the lease may be somebody else's by then. */
  async #isFresh(askedAt: number, fence: number): Promise<boolean> {
    const { key, leaseMs } = this.#request;
    return performance.now() - askedAt < leaseMs || (await this.#store.renew({ key, fence, leaseMs }));
  }

  /** Performs the call under its claim, and stores what it came to or lets others try. */
  async hold(
    fence: number,
    perform: () => Promise<ToolOutcome>,
    isFinal: (output: unknown) => boolean,
  ): Promise<ToolOutcome> {
    const { key, leaseMs } = this.#request;
    const stopHeartbeat = startHeartbeat(async () => this.#store.renew({ key, fence, leaseMs }), leaseMs);
    try {
      const outcome = await perform();
      if (outcome.status === "completed" && isFinal(outcome.output)) return await this.#complete(fence, outcome);
      await this.#release(fence);
      return outcome;
    } catch (error) {
      await this.#release(fence);
      throw error;
    } finally {
      stopHeartbeat();
    }
  }

  async #complete(fence: number, outcome: Completed): Promise<ToolOutcome> {
    const text = encodeOutput(outcome.output, this.#toolName);
    if (await this.#keep(fence, text)) return outcome;
    const claim = await this.#store.claim(this.#request);
    if (claim.status === "completed") return decodeOutcome(claim.outcome);
    // Whoever took over has given up: this outcome is the only one there is.
    if (claim.status === "claimed" && (await this.#keep(claim.fence, text))) return outcome;
    throw leaseLost(this.#toolName, this.#request.key);
  }

  /** The tool has run, and running it again may cost more than waiting for a store that is away for a moment. */
  async #keep(fence: number, outcome: string): Promise<boolean> {
    const { key, leaseMs } = this.#request;
    const giveUpAt = performance.now() + leaseMs;
    const pause = new GrowingPause();
    for (;;) {
      try {
        return await this.#store.complete({ key, fence, outcome });
      } catch (error) {
        if (performance.now() >= giveUpAt) throw error;
      }
      await pause.next();
    }
  }

  async #release(fence: number): Promise<void> {
    try {
      await this.#store.release({ key: this.#request.key, fence });
    } catch {
      // What the call came to says more than this does, and the lease runs out by itself.
    }
  }
}

function inputMismatch(toolName: string, invocationKey: string): ToolCallExtensionsError {
  const message =
    `tool "${toolName}" was called under the key ${invocationKey} before, with another input or by another tool's name; ` +
    "a key stands for one call: give each run a session and turn id of its own";
  return new ToolCallExtensionsError("input-mismatch", message, { toolName, invocationKey });
}

function leaseLost(toolName: string, invocationKey: string): ToolCallExtensionsError {
  const message =
    `tool "${toolName}" has run, but another caller took over its key ${invocationKey} meanwhile and is still at it; ` +
    "call again under the same key for the outcome, and give once() a longer leaseMs";
  return new ToolCallExtensionsError("lease-lost", message, { toolName, invocationKey });
}
