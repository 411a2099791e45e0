import { invalidArgument, ToolError } from "../errors.ts";
import { nextAttempt, scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import type { CallScope } from "./dispatch.ts";
import { copyOf } from "./input-schema.ts";
import type { ToolCall, ToolHandler } from "./middleware.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** How a tool's failures are tried again. The delay doubles with each attempt, and a random part of it is waited. */
export interface RetryOptions {
  /** The further attempts after the first. */
  readonly max: number;
  /** 100 by default. */
  readonly minDelayMs?: number | undefined;
  /** 5,000 by default. */
  readonly maxDelayMs?: number | undefined;
  /** By default every error but a `ToolError`, which is the tool's word to the model. */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
}

type FailedOutcome = Extract<ToolOutcome, { readonly status: "failed" }>;

/** Tries a failed call again under the same id and key, with the attempt counted up, as its tool allows. */
export function withRetries(perform: ToolHandler): ToolHandler {
  const performOften = async (call: ToolCall, retries: number | RetryOptions): Promise<ToolOutcome> => {
    // Each attempt gets the arguments as they came, whatever the one before did to its own.
    const input = copyOf(call.input);
    let outcome = await perform(call);
    const options = typeof retries === "number" ? { max: retries } : retries;
    let current = call;
    for (let attempt = 1; attempt <= options.max && isWorthRetrying(outcome, options); attempt++) {
      const reason = await abortDuring(delayMs(attempt, options), current);
      if (reason !== undefined) return { status: "failed", kind: "aborted", error: reason.error };
      current = again({ ...current, input: copyOf(input) }, outcome);
      outcome = await perform(current);
    }
    return outcome;
  };
  return (call) => (call.tool.retries === undefined ? perform(call) : performOften(call, call.tool.retries));
}

function isWorthRetrying(outcome: ToolOutcome, { isRetryable }: RetryOptions): outcome is FailedOutcome {
  if (outcome.status !== "failed" || outcome.kind !== "error") return false;
  return isRetryable === undefined ? !ToolError.is(outcome.error) : isRetryable(outcome.error);
}

function again(call: ToolCall, { error }: FailedOutcome): ToolCall {
  const invocation = nextAttempt(call.invocation);
  const scope = scopeOf<CallScope>(invocation);
  if (scope?.progress.isOpen) {
    scope.progress.invocation = invocation;
    scope.run.emit?.({ type: "tool-retried", at: Date.now(), invocation, error });
  }
  return { ...call, invocation, extensions: call.extensions["~bind"](ToolInvocationContext, invocation) };
}

/** Full jitter, so that calls which failed together do not come back together. */
function delayMs(attempt: number, { minDelayMs = 100, maxDelayMs = 5_000 }: RetryOptions): number {
  return Math.random() * Math.min(maxDelayMs, minDelayMs * 2 ** (attempt - 1));
}

/** Waits, and gives the reason of an abort that comes first. */
function abortDuring(delay: number, { invocation }: ToolCall): Promise<{ readonly error: unknown } | undefined> {
  const { signal } = invocation;
  return new Promise((resolve) => {
    const stop = (): void => {
      clearTimeout(timer);
      resolve({ error: signal.reason });
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve(undefined);
    }, delay);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
  });
}

export function checkRetries(retries: unknown, toolName: string): void {
  if (retries === undefined) return;
  const options = typeof retries === "object" && retries !== null ? retries : { max: retries };
  const {
    max,
    minDelayMs = 0,
    maxDelayMs = 0,
    isRetryable,
  } = options as { readonly [Key in keyof RetryOptions]?: unknown };
  const refuse = (option: string, received: unknown, expected: string): never => {
    throw invalidArgument(`retries${option} of tool "${toolName}"`, received, expected);
  };
  if (!Number.isSafeInteger(max) || Number(max) < 0) refuse("", retries, "a whole number from 0, or { max, … }");
  for (const [name, delay] of Object.entries({ minDelayMs, maxDelayMs })) {
    if (typeof delay !== "number" || !(delay >= 0)) refuse(`.${name}`, delay, "milliseconds from 0");
  }
  if (isRetryable !== undefined && typeof isRetryable !== "function") refuse(".isRetryable", isRetryable, "a function");
}
