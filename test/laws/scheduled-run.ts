import fc from "fast-check";
import {
  Agent,
  defineTool,
  type ModelRequest,
  type RunEvent,
  Runner,
  type Tool,
  type ToolInvocationContext,
} from "tool-call-extensions";

// A run whose every wait is a task of a scheduler, which decides what comes next: the model's answers, the steps of the tools,
// the abort, the listeners' and the consumer's own steps.

interface Call {
  /** `deaf` never ends, whatever its signal says; `reporting` goes on reporting, whatever it says. */
  readonly kind: "plain" | "retried" | "reporting" | "agent" | "deaf";
  readonly steps: number;
  readonly failures: number;
}

export interface Scenario {
  readonly calls: readonly Call[];
  readonly isAborted: boolean;
  readonly consumer: "none" | "slow" | "leaves" | "throws";
  /** After so many events the consumer leaves or throws. */
  readonly patience: number;
  readonly listeners: readonly ("throws" | "rejects")[];
  readonly toolConcurrency: number;
}

const call: fc.Arbitrary<Call> = fc.record({
  kind: fc.constantFrom<Call["kind"][]>("plain", "retried", "reporting", "agent", "deaf"),
  steps: fc.integer({ min: 1, max: 3 }),
  failures: fc.nat(3),
});
export const scenarios: fc.Arbitrary<Scenario> = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 4 }),
  isAborted: fc.boolean(),
  consumer: fc.constantFrom<Scenario["consumer"][]>("none", "slow", "leaves", "throws"),
  patience: fc.integer({ min: 1, max: 8 }),
  listeners: fc.array(fc.constantFrom<("throws" | "rejects")[]>("throws", "rejects"), { maxLength: 2 }),
  toolConcurrency: fc.constantFrom(1, 2, 16),
});

export const ABORTED: Error = new Error("aborted on purpose");
export const LEFT: Error = new Error("the consumer threw");
const LISTENER_FAULT = new Error("a listener failed");

export interface Observed {
  /** What the outer model was asked, in order, as JSON. */
  readonly requests: readonly string[];
  /** What a listener heard, and how much of it when the run had ended. */
  readonly events: readonly RunEvent[];
  readonly eventsAtEnd: number;
  /** What the consumer of the stream took. */
  readonly taken: readonly RunEvent[];
  readonly end: { readonly output: unknown } | { readonly error: unknown };
  readonly listenerFaults: readonly unknown[];
  /** Steps that tools made after the run had ended. */
  readonly lateSteps: number;
}

/** What decides on the order: fast-check's scheduler, or nobody. */
export type Scheduler = Pick<fc.Scheduler, "schedule" | "waitFor" | "waitIdle">;
export const inOrder: Scheduler = {
  schedule: (work) => work,
  waitFor: (work) => work,
  waitIdle: () => new Promise((resolve) => setImmediate(resolve)),
};

/** A call that never ends would never end a run that nobody aborts. */
function settledCalls({ calls, isAborted }: Scenario): readonly Call[] {
  return calls.map((each) => (each.kind === "deaf" && !isAborted ? { ...each, kind: "plain" } : each));
}

class Play {
  readonly scenario: Scenario;
  readonly requests: string[] = [];
  readonly events: RunEvent[] = [];
  readonly taken: RunEvent[] = [];
  readonly listenerFaults: unknown[] = [];
  isOver = false;
  lateSteps = 0;
  readonly #calls: readonly Call[];
  readonly #scheduler: Scheduler;
  readonly #attempts = new Map<unknown, number>();

  constructor(scenario: Scenario, scheduler: Scheduler) {
    this.scenario = scenario;
    this.#calls = settledCalls(scenario);
    this.#scheduler = scheduler;
  }

  step(what: string): Promise<void> {
    return this.#scheduler.schedule(Promise.resolve(), what).then(() => {
      if (this.isOver && what.startsWith("tool")) this.lateSteps++;
    });
  }

  agent(): Agent {
    const inner = new Agent({
      name: "inner",
      model: this.#model([{ kind: "plain", steps: 2, failures: 0 }]),
      tools: [this.#tool("plain")],
    });
    const tools = [...(["plain", "retried", "reporting", "deaf"] as const).map((kind) => this.#tool(kind))];
    return new Agent({
      name: "outer",
      model: this.#model(this.#calls, this.requests),
      tools: [...tools, inner.asTool({ name: "agent" })],
    });
  }

  #model(calls: readonly Call[], requests: string[] = []) {
    return {
      generate: async ({ messages }: ModelRequest) => {
        requests.push(JSON.stringify(messages));
        await this.step("model");
        if (messages.at(-1)?.role === "tool") return { content: [{ type: "text", text: "done" } as const] };
        const content = calls.map(({ kind, steps, failures }, index) => {
          const input = { prompt: "x", index, steps, failures };
          return { type: "tool-call", toolCallId: `id-of-${index}x`, toolName: kind, input } as const;
        });
        return { content };
      },
    };
  }

  #tool(kind: Exclude<Call["kind"], "agent">): Tool<Record<string, unknown>, unknown, never> {
    const retries = kind === "retried" ? { max: 2, minDelayMs: 0 } : undefined;
    return defineTool({ name: kind, input: { type: "object" }, retries, call: (input) => this.#act(kind, input) });
  }

  #act(kind: Call["kind"], { index, steps, failures }: Record<string, unknown>): unknown {
    if (kind === "deaf") return new Promise(() => {});
    if (kind === "reporting") return this.#report(index, Number(steps));
    return this.#work(kind, index, Number(steps), Number(failures));
  }

  async #work(kind: string, index: unknown, steps: number, failures: number): Promise<string> {
    for (let step = 0; step < steps; step++) await this.step(`tool ${index}`);
    if (kind !== "retried") return `ok ${index}`;
    const attempt = (this.#attempts.get(index) ?? 0) + 1;
    this.#attempts.set(index, attempt);
    if (attempt <= failures) throw new Error("on purpose");
    return `ok ${index}`;
  }

  async *#report(index: unknown, steps: number): AsyncGenerator<string, string> {
    for (let step = 0; step < steps; step++) {
      await this.step(`tool ${index}`);
      yield `${index}: step ${step}`;
    }
    return `reported ${index}`;
  }

  /** Faults of every kind, as far as a listener can have them. */
  listen(kind: "throws" | "rejects"): () => void {
    if (kind === "rejects") return () => this.step("listener").then(() => Promise.reject(LISTENER_FAULT));
    return () => {
      throw LISTENER_FAULT;
    };
  }

  async run(): Promise<unknown> {
    const { isAborted, consumer, listeners, toolConcurrency } = this.scenario;
    const controller = new AbortController();
    if (isAborted) void this.step("abort").then(() => controller.abort(ABORTED));
    const begun = this.agent().prompt("x").session("s", { turnId: "t" }).signal(controller.signal);
    const heard = begun.on((event) => void this.events.push(event));
    const request = listeners.reduce((given, kind) => given.on(this.listen(kind)), heard);
    const runner = new Runner({ toolConcurrency, onListenerError: (error) => this.listenerFaults.push(error) });
    if (consumer === "none") return (await runner.run(request)).output;
    for await (const event of runner.stream(request)) {
      this.taken.push(event);
      await this.step("consumer");
      if (this.taken.length < this.scenario.patience || consumer === "slow") continue;
      if (consumer === "throws") throw LEFT;
      return "left";
    }
    return "streamed";
  }
}

/** Plays a scenario to its end, and then lets everything go on that is still under way. */
export async function play(scenario: Scenario, scheduler: Scheduler): Promise<Observed> {
  const played = new Play(scenario, scheduler);
  let eventsAtEnd = 0;
  const ended = () => {
    played.isOver = true;
    eventsAtEnd = played.events.length;
  };
  const work = played.run().then(
    (output) => {
      ended();
      return { output };
    },
    (error: unknown) => {
      ended();
      return { error };
    },
  );
  const end = await scheduler.waitFor(work);
  await scheduler.waitIdle();
  // An unhandled rejection is told of after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  const { requests, events, taken, listenerFaults, lateSteps } = played;
  return { requests, events, eventsAtEnd, taken, end, listenerFaults, lateSteps };
}

/** The place of a call in the tree of runs, which is the same in every order. */
export function placeOf({ toolCallId, parent }: ToolInvocationContext): string {
  return parent === undefined ? toolCallId : `${placeOf(parent)}/${toolCallId}`;
}
