import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { startHeartbeat } from "../../src/once/heartbeat.ts";

describe("startHeartbeat", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("renews three times within the lease's length, for as long as it is not stopped", async () => {
    const renew = vi.fn(async () => true);
    const stop = startHeartbeat(renew, 300);
    await vi.advanceTimersByTimeAsync(99);
    expect(renew).toHaveBeenCalledTimes(0);
    await vi.advanceTimersByTimeAsync(201);
    expect(renew).toHaveBeenCalledTimes(3);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(renew).toHaveBeenCalledTimes(33);
    stop();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(renew).toHaveBeenCalledTimes(33);
  });

  it("ends when the lease is lost", async () => {
    const renew = vi.fn(async () => false);
    startHeartbeat(renew, 300);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(renew).toHaveBeenCalledTimes(1);
  });

  it.each([
    ["rejected", () => Promise.reject(new Error("no connection"))],
    ["threw", () => expect.fail("no connection")],
  ])("goes on after a renewal that %s", async (_how, renewal) => {
    const renew = vi.fn(renewal);
    startHeartbeat(renew, 300);
    await vi.advanceTimersByTimeAsync(300);
    expect(renew).toHaveBeenCalledTimes(3);
  });

  it("does not wait for a renewal that hangs", async () => {
    const renew = vi.fn(() => new Promise<boolean>(() => {}));
    startHeartbeat(renew, 300);
    await vi.advanceTimersByTimeAsync(300);
    expect(renew).toHaveBeenCalledTimes(3);
  });

  it("does not keep the process alive", () => {
    vi.useRealTimers();
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const stop = startHeartbeat(async () => true, 3_000);
    expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout")).toHaveLength(before);
    stop();
  });
});
