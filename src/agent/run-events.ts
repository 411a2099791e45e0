import type { ToolInvocationContext } from "../invocation/invocation-context.ts";
import type { ToolEvent } from "../tool/tool-events.ts";
import type { AssistantMessage } from "./model.ts";
import type { RunResult } from "./run-result.ts";
import type { PendingCall } from "./run-state.ts";

export interface RunEventBase {
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly runId: string;
  readonly agentName: string;
  /** The call inside which a sub-agent's run was made. */
  readonly parent: ToolInvocationContext | undefined;
}

interface RunStartedEvent extends RunEventBase {
  readonly type: "run-started";
}

interface TurnStartedEvent extends RunEventBase {
  readonly type: "turn-started";
  readonly turn: number;
}

/** A piece of the model's text, or all of it where the model does not stream. */
interface TextDeltaEvent extends RunEventBase {
  readonly type: "text-delta";
  readonly turn: number;
  readonly text: string;
}

interface TurnCompletedEvent extends RunEventBase {
  readonly type: "turn-completed";
  readonly turn: number;
  readonly message: AssistantMessage;
}

/** The last event of a run that waits for approval; its open calls are told of again when it is resumed. */
interface RunPausedEvent extends RunEventBase {
  readonly type: "run-paused";
  readonly pending: readonly PendingCall[];
}

interface RunCompletedEvent extends RunEventBase {
  readonly type: "run-completed";
  readonly result: RunResult<unknown>;
}

/** The last event of a run that rejects, with what it rejects with. */
interface RunFailedEvent extends RunEventBase {
  readonly type: "run-failed";
  readonly error: unknown;
}

/** What happens in a run, its sub-agents' runs included. No event holds an extension value. */
export type RunEvent =
  | RunStartedEvent
  | TurnStartedEvent
  | TextDeltaEvent
  | ToolEvent
  | TurnCompletedEvent
  | RunPausedEvent
  | RunCompletedEvent
  | RunFailedEvent;

/** Hears every event as it happens; what it throws is reported to the runner's `onListenerError` and goes no further. */
export type RunListener = (event: RunEvent) => void;
