import fc from "fast-check";
import { type ToolOutcome, ToolSet } from "tool-call-extensions";
import { memoryOnceStore, type OnceStore, once } from "tool-call-extensions/once";
import { recordingTool } from "tool-call-extensions/testing";
import { expect, it } from "vitest";
import { z } from "zod";

/** Who calls what: each process has a middleware of its own, and all share one store. */
interface Call {
  readonly process: number;
  readonly key: number;
}

const PROCESSES = 3;
const calls: fc.Arbitrary<Call[]> = fc.array(
  fc.record({ process: fc.nat({ max: PROCESSES - 1 }), key: fc.nat({ max: 3 }) }),
  { minLength: 1, maxLength: 16 },
);
/** How often each key's tool fails before it completes. */
const failures: fc.Arbitrary<number[]> = fc.array(fc.nat({ max: 2 }), { minLength: 4, maxLength: 4 });

it("completes once for each key, however the steps of the claims are ordered", async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), calls, failures, async (scheduler, drawn, toFail) => {
      const pause = () => scheduler.schedule(Promise.resolve());
      const store = slowed(memoryOnceStore(), pause);
      const runs = new Map<unknown, number>();
      const open = new Set<unknown>();
      const tool = recordingTool({
        name: "work",
        input: z.object({ key: z.number() }),
        result: async ({ input }) => {
          const { key } = input as { readonly key: number };
          if (open.has(key)) throw new Error("two at once");
          open.add(key);
          const run = (runs.get(key) ?? 0) + 1;
          runs.set(key, run);
          await pause();
          open.delete(key);
          if (run <= (toFail[key] ?? 0)) throw new Error("on purpose");
          return { key, run };
        },
      });
      const processes = Array.from({ length: PROCESSES }, () => {
        return new ToolSet([tool], { middleware: [once({ store })] });
      });
      const outcomes = drawn.map(async ({ process, key }) => {
        const call = { sessionKey: "law", toolCallId: `call-${key}` };
        return { key, outcome: await processes[process]?.call("work", { key }, call) };
      });
      const ended = await scheduler.waitFor(Promise.all(outcomes));
      for (const key of [0, 1, 2, 3]) {
        const ofKey = ended.filter((call) => call.key === key).map(({ outcome }) => outcome);
        expectOnce(ofKey, key, toFail[key] ?? 0, runs.get(key) ?? 0);
      }
    }),
    { numRuns: 150 },
  );
});

/** Each failure ends one caller's call; the next one runs the tool, and all others get what that came to. */
function expectOnce(outcomes: readonly (ToolOutcome | undefined)[], key: number, toFail: number, runs: number): void {
  const failed = outcomes.filter((outcome) => outcome?.status === "failed");
  expect(failed).toEqual(failed.map(() => ({ status: "failed", kind: "error", error: new Error("on purpose") })));
  expect(failed).toHaveLength(Math.min(toFail, outcomes.length));
  const completed = outcomes.filter((outcome) => outcome?.status === "completed");
  expect(completed).toEqual(completed.map(() => ({ status: "completed", output: { key, run: toFail + 1 } })));
  expect(runs).toBe(failed.length + (completed.length > 0 ? 1 : 0));
}

/** Every question takes its time to the store, and every answer back. */
function slowed(store: OnceStore, pause: () => Promise<unknown>): OnceStore {
  const slow =
    <Request, Answer>(method: (request: Request) => Promise<Answer>) =>
    async (request: Request): Promise<Answer> => {
      await pause();
      const answer = await method(request);
      await pause();
      return answer;
    };
  return {
    claim: slow(store.claim),
    renew: slow(store.renew),
    complete: slow(store.complete),
    release: slow(store.release),
  };
}
