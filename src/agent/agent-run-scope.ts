import type { RunScope } from "../tool/dispatch.ts";
import type { ToolEvent } from "../tool/tool-events.ts";
import type { Usage } from "./model.ts";
import type { RunEvent } from "./run-events.ts";

/** What a run inside this run takes over from it. */
export interface AgentRunScope extends RunScope {
  readonly emit: ((event: RunEvent) => void) | undefined;
  readonly toolConcurrency: number;
  readonly isStreaming: boolean;
  /** Whether somebody saves the run's states, or those of a run it is inside of. */
  readonly isSaved: boolean;
  addUsage(usage: Usage): void;
  track(work: Promise<unknown>): void;
}

/** Lets the listener of a `ToolSet`'s call hear of the calls in a sub-agent's run, and of nothing else of that run. */
export function toolEventsOnly(emit: RunScope["emit"]): AgentRunScope["emit"] {
  return emit && ((event) => isToolEvent(event) && emit(event));
}

function isToolEvent(event: RunEvent): event is ToolEvent {
  return event.type.startsWith("tool-");
}

/** What the run itself emits goes to its own listeners; `emit` hears of calls, and passes them on to those. */
export function withToolEmit(run: AgentRunScope, emit: RunScope["emit"]): AgentRunScope {
  const { middleware, toolConcurrency, isStreaming, isSaved } = run;
  return {
    middleware,
    toolConcurrency,
    isStreaming,
    isSaved,
    emit: (event) => (isToolEvent(event) ? emit?.(event) : run.emit?.(event)),
    addUsage: (usage) => run.addUsage(usage),
    track: (work) => run.track(work),
    withEmit: (other) => withToolEmit(run, other),
  };
}

export function isAgentRun(run: RunScope): run is AgentRunScope {
  return "addUsage" in run;
}
