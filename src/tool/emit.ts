import { runAsCurrent } from "../invocation/current-invocation.ts";

type Listener<Event> = (event: Event) => void;
type OnListenerError<Event> = (error: unknown, event: Event) => void;

/** Joins everyone who hears of events; `undefined` where nobody does, so that no event is made. */
export function makeEmit<Event extends { readonly type: string }>(
  listeners: readonly Listener<Event>[],
  sink: Listener<Event> | undefined,
  outer: Listener<Event> | undefined,
  onListenerError?: OnListenerError<Event>,
): Listener<Event> | undefined {
  if (listeners.length === 0 && sink === undefined) return outer;
  const report = (error: unknown, event: Event): void => {
    try {
      (onListenerError ?? reportToConsole)(error, event);
    } catch (reporterError) {
      reportToConsole(reporterError, event);
    }
  };
  const notify = (listener: Listener<Event>, event: Event): void => {
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

function reportToConsole(error: unknown, event: { readonly type: string }): void {
  console.error(`tool-call-extensions: a listener failed on "${event.type}":`, error);
}
