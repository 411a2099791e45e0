import type { OnceStore } from "tool-call-extensions/once";
import { describe, expect, it } from "vitest";

const LONG = 60_000;
/** Long enough for what must come before its end, on a busy machine. */
const SHORT = 250;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let keys = 0;
const newKey = (): string => `key-${++keys}`;

async function claimed(store: OnceStore, key: string, leaseMs: number): Promise<number> {
  const claim = await store.claim({ key, fingerprint: "f", leaseMs });
  if (claim.status !== "claimed") throw new Error(`expected a claim, got "${claim.status}"`);
  return claim.fence;
}

const claimOf = (store: OnceStore, key: string, fingerprint = "f") => store.claim({ key, fingerprint, leaseMs: LONG });

/** What every store must do; run by the tests of each. */
export function describeOnceStore(name: string, storeOf: () => OnceStore): void {
  describe.concurrent(`${name}, as a OnceStore`, () => {
    it("grants a new key to one of many who claim at once", async () => {
      const key = newKey();
      const claims = await Promise.all(Array.from({ length: 20 }, () => claimOf(storeOf(), key)));
      expect(claims.filter(({ status }) => status === "claimed")).toHaveLength(1);
      expect(claims.filter(({ status }) => status === "held")).toHaveLength(19);
    });

    it("grants each key by itself", async () => {
      expect((await claimOf(storeOf(), newKey())).status).toBe("claimed");
      expect((await claimOf(storeOf(), newKey())).status).toBe("claimed");
    });

    it("gives the completed outcome to every later claim, as it was written", async () => {
      const key = newKey();
      const outcome = JSON.stringify({ output: { z: 1, a: ["ü", "\u0000", "\ud800", 0.1] } });
      expect(await storeOf().complete({ key, fence: await claimed(storeOf(), key, LONG), outcome })).toBe(true);
      expect(await claimOf(storeOf(), key)).toEqual({ status: "completed", outcome });
      expect(await claimOf(storeOf(), key)).toEqual({ status: "completed", outcome });
    });

    it("keeps a completed outcome when the lease has run out", async () => {
      const key = newKey();
      await storeOf().complete({ key, fence: await claimed(storeOf(), key, SHORT), outcome: "{}" });
      await sleep(SHORT * 2);
      expect(await claimOf(storeOf(), key)).toEqual({ status: "completed", outcome: "{}" });
    });

    it("does not complete twice", async () => {
      const key = newKey();
      const fence = await claimed(storeOf(), key, LONG);
      await storeOf().complete({ key, fence, outcome: '{"output":1}' });
      expect(await storeOf().complete({ key, fence, outcome: '{"output":2}' })).toBe(false);
      expect(await claimOf(storeOf(), key)).toEqual({ status: "completed", outcome: '{"output":1}' });
    });

    it("tells another fingerprint from a held, a completed, a released and a run-out claim", async () => {
      const [held, completed, released, runOut] = [newKey(), newKey(), newKey(), newKey()];
      await claimed(storeOf(), held, LONG);
      await storeOf().complete({ key: completed, fence: await claimed(storeOf(), completed, LONG), outcome: "{}" });
      await storeOf().release({ key: released, fence: await claimed(storeOf(), released, LONG) });
      await claimed(storeOf(), runOut, SHORT);
      await sleep(SHORT * 2);
      for (const key of [held, completed, released, runOut]) {
        expect(await claimOf(storeOf(), key, "another")).toEqual({ status: "mismatched" });
      }
    });

    it("grants a run-out claim once more, with a higher fence", async () => {
      const key = newKey();
      const first = await claimed(storeOf(), key, SHORT);
      expect((await claimOf(storeOf(), key)).status).toBe("held");
      await sleep(SHORT * 2);
      const claims = await Promise.all(Array.from({ length: 10 }, () => claimOf(storeOf(), key)));
      const [granted, ...others] = claims.filter(({ status }) => status === "claimed");
      expect(granted?.status === "claimed" && granted.fence).toBeGreaterThan(first);
      expect(others).toEqual([]);
    });

    it("grants a released claim at once, with a higher fence", async () => {
      const key = newKey();
      const first = await claimed(storeOf(), key, LONG);
      await storeOf().release({ key, fence: first });
      expect(await claimed(storeOf(), key, LONG)).toBeGreaterThan(first);
    });

    it("refuses whatever an old fence asks for", async () => {
      const key = newKey();
      const old = await claimed(storeOf(), key, SHORT);
      await sleep(SHORT * 2);
      const fence = await claimed(storeOf(), key, LONG);
      expect(await storeOf().renew({ key, fence: old, leaseMs: LONG })).toBe(false);
      expect(await storeOf().complete({ key, fence: old, outcome: '{"output":"old"}' })).toBe(false);
      await storeOf().release({ key, fence: old });
      expect((await claimOf(storeOf(), key)).status).toBe("held");
      expect(await storeOf().complete({ key, fence, outcome: '{"output":"new"}' })).toBe(true);
      expect(await claimOf(storeOf(), key)).toEqual({ status: "completed", outcome: '{"output":"new"}' });
    });

    it("puts a fence out of force with its release", async () => {
      const key = newKey();
      const fence = await claimed(storeOf(), key, LONG);
      await storeOf().release({ key, fence });
      expect(await storeOf().renew({ key, fence, leaseMs: LONG })).toBe(false);
      expect(await storeOf().complete({ key, fence, outcome: "{}" })).toBe(false);
      expect((await claimOf(storeOf(), key)).status).toBe("claimed");
    });

    it("holds a renewed claim for as long as it was renewed", async () => {
      const key = newKey();
      const fence = await claimed(storeOf(), key, SHORT);
      expect(await storeOf().renew({ key, fence, leaseMs: SHORT * 5 })).toBe(true);
      await sleep(SHORT * 2);
      expect((await claimOf(storeOf(), key)).status).toBe("held");
      await sleep(SHORT * 5);
      expect((await claimOf(storeOf(), key)).status).toBe("claimed");
    });

    it("lets a holder complete after its lease, when nobody took over", async () => {
      const key = newKey();
      const fence = await claimed(storeOf(), key, SHORT);
      await sleep(SHORT * 2);
      expect(await storeOf().complete({ key, fence, outcome: "{}" })).toBe(true);
    });

    it("does not renew, complete or release a key that nobody claimed", async () => {
      const key = newKey();
      expect(await storeOf().renew({ key, fence: 1, leaseMs: LONG })).toBe(false);
      expect(await storeOf().complete({ key, fence: 1, outcome: "{}" })).toBe(false);
      await storeOf().release({ key, fence: 1 });
      expect((await claimOf(storeOf(), key)).status).toBe("claimed");
    });
  });
}
