import { ToolCallExtensionsError, type ToolOutcome, ToolSet } from "tool-call-extensions";
import { memoryOnceStore, type OnceOptions, type OnceStore, once } from "tool-call-extensions/once";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { invocationKey } from "../../src/invocation/invocation-key.ts";

/** Long enough for a beat on a busy machine. */
const LEASE = 400;
const sameCall = { sessionKey: "chat-7", toolCallId: "call_1" };
const key = invocationKey(sameCall.sessionKey, sameCall.toolCallId);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A process of its own, as far as the store can tell. */
function processWith(store: OnceStore, result: () => unknown, options: Partial<OnceOptions> = {}) {
  const tool = recordingTool({ name: "charge", result });
  const tools = new ToolSet([tool], { middleware: [once({ store, leaseMs: LEASE, ...options })] });
  return { tool, charge: (): Promise<ToolOutcome> => tools.call("charge", {}, sameCall) };
}

/** A store whose user's heartbeat stands still, as in a process that is paused. */
const withoutHeartbeat = (store: OnceStore): OnceStore => ({ ...store, renew: () => new Promise(() => {}) });

/** What the tests below keep in the store for `charge` with `{}`, taken from a call that ran. */
async function fingerprintOf(): Promise<string> {
  const seen: string[] = [];
  const inner = memoryOnceStore();
  const claim: OnceStore["claim"] = (request) => {
    seen.push(request.fingerprint);
    return inner.claim(request);
  };
  await processWith({ ...inner, claim }, () => "done").charge();
  return seen.join();
}

describe.concurrent("a lease", () => {
  it("keeps others waiting, and lets one take over when its holder died", async () => {
    const store = memoryOnceStore();
    await store.claim({ key, fingerprint: await fingerprintOf(), leaseMs: LEASE });
    const { tool, charge } = processWith(store, () => "done");
    const start = performance.now();
    const outcomes = await Promise.all([charge(), charge(), charge()]);
    expect(performance.now() - start).toBeGreaterThan(LEASE * 0.9);
    expect(outcomes).toEqual(Array.from({ length: 3 }, () => ({ status: "completed", output: "done" })));
    expect(tool.calls).toHaveLength(1);
  });

  it("is extended for as long as the tool runs", async () => {
    const store = memoryOnceStore();
    const first = processWith(store, () => sleep(LEASE * 5).then(() => "first"));
    const other = processWith(store, () => "other");
    const running = first.charge();
    await sleep(5);
    expect(await other.charge()).toEqual({ status: "completed", output: "first" });
    expect(other.tool.calls).toHaveLength(0);
    expect(await running).toEqual({ status: "completed", output: "first" });
  });

  it("is not extended any more when the call has ended", async () => {
    for (const result of [() => "done", () => Promise.reject(new Error("broken"))]) {
      const inner = memoryOnceStore();
      let beats = 0;
      const renew: OnceStore["renew"] = (claim) => {
        beats++;
        return inner.renew(claim);
      };
      await processWith({ ...inner, renew }, result).charge();
      const beatsAtEnd = beats;
      await sleep(LEASE);
      expect(beats).toBe(beatsAtEnd);
    }
  });
});

describe.concurrent("a claim whose answer is read when its lease has run out", () => {
  /** Sleeps before it reads the answer to its first claim. */
  function sleeping(store: OnceStore): OnceStore {
    let isFirst = true;
    const claim: OnceStore["claim"] = async (request) => {
      const answer = await store.claim(request);
      if (isFirst) {
        isFirst = false;
        await sleep(LEASE * 2);
      }
      return answer;
    };
    return { ...store, claim };
  }

  it("does not run the tool when another took over", async () => {
    const store = memoryOnceStore();
    const sleeper = processWith(sleeping(store), () => "late");
    const asleep = sleeper.charge();
    await sleep(5);
    const other = processWith(store, () => "in time");
    expect(await other.charge()).toEqual({ status: "completed", output: "in time" });
    expect(await asleep).toEqual({ status: "completed", output: "in time" });
    expect(sleeper.tool.calls).toHaveLength(0);
  });

  it("holds the key again when nobody took over", async () => {
    const store = memoryOnceStore();
    const sleeper = processWith(sleeping(store), () => sleep(LEASE / 2).then(() => "late"));
    const asleep = sleeper.charge();
    await sleep(LEASE * 2 + LEASE / 6);
    const other = processWith(store, () => "in time");
    expect(await other.charge()).toEqual({ status: "completed", output: "late" });
    expect(await asleep).toEqual({ status: "completed", output: "late" });
    expect(other.tool.calls).toHaveLength(0);
  });
});

describe.concurrent("a holder that lost its claim", () => {
  it("does not overwrite the outcome of the one who took over, and gives that one's", async () => {
    const store = memoryOnceStore();
    const paused = processWith(withoutHeartbeat(store), () => sleep(LEASE * 3).then(() => "late"));
    const running = paused.charge();
    await sleep(LEASE * 1.5);
    const other = processWith(store, () => "in time");
    expect(await other.charge()).toEqual({ status: "completed", output: "in time" });
    expect(await running).toEqual({ status: "completed", output: "in time" });
    expect(await other.charge()).toEqual({ status: "completed", output: "in time" });
  });

  it("fails with lease-lost while the one who took over still runs, and does not disturb it", async () => {
    const store = memoryOnceStore();
    const paused = processWith(withoutHeartbeat(store), () => sleep(LEASE * 3).then(() => "late"));
    const running = paused.charge();
    await sleep(LEASE * 1.5);
    const other = processWith(store, () => sleep(LEASE * 4).then(() => "in the end"));
    const taken = other.charge();
    const outcome = await running;
    const error = outcome.status === "failed" ? outcome.error : undefined;
    if (!ToolCallExtensionsError.is(error) || error.code !== "lease-lost") throw error;
    expect(error.details).toEqual({ toolName: "charge", invocationKey: key });
    expect(error.message).toContain('tool "charge"');
    expect(await taken).toEqual({ status: "completed", output: "in the end" });
    expect(await paused.charge()).toEqual({ status: "completed", output: "in the end" });
    expect(other.tool.calls.length + paused.tool.calls.length).toBe(2);
  });

  it("gives its own outcome when the one who took over failed", async () => {
    const store = memoryOnceStore();
    const paused = processWith(withoutHeartbeat(store), () => sleep(LEASE * 3).then(() => "late"));
    const running = paused.charge();
    await sleep(LEASE * 1.5);
    const other = processWith(store, () => Promise.reject(new Error("broken")));
    expect((await other.charge()).status).toBe("failed");
    expect(await running).toEqual({ status: "completed", output: "late" });
    expect(await other.charge()).toEqual({ status: "completed", output: "late" });
    expect(other.tool.calls).toHaveLength(1);
  });

  it("does not release the claim of the one who took over when it fails", async () => {
    const store = memoryOnceStore();
    const paused = processWith(withoutHeartbeat(store), async () => {
      await sleep(LEASE * 3);
      throw new Error("broken");
    });
    const running = paused.charge();
    await sleep(LEASE * 1.5);
    const other = processWith(store, () => sleep(LEASE * 4).then(() => "in the end"));
    const taken = other.charge();
    expect((await running).status).toBe("failed");
    const third = processWith(store, () => "third");
    expect(await third.charge()).toEqual({ status: "completed", output: "in the end" });
    expect(third.tool.calls).toHaveLength(0);
    await taken;
  });
});

describe.concurrent("a store that fails", () => {
  it("fails the call before the tool is entered when it cannot claim", async () => {
    const claim: OnceStore["claim"] = async () => {
      throw new Error("no connection");
    };
    const { tool, charge } = processWith({ ...memoryOnceStore(), claim }, () => "done");
    expect(await charge()).toEqual({ status: "failed", kind: "error", error: new Error("no connection") });
    expect(tool.calls).toHaveLength(0);
  });

  it("is asked again to store an outcome, whether or not it did so the first time", async () => {
    for (const isStoredAtOnce of [false, true]) {
      const inner = memoryOnceStore();
      let asked = 0;
      const complete: OnceStore["complete"] = async (claim) => {
        if (asked++ > 1) return inner.complete(claim);
        if (isStoredAtOnce) await inner.complete(claim);
        throw new Error("the connection broke");
      };
      const { tool, charge } = processWith({ ...inner, complete }, () => ({ receipt: 1 }));
      expect(await charge()).toEqual({ status: "completed", output: { receipt: 1 } });
      expect(await charge()).toEqual({ status: "completed", output: { receipt: 1 } });
      expect(tool.calls).toHaveLength(1);
    }
  });

  it("fails the call with its error when it cannot store the outcome for a whole lease", async () => {
    const complete: OnceStore["complete"] = async () => {
      throw new Error("no connection");
    };
    const { charge } = processWith({ ...memoryOnceStore(), complete }, () => "done");
    const start = performance.now();
    expect(await charge()).toEqual({ status: "failed", kind: "error", error: new Error("no connection") });
    expect(performance.now() - start).toBeGreaterThan(LEASE * 0.9);
  });

  it("does not hide the tool's failure when it cannot release", async () => {
    const release: OnceStore["release"] = () => {
      throw new Error("no connection");
    };
    const { charge } = processWith({ ...memoryOnceStore(), release }, () => Promise.reject(new Error("card declined")));
    expect(await charge()).toEqual({ status: "failed", kind: "error", error: new Error("card declined") });
  });
});
