import type { RunScope } from "../tool/dispatch.ts";
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

export function isAgentRun(run: RunScope): run is AgentRunScope {
  return "addUsage" in run;
}
