import type { OnceClaim, OnceStore } from "./once-store.ts";

interface Entry {
  readonly fingerprint: string;
  fence: number;
  leasedUntil: number;
  outcome: string | undefined;
}

/**
 * Makes a store for one process: for tests, and for programs that need nothing kept when they end.
 *
 * It keeps one entry for each key until it is itself dropped, so a long-lived server makes one for each conversation, or
 * takes the store of `tool-call-extensions/postgres`.
 *
 * @example
 * ```ts
 * import { memoryOnceStore } from "tool-call-extensions/once";
 *
 * const store = memoryOnceStore();
 * const claim = await store.claim({ key: "k", fingerprint: "f", leaseMs: 1_000 });
 * if (claim.status !== "claimed") throw new Error("a new key was not to be had");
 * if (!(await store.complete({ key: "k", fence: claim.fence, outcome: "{}" }))) throw new Error("refused");
 * const later = await store.claim({ key: "k", fingerprint: "f", leaseMs: 1_000 });
 * if (later.status !== "completed" || later.outcome !== "{}") throw new Error("not kept");
 * ```
 */
export function memoryOnceStore(): OnceStore {
  const entries = new Map<string, Entry>();
  /** The entry, if the fence is in force. */
  const held = (key: string, fence: number): Entry | undefined => {
    const entry = entries.get(key);
    return entry !== undefined && entry.fence === fence && entry.outcome === undefined ? entry : undefined;
  };
  return {
    claim: async ({ key, fingerprint, leaseMs }) => {
      const leasedUntil = performance.now() + leaseMs;
      const entry = entries.get(key);
      if (entry !== undefined) return claimAgain(entry, fingerprint, leasedUntil);
      entries.set(key, { fingerprint, fence: 1, leasedUntil, outcome: undefined });
      return { status: "claimed", fence: 1 };
    },
    renew: async ({ key, fence, leaseMs }) => {
      const entry = held(key, fence);
      if (entry === undefined) return false;
      entry.leasedUntil = performance.now() + leaseMs;
      return true;
    },
    complete: async ({ key, fence, outcome }) => {
      const entry = held(key, fence);
      if (entry === undefined) return false;
      entry.outcome = outcome;
      return true;
    },
    release: async ({ key, fence }) => {
      const entry = held(key, fence);
      if (entry === undefined) return;
      entry.fence++;
      entry.leasedUntil = performance.now();
    },
  };
}

function claimAgain(entry: Entry, fingerprint: string, leasedUntil: number): OnceClaim {
  if (entry.fingerprint !== fingerprint) return { status: "mismatched" };
  if (entry.outcome !== undefined) return { status: "completed", outcome: entry.outcome };
  if (entry.leasedUntil > performance.now()) return { status: "held" };
  entry.fence++;
  entry.leasedUntil = leasedUntil;
  return { status: "claimed", fence: entry.fence };
}
