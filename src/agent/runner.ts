import { invalidArgument } from "../errors.ts";
import type { ToolMiddleware } from "../tool/middleware.ts";
import { checkMiddleware } from "../tool/tool-set.ts";
import type { PromptRequest } from "./prompt-request.ts";
import { Run } from "./run.ts";
import type { RunEvent } from "./run-events.ts";
import type { RunResult } from "./run-result.ts";

/** How a {@link Runner} drives its runs. */
export interface RunnerOptions {
  /** The calls of one turn that run at once; 16 by default. Runs inside a run take the outer one's. */
  readonly toolConcurrency?: number | undefined;
  /** Runs around every tool call, nested calls and sub-agents' calls included; the first is outermost. */
  readonly middleware?: readonly ToolMiddleware[] | undefined;
  /** Hears what a listener threw or rejected with; writes to the console by default. Never fails the run. */
  readonly onListenerError?: ((error: unknown, event: RunEvent) => void) | undefined;
}

/**
 * Drives requests: asks the model, dispatches the calls of its turn, appends the results in call order, and repeats until
 * the model answers without a call. `request.run()` and `request.stream()` use a default one.
 *
 * @example
 * ```ts
 * import { Agent, Runner } from "tool-call-extensions";
 * import { scriptedModel } from "tool-call-extensions/testing";
 *
 * const agent = new Agent({ name: "greeter", model: scriptedModel(["Hello!", "Hello again!"]) });
 * const runner = new Runner({ toolConcurrency: 4 });
 * const result = await runner.run(agent.prompt("Hi"));
 * if (result.output !== "Hello!") throw new Error("no answer");
 *
 * const types: string[] = [];
 * for await (const event of runner.stream(agent.prompt("Hi"))) types.push(event.type);
 * if (types[0] !== "run-started" || types.at(-1) !== "run-completed") throw new Error(types.join());
 * ```
 */
export class Runner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions = {}) {
    const { toolConcurrency, onListenerError } = options;
    if (toolConcurrency !== undefined && !(toolConcurrency === Infinity || isPositiveInteger(toolConcurrency))) {
      throw invalidArgument("option toolConcurrency", toolConcurrency, "a positive integer or Infinity");
    }
    if (onListenerError !== undefined && typeof onListenerError !== "function") {
      throw invalidArgument("option onListenerError", onListenerError, "a function");
    }
    this.#options = { toolConcurrency, onListenerError, middleware: checkMiddleware(options.middleware) };
  }

  async run<Output>(request: PromptRequest<never, Output>): Promise<RunResult<Output>> {
    return new Run(settingsOf(request), this.#options).execute();
  }

  async *stream(request: PromptRequest<never, unknown>): AsyncGenerator<RunEvent, void> {
    let events: RunEvent[] = [];
    let wake = (): void => {};
    const run = new Run(settingsOf(request), this.#options, (event) => {
      events.push(event);
      wake();
    });
    let isOver = false;
    const execution = run.execute().finally(() => {
      isOver = true;
      wake();
    });
    // Its rejection is thrown below; a consumer who has left early is not told of the abort that leaving caused.
    const settled = execution.catch(() => undefined);
    try {
      while (!isOver || events.length > 0) {
        const batch = events;
        events = [];
        yield* batch;
        if (events.length === 0 && !isOver) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      run.abort(new DOMException("the run's stream was left before its end", "AbortError"));
      await settled;
    }
    await execution;
  }
}

function settingsOf<Output>(request: PromptRequest<never, Output>): PromptRequest<never, Output>["~settings"] {
  const settings = request?.["~settings"];
  if (settings === undefined) throw invalidArgument("the request", request, "made by agent.prompt(text)");
  return settings;
}

function isPositiveInteger(value: number): boolean {
  return Number.isInteger(value) && value > 0;
}
