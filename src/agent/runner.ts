import { invalidArgument } from "../errors.ts";
import type { ToolMiddleware } from "../tool/middleware.ts";
import { checkMiddleware } from "../tool/tool-set.ts";
import type { PromptRequest } from "./prompt-request.ts";
import { Run } from "./run.ts";
import type { RunEvent } from "./run-events.ts";
import type { RunResult } from "./run-result.ts";
import { RunStream } from "./run-stream.ts";

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

  stream(request: PromptRequest<never, unknown>): AsyncGenerator<RunEvent, void> {
    const settings = settingsOf(request);
    return new RunStream((sink) => new Run(settings, this.#options, sink));
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
