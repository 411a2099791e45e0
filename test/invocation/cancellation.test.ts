import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { Cancellation } from "../../src/invocation/cancellation.ts";

describe("a cancellation", () => {
  it("is not aborted at first", () => {
    const root = new Cancellation();
    expect(root.isAborted).toBe(false);
    expect(root.reason).toBeUndefined();
    expect(root.signal.aborted).toBe(false);
    expect(() => root.throwIfAborted()).not.toThrow();
  });

  it("aborts with its reason", () => {
    const root = new Cancellation();
    const { signal } = root;
    root.abort("enough");
    expect(root).toMatchObject({ isAborted: true, reason: "enough" });
    expect(signal).toMatchObject({ aborted: true, reason: "enough" });
  });

  it("keeps the first reason", () => {
    const root = new Cancellation();
    root.abort("first");
    root.abort("second");
    expect(root.reason).toBe("first");
    expect(root.signal.reason).toBe("first");
  });

  it("throws the reason itself when asked to", () => {
    const root = new Cancellation();
    const reason = new Error("enough");
    root.abort(reason);
    expect(() => root.throwIfAborted()).toThrow(reason);
  });

  it("has one signal, whenever it is read", () => {
    const root = new Cancellation();
    const { signal } = root;
    root.abort("enough");
    expect(root.signal).toBe(signal);
  });

  it("has an aborted signal where that is first read after the abort", () => {
    const root = new Cancellation();
    root.abort("enough");
    expect(root.signal).toMatchObject({ aborted: true, reason: "enough" });
  });
});

describe("a child", () => {
  it("has a signal of its own", () => {
    const root = new Cancellation();
    expect(root.child().signal).not.toBe(root.signal);
  });

  it("is aborted with its parent, at any depth", () => {
    const root = new Cancellation();
    const leaf = root.child().child().child();
    root.abort("enough");
    expect(leaf).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("is aborted from the start where its parent is", () => {
    const root = new Cancellation();
    root.abort("enough");
    expect(root.child()).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("does not abort its parent or a sibling", () => {
    const root = new Cancellation();
    const sibling = root.child();
    root.child().abort("enough");
    expect(root.isAborted).toBe(false);
    expect(sibling.isAborted).toBe(false);
  });

  it("hears of the abort before its parent's listeners do", () => {
    const root = new Cancellation();
    const child = root.child();
    const order: string[] = [];
    root.signal.addEventListener("abort", () => order.push("root"));
    child.signal.addEventListener("abort", () => order.push("child"));
    root.abort("enough");
    expect(order).toEqual(["child", "root"]);
  });

  it("keeps its own reason when the parent is aborted after it", () => {
    const root = new Cancellation();
    const child = root.child();
    child.abort("mine");
    root.abort("theirs");
    expect(child.reason).toBe("mine");
  });

  it("is cut off by dispose", () => {
    const root = new Cancellation();
    const child = root.child();
    child.dispose();
    root.abort("enough");
    expect(child.isAborted).toBe(false);
  });

  it("is cut off by its own dispose alone", () => {
    const root = new Cancellation();
    const sibling = root.child();
    root.child().dispose();
    root.abort("enough");
    expect(sibling.isAborted).toBe(true);
  });

  it("that is open when its parent is disposed is aborted with the one above", () => {
    const root = new Cancellation();
    const child = root.child();
    const grandchild = child.child();
    child.dispose();
    root.abort("enough");
    expect(grandchild).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("that is open when the root is disposed is the root of what is below it", () => {
    const root = new Cancellation();
    const child = root.child();
    const grandchild = child.child();
    root.dispose();
    root.abort("too late");
    expect(child.isAborted).toBe(false);
    child.abort("enough");
    expect(grandchild).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("that is disposed leaves its parent nothing to make a reason for", () => {
    const root = new Cancellation();
    let made = 0;
    const makeReason = () => `reason ${++made}`;
    root.abortChildren(makeReason);
    root.child().dispose();
    root.abortChildren(makeReason);
    expect(made).toBe(0);
    const open = [root.child(), root.child()];
    root.abortChildren(makeReason);
    expect(open.map(({ reason }) => reason)).toEqual(["reason 1", "reason 1"]);
    expect(root.isAborted).toBe(false);
  });

  it("may be disposed while its parent aborts", () => {
    const root = new Cancellation();
    const children = [root.child(), root.child(), root.child()];
    for (const child of children) child.signal.addEventListener("abort", () => child.dispose());
    root.abort("enough");
    expect(children.map(({ isAborted }) => isAborted)).toEqual([true, true, true]);
  });
});

describe("follow", () => {
  it("aborts with the signal's reason", () => {
    const controller = new AbortController();
    const node = new Cancellation().follow(controller.signal);
    controller.abort("enough");
    expect(node).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("aborts every node that follows the signal", () => {
    const controller = new AbortController();
    const nodes = [1, 2, 3].map(() => new Cancellation().follow(controller.signal));
    nodes[1]?.dispose();
    controller.abort("enough");
    expect(nodes.map(({ isAborted }) => isAborted)).toEqual([true, false, true]);
  });

  it("aborts at once where the signal is aborted", () => {
    expect(new Cancellation().follow(AbortSignal.abort("enough"))).toMatchObject({ isAborted: true, reason: "enough" });
  });

  it("leaves no listener on a signal that is aborted, before or after", () => {
    const signal = AbortSignal.abort("enough");
    new Cancellation().follow(signal);
    expect(getEventListeners(signal, "abort")).toEqual([]);
    const controller = new AbortController();
    new Cancellation().follow(controller.signal);
    controller.abort("enough");
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  });

  it("of no signal changes nothing", () => {
    expect(new Cancellation().follow(undefined).isAborted).toBe(false);
  });

  it("follows beside the parent: whichever aborts first", () => {
    const controller = new AbortController();
    const root = new Cancellation();
    const node = root.child().follow(controller.signal);
    root.abort("theirs");
    controller.abort("mine");
    expect(node.reason).toBe("theirs");
  });

  it("ends with dispose, which takes its listener from a long-lived signal", () => {
    const { signal } = new AbortController();
    for (let call = 0; call < 100; call++) new Cancellation().follow(signal).dispose();
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("ends with dispose: a later abort is not heard", () => {
    const controller = new AbortController();
    const node = new Cancellation().follow(controller.signal);
    node.dispose();
    controller.abort("enough");
    expect(node.isAborted).toBe(false);
  });
});

describe("race", () => {
  const never = new Promise<never>(() => {});

  it("gives what the work gives", async () => {
    expect(await new Cancellation().race(Promise.resolve("done"))).toBe("done");
  });

  it("rejects with what the work rejects with", async () => {
    await expect(new Cancellation().race(Promise.reject("down"))).rejects.toBe("down");
  });

  it("rejects with the reason as soon as the abort comes", async () => {
    const root = new Cancellation();
    const race = root.race(never);
    root.abort("enough");
    await expect(race).rejects.toBe("enough");
  });

  it("rejects with the reason where the abort came before", async () => {
    const root = new Cancellation();
    root.abort("enough");
    await expect(root.race(Promise.resolve("done"))).rejects.toBe("enough");
  });

  it("ignores what the work does after the abort", async () => {
    const root = new Cancellation();
    let fail: (reason: unknown) => void = () => {};
    const race = root.race(new Promise((_resolve, reject) => (fail = reject)));
    root.abort("enough");
    fail("too late");
    await expect(race).rejects.toBe("enough");
  });

  it("is aborted by the parent", async () => {
    const root = new Cancellation();
    const race = root.child().race(never);
    root.abort("enough");
    await expect(race).rejects.toBe("enough");
  });
});

describe("raceTo", () => {
  const ends = { done: (value: string) => `done: ${value}`, failed: (error: unknown) => `failed: ${error}` };

  it("gives what is made of what comes first", async () => {
    expect(await new Cancellation().raceTo("value", ends)).toBe("done: value");
    expect(await new Cancellation().raceTo(Promise.reject("down"), ends)).toBe("failed: down");
  });

  it("makes the end of an abort after the abort", async () => {
    const root = new Cancellation();
    const order: string[] = [];
    const failed = (error: unknown): unknown => order.push(`end: ${error}`);
    const race = root.raceTo(new Promise<never>(() => {}), { done: (value) => value, failed });
    root.abort("enough");
    order.push("abort() is over");
    await race;
    expect(order).toEqual(["abort() is over", "end: enough"]);
  });

  it("makes one end, the abort's, where the work is done in the same moment", async () => {
    const root = new Cancellation();
    const made: string[] = [];
    let finish: (value: string) => void = () => {};
    const race = root.raceTo(new Promise<string>((resolve) => (finish = resolve)), {
      done: () => made.push("done"),
      failed: () => made.push("failed"),
    });
    finish("value");
    root.abort("enough");
    await race;
    expect(made).toEqual(["failed"]);
  });

  it("rejects where an end throws", async () => {
    const done = (): never => {
      throw new Error("no end");
    };
    await expect(new Cancellation().raceTo("value", { ...ends, done })).rejects.toThrow("no end");
  });
});
