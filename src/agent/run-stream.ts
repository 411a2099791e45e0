import type { RunEvent } from "./run-events.ts";

interface StreamedRun {
  execute(): Promise<unknown>;
  abort(reason: unknown): void;
}

type Step = IteratorResult<RunEvent, void>;

/**
 * Runs while it is iterated: begins with the first `next()`, and aborts the run when it is left early.
 *
 * Not an async generator, whose `return()` waits for the step that is pending: a consumer could then not leave while a
 * model or a tool is at work.
 */
export class RunStream implements AsyncGenerator<RunEvent, void> {
  readonly #start: (sink: (event: RunEvent) => void) => StreamedRun;
  #run: StreamedRun | undefined;
  #events: RunEvent[] = [];
  #taken = 0;
  #waiting: (() => void)[] = [];
  #execution: Promise<void> = Promise.resolve();
  #isOver = false;
  #failure: { readonly error: unknown } | undefined;

  constructor(start: (sink: (event: RunEvent) => void) => StreamedRun) {
    this.#start = start;
  }

  async next(): Promise<Step> {
    if (this.#run === undefined && !this.#isOver) this.#begin();
    while (this.#events.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const value = this.#take();
    if (value !== undefined) return { done: false, value };
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.error;
    return { done: true, value: undefined };
  }

  async return(): Promise<Step> {
    await this.#leave();
    return { done: true, value: undefined };
  }

  async throw(error: unknown): Promise<Step> {
    await this.#leave();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Not `shift`, which moves the whole queue for each event that a slow consumer takes. */
  #take(): RunEvent | undefined {
    const event = this.#events[this.#taken++];
    if (this.#taken >= this.#events.length) {
      this.#events = [];
      this.#taken = 0;
    }
    return event;
  }

  #begin(): void {
    const run = this.#start((event) => {
      this.#events.push(event);
      this.#wake();
    });
    this.#run = run;
    this.#execution = run.execute().then(
      () => this.#end(undefined),
      (error: unknown) => this.#end({ error }),
    );
  }

  /** A consumer who leaves is not told of the abort that leaving causes. */
  async #leave(): Promise<void> {
    if (!this.#isOver) this.#run?.abort(new DOMException("the run's stream was left before its end", "AbortError"));
    await this.#execution;
    this.#isOver = true;
    this.#failure = undefined;
    this.#events = [];
    this.#taken = 0;
    this.#wake();
  }

  #end(failure: { readonly error: unknown } | undefined): void {
    this.#failure = failure;
    this.#isOver = true;
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
