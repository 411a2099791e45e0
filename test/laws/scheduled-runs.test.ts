import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ABORTED, inOrder, LEFT, type Observed, placeOf, play, type Scenario, scenarios } from "./scheduled-run.ts";

const ORDERS = 1_500;
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);
beforeAll(() => void process.on("unhandledRejection", noteUnhandled));
afterAll(() => void process.off("unhandledRejection", noteUnhandled));

/** Tries so many orders of so many scenarios, and prints how many they were. */
async function inAnyOrder(
  what: string,
  change: (scenario: Scenario) => Scenario,
  check: (observed: Observed, scenario: Scenario) => void | Promise<void>,
): Promise<void> {
  let tried = 0;
  const law = fc.asyncProperty(scenarios.map(change), fc.scheduler(), async (scenario, scheduler) => {
    tried++;
    await check(await play(scenario, scheduler), scenario);
  });
  await fc.assert(law, { numRuns: ORDERS, timeout: 10_000 });
  console.log(`${tried} orders: ${what}`);
}

/** `expect` costs more than the runs that are checked, so it is asked only to tell what is wrong. */
function holds(isRight: boolean, wrong: unknown): void {
  if (!isRight) expect(wrong).toBe("as it should be");
}

const quiet = (scenario: Scenario): Scenario => ({ ...scenario, isAborted: false, consumer: "none" });

test("results are in call order, and the next request is the same byte for byte", { timeout: 120_000 }, async () => {
  await inAnyOrder("byte-identical requests", quiet, async ({ requests, end }, scenario) => {
    const undisturbed = await play({ ...scenario, toolConcurrency: 1, listeners: [] }, inOrder);
    holds(JSON.stringify(end) === '{"output":"done"}', end);
    holds(requests.length === 2 && requests.join("\n") === undisturbed.requests.join("\n"), { requests, undisturbed });
    const told = JSON.parse(requests[1] ?? "[]").filter(({ role }: { readonly role: string }) => role === "tool");
    const ids = told.map(({ toolCallId }: { readonly toolCallId: string }) => toolCallId);
    holds(ids.join() === scenario.calls.map((_call, index) => `id-of-${index}x`).join(), ids);
  });
});

test("each request has one end, and so has each run", { timeout: 120_000 }, async () => {
  const same = (scenario: Scenario): Scenario => scenario;
  await inAnyOrder("one end a request", same, ({ events }) => {
    const [begun, ended] = [new Map<string, number>(), new Map<string, number>()];
    const count = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const event of events) {
      if ("invocation" in event) {
        const place = placeOf(event.invocation);
        if (event.type === "tool-requested") count(begun, place);
        else if (event.type !== "tool-progress" && event.type !== "tool-retried") count(ended, place);
        else holds((ended.get(place) ?? 0) === 0, { [event.type]: "after the end", place });
      } else if (event.type === "run-started") count(begun, event.runId);
      else if (event.type === "run-completed" || event.type === "run-failed") count(ended, event.runId);
    }
    const isOnce = [...begun.values(), ...ended.values()].every((times) => times === 1);
    const isPaired = begun.size === ended.size && [...begun.keys()].every((key) => ended.has(key));
    // A run that was aborted before it began has an end alone.
    holds((isOnce && isPaired) || (isOnce && begun.size === 0 && ended.size === 1), {
      begun: [...begun],
      ended: [...ended],
    });
  });
});

test("no rejection is left unhandled", { timeout: 120_000 }, async () => {
  const same = (scenario: Scenario): Scenario => scenario;
  await inAnyOrder("no unhandled rejection", same, () => holds(unhandled.length === 0, unhandled));
});

test("no fault of a listener becomes the run's, and each is reported", { timeout: 120_000 }, async () => {
  const faulty = (scenario: Scenario): Scenario => ({ ...quiet(scenario), listeners: ["throws", "rejects"] });
  await inAnyOrder("faults of listeners", faulty, ({ end, events, listenerFaults }) => {
    holds(JSON.stringify(end) === '{"output":"done"}', end);
    holds(listenerFaults.length === 2 * events.length, { faults: listenerFaults.length, events: events.length });
  });
});

test("what a tool reports after the end is ignored", { timeout: 120_000 }, async () => {
  let late = 0;
  const reporting = (scenario: Scenario): Scenario => {
    const calls = scenario.calls.map((each) => ({ ...each, kind: "reporting", steps: 3 }) as const);
    return { ...scenario, calls, isAborted: true };
  };
  await inAnyOrder("late reports", reporting, ({ events, eventsAtEnd, lateSteps }) => {
    late += lateSteps;
    holds(events.length === eventsAtEnd, events.slice(eventsAtEnd));
  });
  expect(late).toBeGreaterThan(ORDERS / 10);
});

test("an abort settles the run though a tool ignores its signal", { timeout: 120_000 }, async () => {
  const deaf = (scenario: Scenario): Scenario => {
    const calls = [...scenario.calls, { kind: "deaf", steps: 1, failures: 0 } as const];
    return { ...scenario, calls, isAborted: true, consumer: scenario.consumer === "none" ? "none" : "slow" };
  };
  await inAnyOrder("aborts", deaf, ({ end }) => holds("error" in end && end.error === ABORTED, end));
});

test("a consumer that is slow, leaves or throws ends as it wants to, and so does the run", {
  timeout: 120_000,
}, async () => {
  const streamed = (scenario: Scenario): Scenario => {
    return { ...scenario, isAborted: false, consumer: scenario.consumer === "none" ? "slow" : scenario.consumer };
  };
  await inAnyOrder("consumers", streamed, ({ end, events, taken }, { consumer, patience }) => {
    const wanted =
      consumer === "slow" ? { output: "streamed" } : consumer === "leaves" ? { output: "left" } : { error: LEFT };
    const isAsWanted = JSON.stringify(end) === JSON.stringify(wanted);
    holds(isAsWanted, end);
    holds(consumer === "slow" ? taken.length === events.length : taken.length === patience, taken.length);
    holds(
      taken.every((event, index) => event === events[index]),
      taken,
    );
  });
});
