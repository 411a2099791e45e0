import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { ToolInvocationContext } from "../invocation/invocation-context.ts";
import type { ToolFailureKind } from "./tool-result.ts";

interface ToolEventBase {
  /** Unix time in milliseconds. */
  readonly at: number;
  /** The call, with its parents: the tree of a run can be rebuilt from `invocation.parent` alone. */
  readonly invocation: ToolInvocationContext;
}

/** A call begins; exactly one `tool-completed` or `tool-failed` with the same `toolCallId` follows. */
interface ToolRequestedEvent extends ToolEventBase {
  readonly type: "tool-requested";
  /** The arguments as the model sent them, not yet validated. */
  readonly input: unknown;
  /** The ids of the extensions the call can see; the values stay in the map. */
  readonly tokenIds: readonly string[];
}

/** A generator tool yielded. */
interface ToolProgressEvent extends ToolEventBase {
  readonly type: "tool-progress";
  readonly output: unknown;
}

/** An attempt failed, and the next one begins: that of the event's `invocation`. */
interface ToolRetriedEvent extends ToolEventBase {
  readonly type: "tool-retried";
  /** What the attempt before failed with, by reference. */
  readonly error: unknown;
}

interface ToolCompletedEvent extends ToolEventBase {
  readonly type: "tool-completed";
  readonly input: unknown;
  /** What the tool returned, by reference. */
  readonly output: unknown;
  readonly resultExtensions: ToolCallExtensions<string> | undefined;
}

interface ToolFailedEvent extends ToolEventBase {
  readonly type: "tool-failed";
  readonly input: unknown;
  readonly kind: ToolFailureKind;
  /** The original error, by reference; the model did not see it unless it is a `ToolError`. */
  readonly error: unknown;
}

/** What happens to one call. */
export type ToolEvent =
  | ToolRequestedEvent
  | ToolProgressEvent
  | ToolRetriedEvent
  | ToolCompletedEvent
  | ToolFailedEvent;
