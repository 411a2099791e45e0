import { invalidArgument, type ToolCallExtensionsError, ToolError } from "../errors.ts";
import { isExtensionMap } from "../extensions/extension-map.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { ToolInvocationContext } from "../invocation/invocation-context.ts";
import { boundText, toModelText } from "./model-text.ts";

/**
 * Says why a call failed: `aborted` by its signal; `missing-extension` is the caller's fault and ends the run; the others
 * become a result for the model. `rejected` means that approval was refused, `outcome-unknown` that the run was cut off while
 * the call ran and its tool does not say that it may run again.
 */
export type ToolFailureKind =
  | "unknown-tool"
  | "invalid-input"
  | "missing-extension"
  | "rejected"
  | "outcome-unknown"
  | "aborted"
  | "error";

/** What a call ended in, as data: dispatch never throws for a tool's failure. */
export type ToolOutcome =
  | {
      readonly status: "completed";
      /** What the tool returned, by reference. */
      readonly output: unknown;
      /** What {@link toolResult} added for the caller. */
      readonly resultExtensions?: ToolCallExtensions<string> | undefined;
    }
  | {
      readonly status: "failed";
      readonly kind: ToolFailureKind;
      /** The original, by reference: a library error, a {@link ToolError}, or whatever the tool threw. */
      readonly error: unknown;
    }
  | {
      /** A sub-agent's run inside the call waits for approval. */
      readonly status: "paused";
      /** That run's `RunState`. */
      readonly state: object;
      /** The call that waits. */
      readonly invocation: ToolInvocationContext;
    };

const RESULT: unique symbol = Symbol.for("tool-call-extensions/tool-result");

/** A tool's output together with values for the caller. */
export interface ToolResult<out Output> {
  readonly output: Output;
  readonly extensions: ToolCallExtensions<string>;
}

/**
 * Returns a value to the model and others to the caller alone: they are on the `tool-completed` event and on the run's
 * result, and the model never sees them.
 *
 * @example
 * ```ts
 * import { defineTool, extensionToken, ToolCallExtensions, ToolSet, toolResult } from "tool-call-extensions";
 *
 * const Cost = extensionToken("cost-cents").of<number>();
 * const search = defineTool({
 *   name: "search",
 *   input: { type: "object" },
 *   call: () => toolResult("3 hits", new ToolCallExtensions().with(Cost, 2)),
 * });
 *
 * const outcome = await new ToolSet([search]).call("search", {});
 * if (outcome.status !== "completed" || outcome.output !== "3 hits") throw new Error("not unwrapped");
 * if (outcome.resultExtensions?.get(Cost) !== 2) throw new Error("the caller's value is lost");
 * ```
 */
export function toolResult<Output>(output: Output, extensions: ToolCallExtensions<never>): ToolResult<Output> {
  if (!isExtensionMap(extensions))
    throw invalidArgument("the extensions of toolResult()", extensions, "a ToolCallExtensions");
  const result = { output, extensions: withoutInvocation(extensions) };
  Object.defineProperty(result, RESULT, { value: true });
  return result;
}

/** The call that gave the result is not the parent of what the caller does next with these values. */
function withoutInvocation(extensions: ToolCallExtensions<string>): ToolCallExtensions<string> {
  if (!extensions.has(ToolInvocationContext)) return extensions.snapshot();
  // Not a clone, which would copy values whose token says so.
  const own = new ToolCallExtensions<string>();
  own.extend(extensions);
  own.remove(ToolInvocationContext);
  return own.snapshot();
}

const PAUSE: unique symbol = Symbol.for("tool-call-extensions/pause");

/**
 * What a sub-agent's tool throws when its run pauses: thrown, so that a wrapper which changes results passes it on.
 */
export function pauseOf(state: object): Error {
  return Object.defineProperty(new Error("a sub-agent's run waits for approval"), PAUSE, { value: state });
}

/** Gives the paused run's state, or `undefined` where something else was thrown. */
export function pausedState(thrown: unknown): object | undefined {
  return typeof thrown === "object" && thrown !== null ? (thrown as { readonly [PAUSE]?: object })[PAUSE] : undefined;
}

export function toOutcome(returned: unknown): ToolOutcome {
  if (!isToolResult(returned)) return { status: "completed", output: returned };
  return { status: "completed", output: returned.output, resultExtensions: returned.extensions };
}

export function unwrapResult(returned: unknown): unknown {
  return isToolResult(returned) ? returned.output : returned;
}

function isToolResult(value: unknown): value is ToolResult<unknown> {
  return typeof value === "object" && value !== null && Object.hasOwn(value, RESULT);
}

/**
 * Gives the text the model is shown for an outcome.
 *
 * A string output is passed as it is, anything else as JSON (see `docs/guides/tools.md` for what JSON cannot hold). Of a
 * failure the model sees the message of a {@link ToolError} or what was wrong with its call; the text of any other error
 * may hold a secret, so the model learns only that the tool failed.
 *
 * @example
 * ```ts
 * import { outcomeText } from "tool-call-extensions";
 *
 * const error = new Error("connect ECONNREFUSED, token=s3cret");
 * const text = outcomeText({ status: "failed", kind: "error", error }, "charge");
 * if (text !== 'Tool "charge" failed.') throw new Error("a secret reached the model");
 * ```
 */
export function outcomeText(outcome: ToolOutcome, toolName: string): string {
  if (outcome.status === "completed") return toModelText(outcome.output);
  if (outcome.status === "paused") return `Tool "${toolName}" waits for approval.`;
  const { kind, error } = outcome;
  if (ToolError.is(error)) return boundText(error.message);
  if (kind === "aborted") return `Tool "${toolName}" was aborted.`;
  return kind === "unknown-tool" || kind === "invalid-input"
    ? messageFor(error, toolName)
    : `Tool "${toolName}" failed.`;
}

/** Library errors of these kinds speak of the model's own call, so the model may read them, without the code. */
function messageFor(error: unknown, toolName: string): string {
  const { message } = error as ToolCallExtensionsError;
  return typeof message === "string" ? boundText(message.replace(/^\[[a-z-]+\] /, "")) : `Tool "${toolName}" failed.`;
}
