import fc from "fast-check";
import {
  Agent,
  defineTool,
  type PendingCall,
  type RunEvent,
  Runner,
  type RunResult,
  type RunState,
  type Tool,
  type ToolCallExtensions,
  ToolInvocationContext,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const SCHEDULES = 10_000;
const KILLED = new Error("killed");

/** What a call is like: `steps` are the microtasks it takes, `id` says which kind the provider's is. */
const traits = (isIdempotent: fc.Arbitrary<boolean>) =>
  fc.record({
    isIdempotent,
    isRetried: fc.boolean(),
    failures: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, 2, 3),
    approval: fc.constantFrom("none", "none", "none", "none", "approve", "reject"),
    steps: fc.nat(6),
    id: fc.nat(3),
  });

/** A call as the model makes it; one with a script is a sub-agent's. */
type Call = Drawn<ReturnType<typeof traits>> & { readonly script?: Script | undefined };
type Drawn<Arbitrary> = Arbitrary extends fc.Arbitrary<infer Value> ? Value : never;
type Script = readonly (readonly Call[])[];

function scripts(isIdempotent: fc.Arbitrary<boolean>, depth: number): fc.Arbitrary<Script> {
  const inner = depth === 0 ? fc.constant(undefined) : fc.option(scripts(isIdempotent, depth - 1), { nil: undefined });
  const script = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: inner });
  const call = fc.tuple(traits(isIdempotent), script).map(([drawn, inside]) => ({ ...drawn, script: inside }));
  return fc.array(fc.array(call, { minLength: 1, maxLength: depth + 1 }), { minLength: 1, maxLength: 2 });
}

/** Deaths are the saves in which the process dies; decisions say, as bits, which of the pending calls are decided on. */
const schedules = fc.record({
  script: fc.oneof(scripts(fc.constant(true), 2), scripts(fc.boolean(), 2), scripts(fc.boolean(), 2)),
  deaths: fc.array(fc.record({ at: fc.nat(9), isKept: fc.boolean() }), { maxLength: 2 }),
  decisions: fc.array(fc.nat(15), { minLength: 1, maxLength: 3 }),
  areStreamed: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  toolConcurrency: fc.constantFrom(1, 2, 16),
  saveSteps: fc.nat(3),
});
type Schedule = Drawn<typeof schedules>;

/** Where a call is in the script, such as `root/0.1/2.0`: the logical call, whoever runs it. */
type Place = string;

const nameOf = ({ script, isIdempotent, isRetried }: Call) =>
  script === undefined ? `leaf${isIdempotent ? "_idempotent" : ""}${isRetried ? "_retried" : ""}` : "ask";
const placeOf = ({ input }: { readonly input: unknown }): Place => (input as { readonly prompt: Place }).prompt;

/** `expect` costs more than the runs that are checked, so it is asked only to tell what is wrong. */
function same(place: Place, actual: unknown, expected: unknown): void {
  if (actual !== expected) expect([place, actual]).toEqual([place, expected]);
}

/** What outlives the processes: the saved state, and what the test knows of all that happened. */
class World {
  readonly schedule: Schedule;
  readonly calls = new Map<Place, Call>();
  readonly identities = new Map<Place, string>();
  readonly entered = new Map<Place, { readonly process: Process; readonly attempt: number }>();
  readonly returned = new Set<Place>();
  readonly finished = new Set<Place>();
  readonly approved = new Set<Place>();
  readonly cutOff = new Set<Place>();
  readonly statuses = new Map<Place, string>();
  saved: string | undefined;
  saves = 0;

  constructor(schedule: Schedule) {
    this.schedule = schedule;
    this.#add("root", { script: schedule.script } as Call);
  }

  #add(at: Place, call: Call): void {
    this.calls.set(at, call);
    for (const [turn, calls] of call.script?.entries() ?? []) {
      for (const [index, inner] of calls.entries()) this.#add(`${at}/${turn}.${index}`, inner);
    }
  }

  call(place: Place): Call {
    return this.calls.get(place) as Call;
  }

  /** One id and one key for each logical call, whatever tells of it. */
  identify(place: Place, { toolCallId, invocationKey }: Pick<PendingCall, "toolCallId" | "invocationKey">): void {
    const identity = `${toolCallId} ${invocationKey}`;
    same(place, identity, this.identities.get(place) ?? identity);
    this.identities.set(place, identity);
  }

  keep(state: RunState): void {
    this.saved = JSON.stringify(state);
    this.statuses.clear();
    this.#note(state);
  }

  #note({ calls }: RunState): void {
    for (const call of calls) {
      const place = placeOf(call);
      this.statuses.set(place, call.status);
      if (call.result !== undefined) this.checkText(place, call.result.text);
      if (call.status === "done") this.finished.add(place);
      if (call.run !== undefined) this.#note(call.run);
    }
  }

  /** What the model is told of a call is what became of it, and nothing is told before. */
  checkText(place: Place, text: string): void {
    const call = this.call(place);
    if (text.includes("may or may not have happened") && this.cutOff.has(place)) return;
    if (call.script !== undefined) same(place, text, `end ${place}`);
    else if (call.approval === "reject") same(place, text, `no ${place}`);
    else {
      const isOk = call.failures <= (call.isRetried ? 2 : 0);
      same(place, text, isOk ? `ok ${place}` : `Tool "${nameOf(call)}" failed.`);
      same(place, this.returned.has(place), true);
    }
  }
}

/** Is killed by a save: from then on nothing of it happens any more. */
class Process {
  readonly world: World;
  readonly events: RunEvent[] = [];
  readonly agent: Agent;
  isAlive = true;

  constructor(world: World) {
    this.world = world;
    // What was begun when the last process died, and may not be repeated, has no known outcome from now on.
    for (const [place, status] of world.statuses) {
      const { script, isIdempotent } = world.call(place);
      if (status === "started" && script === undefined && !isIdempotent) world.cutOff.add(place);
    }
    const kinds = [...new Map([...world.calls.values()].map((call) => [nameOf(call), call])).values()];
    const leaves = kinds.flatMap((call) => (call.script === undefined ? this.#leaf(call) : []));
    const agent = (name: string, ...subs: readonly Tool<never, unknown, never>[]) =>
      new Agent({ name, model: this.#model(), tools: [...leaves, ...subs] });
    const inner = agent("inner", agent("innermost").asTool({ name: "ask" }));
    this.agent = agent("outer", inner.asTool({ name: "ask" }));
  }

  #leaf(kind: Call) {
    const { world } = this;
    return defineTool({
      name: nameOf(kind),
      input: { type: "object" },
      idempotent: kind.isIdempotent,
      retries: kind.isRetried ? { max: 2, minDelayMs: 0 } : undefined,
      needsApproval: async (input) => world.call(placeOf({ input })).approval !== "none",
      callWithExtensions: (input, extensions) => this.#perform(placeOf({ input }), extensions),
    });
  }

  #model() {
    return scriptedModel(({ messages: [prompt, ...others] }) => {
      const at = prompt?.role === "user" ? prompt.text : "";
      const turn = others.filter(({ role }) => role === "assistant").length;
      const calls = this.world.call(at).script?.[turn];
      if (calls === undefined) return `end ${at}`;
      return { toolCalls: calls.map((call, index) => toModelCall(call, `${at}/${turn}.${index}`, index)) };
    });
  }

  async #perform(place: Place, extensions: ToolCallExtensions<"tool-invocation">): Promise<string> {
    if (!this.isAlive) return new Promise(() => {});
    const { world } = this;
    const call = world.call(place);
    const invocation = extensions.require(ToolInvocationContext);
    world.identify(place, invocation);
    const before = world.entered.get(place);
    const isAgain = before?.process === this;
    const attempt = isAgain ? before.attempt + 1 : 1;
    same(place, invocation.attempt, attempt);
    if (before !== undefined) same(place, isAgain ? call.isRetried : call.isIdempotent, true);
    same(place, `${world.statuses.get(place)} ${world.finished.has(place)}`, "started false");
    same(place, call.approval === "none" || world.approved.has(place), true);
    world.entered.set(place, { process: this, attempt });
    for (let step = 0; step < call.steps; step++) await null;
    if (!this.isAlive) return new Promise(() => {});
    if (attempt > call.failures || attempt === 3 || !call.isRetried) world.returned.add(place);
    if (attempt <= call.failures) throw new Error("on purpose");
    return `ok ${place}`;
  }

  async #save(state: RunState): Promise<void> {
    const { world } = this;
    const at = world.saves++;
    const death = world.schedule.deaths.find((candidate) => candidate.at === at);
    for (let step = 0; step < world.schedule.saveSteps; step++) await null;
    if (this.isAlive && death?.isKept !== false) world.keep(state);
    if (this.isAlive && death === undefined) return;
    this.isAlive = false;
    throw KILLED;
  }

  /** Runs on from what is saved, with the decisions; gives nothing when it was cut short. */
  async run(decisions: readonly PendingCall[], isStreamed: boolean): Promise<RunResult | undefined> {
    const { world, agent } = this;
    const begun =
      world.saved === undefined
        ? agent.prompt("root").session("s", { turnId: "m-1" })
        : agent.resume(JSON.parse(world.saved));
    const decide = (request: typeof begun, entry: PendingCall): typeof begun => {
      if (world.call(placeOf(entry)).approval === "reject") return request.reject(entry, `no ${placeOf(entry)}`);
      world.approved.add(placeOf(entry));
      return request.approve(entry);
    };
    const request = decisions.reduce(decide, begun).onCheckpoint((state) => this.#save(state));
    const runner = new Runner({ toolConcurrency: world.schedule.toolConcurrency });
    try {
      if (!isStreamed) return await runner.run(request.on((event) => this.events.push(event)));
      for await (const event of runner.stream(request)) this.events.push(event);
      const last = this.events.at(-1);
      if (last?.type === "run-completed") return last.result as RunResult;
      // The last checkpoint of a run that pauses is its state.
      return { ...last, status: "paused", state: JSON.parse(world.saved ?? "") } as unknown as RunResult;
    } catch (error) {
      if (error !== KILLED) throw error;
      return undefined;
    }
  }

  /** Each call that was requested has one end, unless its run has paused and lists it as a sub-agent's that waits. */
  checkEvents(): void {
    const ends = new Map<Place, number>();
    const pausing = new Set<Place>();
    for (const event of this.events) {
      for (const { input, path } of event.type === "run-paused" ? event.pending : []) {
        if (path.length > 0) pausing.add(placeOf({ input }).split("/").slice(0, -path.length).join("/"));
      }
      if (!("invocation" in event) || !("input" in event)) continue;
      const place = placeOf(event);
      this.world.identify(place, event.invocation);
      same(place, event.type === "tool-requested", !ends.has(place));
      ends.set(place, (ends.get(place) ?? -1) + 1);
    }
    for (const [place, count] of ends) same(place, count, pausing.has(place) ? 0 : 1);
  }
}

function toModelCall(call: Call, place: Place, index: number) {
  const toolName = nameOf(call);
  const ids = [`id of ${place}`, "shared-by-all", `${toolName}:${index}`, undefined];
  return { toolName, toolCallId: ids[call.id], input: { prompt: place } };
}

/** Lets one process after the other run, until the run is completed. */
async function complete(schedule: Schedule): Promise<{ readonly world: World; readonly result: RunResult }> {
  const world = new World(schedule);
  const { decisions, areStreamed } = schedule;
  let decided: readonly PendingCall[] = [];
  for (let segment = 0; segment < 60; segment++) {
    const process = new Process(world);
    const result = await process.run(decided, areStreamed[segment % areStreamed.length] === true);
    process.checkEvents();
    if (result?.status === "completed") return { world, result };
    const pending = result?.pending ?? [];
    if (result !== undefined) same("the state", JSON.stringify(result.state), world.saved);
    for (const entry of pending) world.identify(placeOf(entry), entry);
    const chosen = pending.filter((_entry, index) => (Number(decisions[segment % decisions.length]) >> index) & 1);
    decided = chosen.length > 0 ? chosen : pending.slice(0, 1);
  }
  throw new Error("the run does not come to its end");
}

const law = fc.asyncProperty(schedules, async (schedule) => {
  const { world, result } = await complete(schedule);
  same("root", result.output, "end root");
  same("root", new Set(world.identities.values()).size, world.calls.size - 1);
  const asked = result.messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  const wanted = asked.filter((part) => part.type === "tool-call");
  const told = result.messages.filter((message) => message.role === "tool");
  same("root", told.map(({ toolCallId }) => toolCallId).join(), wanted.map(({ toolCallId }) => toolCallId).join());
  for (const [index, part] of wanted.entries()) world.checkText(placeOf(part), told[index]?.text ?? "");
  const mayRepeat = [...world.calls.values()].every(({ isIdempotent }) => isIdempotent !== false);
  if (schedule.deaths.length === 0 || !mayRepeat) return;
  const uninterrupted = await complete({ ...schedule, deaths: [], decisions: [15] });
  same("root", JSON.stringify(result.messages), JSON.stringify(uninterrupted.result.messages));
});

describe("any schedule of parallel calls, retries, pauses, crashes and resumes", () => {
  it.concurrent.each([0, 1, 2, 3, 4])(
    "keeps one id and one key a call, and never repeats a finished one (share %i)",
    (seed) => fc.assert(law, { numRuns: SCHEDULES / 5, seed }),
    120_000,
  );
});
