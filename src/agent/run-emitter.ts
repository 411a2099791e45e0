import { runAsCurrent } from "../invocation/current-invocation.ts";
import type { RunEvent, RunListener } from "./run-events.ts";
import type { RunnerOptions } from "./runner.ts";

/** Joins everyone who hears a run's events; `undefined` where nobody does, so that no event is made. */
export function makeEmit(
  listeners: readonly RunListener[],
  sink: ((event: RunEvent) => void) | undefined,
  outer: ((event: RunEvent) => void) | undefined,
  onListenerError?: RunnerOptions["onListenerError"],
): ((event: RunEvent) => void) | undefined {
  if (listeners.length === 0 && sink === undefined) return outer;
  const report = (error: unknown, event: RunEvent): void => {
    try {
      (onListenerError ?? reportToConsole)(error, event);
    } catch (reporterError) {
      reportToConsole(reporterError, event);
    }
  };
  const notify = (listener: RunListener, event: RunEvent): void => {
    try {
      // A listener may be an async function, for all its type says.
      const returned: unknown = listener(event);
      if (returned instanceof Promise) returned.catch((error: unknown) => report(error, event));
    } catch (error) {
      report(error, event);
    }
  };
  return (event) => {
    // An event may be made inside a tool, where a listener is not.
    runAsCurrent(undefined, () => {
      for (const listener of listeners) notify(listener, event);
    });
    sink?.(event);
    outer?.(event);
  };
}

function reportToConsole(error: unknown, event: RunEvent): void {
  console.error(`tool-call-extensions: a listener failed on "${event.type}":`, error);
}
