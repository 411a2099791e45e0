import { memoryOnceStore, type OnceOptions, once } from "tool-call-extensions/once";
import { describe, expect, it } from "vitest";

describe("the options of once", () => {
  it.each([
    [{ store: undefined }, "option store of once() must be a OnceStore, with a method claim; received undefined"],
    [{ store: { ...memoryOnceStore(), release: undefined } }, "a OnceStore, with a method release; received an object"],
    [{ store: memoryOnceStore(), leaseMs: 0 }, "option leaseMs of once() must be a number of milliseconds from 10 to"],
    [{ store: memoryOnceStore(), leaseMs: Number.NaN }, "received NaN"],
    [{ store: memoryOnceStore(), leaseMs: 86_400_001 }, "received 86400001"],
    [{ store: memoryOnceStore(), leaseMs: "30" }, "received a string"],
    [{ store: memoryOnceStore(), isFinal: true }, "option isFinal of once() must be a function; received true"],
    [{ store: memoryOnceStore(), fingerprintOf: "input" }, "option fingerprintOf of once() must be a function"],
  ])("are checked before any call: %j", (options, message) => {
    // Written in JavaScript, the options may be anything.
    const make = () => once(options as OnceOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });
});
