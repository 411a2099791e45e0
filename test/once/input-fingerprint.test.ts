import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { inputFingerprint } from "../../src/once/input-fingerprint.ts";

const of = (input: unknown): string => inputFingerprint("charge", input);

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, inner]) => [name, shuffled(inner)]),
  );
}

/** JSON has one zero. */
const asRead = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

class Amount {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
}

class Hidden {
  readonly #cents: number = 5;
  get cents(): number {
    return this.#cents;
  }
}

describe("inputFingerprint", () => {
  // The expected sides were computed by other means: sha256 of domain, name and canonical text, each on a line.
  it("stays as it is: stored claims are compared with it", () => {
    expect(of({})).toBe("5fd7f394119238074dc5519c6782fa4dee9b2013446e13284ee37a8ba91e523c");
    expect(of({ b: [1e21, -0, null, true, "ü\n\ud800"], a: { d: 1, c: 0.1 } })).toBe(
      "88e42cf8afae5b84735e7997be0dd9d3c9a9fb8dbbbec6dc3106dbee97b6e64a",
    );
  });

  it("does not depend on the order of properties", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        expect(of(shuffled(input))).toBe(of(input));
      }),
    );
  });

  it("differs for different JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(of(one) === of(other)).toBe(isDeepStrictEqual(asRead(one), asRead(other)));
      }),
    );
  });

  it("depends on the tool's name", () => {
    expect(inputFingerprint("charge", {})).not.toBe(inputFingerprint("refund", {}));
  });

  it.each([
    ["texts that look like other values", "1", 1],
    ["null and the text of it", null, "null"],
    ["numbers and bigints", 1, 1n],
    ["bigints", 1n, 2n],
    ["dates", new Date(0), new Date(1)],
    ["bytes", new Uint8Array([1]), new Uint8Array([2])],
    ["buffers", new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ["maps", new Map([[1, 2]]), new Map([[1, 3]])],
    ["sets", new Set([1]), new Set([2])],
    ["a set and an array", new Set([1]), [1]],
    ["instances of a class", new Amount(1), new Amount(2)],
    ["URLs", new URL("https://a.example"), new URL("https://b.example")],
    ["the depth of lists", [[1], 2], [1, [2]]],
    ["lists and their texts", ["a,b"], ["a", "b"]],
    ["a lone surrogate and its replacement", "\ud800", "\ufffd"],
  ])("tells apart %s", (_what, one, other) => {
    expect(of(one)).not.toBe(of(other));
    expect(of({ inside: one })).not.toBe(of({ inside: other }));
    expect(of(one)).toBe(of(one));
  });

  it("takes a property that is undefined for absent", () => {
    expect(of({ a: 1, b: undefined })).toBe(of({ a: 1 }));
    expect(of(undefined)).not.toBe(of({}));
  });

  it("takes bytes in part of a buffer for those bytes", () => {
    expect(of(new Uint8Array([9, 1, 2, 9]).subarray(1, 3))).toBe(of(new Uint8Array([1, 2])));
  });

  it("lets one value appear twice", () => {
    const shared = { a: 1 };
    expect(of([shared, shared])).toBe(of([{ a: 1 }, { a: 1 }]));
  });

  const cycle: unknown[] = [];
  cycle.push([cycle]);
  it.each([
    ["a function", () => 1],
    ["a symbol", { a: Symbol("a") }],
    ["a cycle", cycle],
    ["an object without properties of its own", new Hidden()],
  ])("refuses %s by name: two of them could not be told apart", (what, input) => {
    expect(() => of(input)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(() => of(input)).toThrow(`the input of tool "charge" must be comparable`);
    expect(() => of(input)).toThrow(`received ${what}`);
  });
});
