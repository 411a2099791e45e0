import { inspect } from "node:util";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  type AnyExtensionToken,
  decodeExtensions,
  encodeExtensions,
  extensionToken,
  ToolCallExtensions,
} from "tool-call-extensions";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("com.example/tenant").of(z.object({ id: z.string() }));
const Live = extensionToken("live").of<string>();
const Anything = extensionToken("anything").of(z.unknown());

const refused = (reason: RegExp, tokenId: string) => ({
  code: "not-portable",
  details: { tokenId, reason: expect.stringMatching(reason) },
});

describe("decodeExtensions", () => {
  const decode = (json: Readonly<Record<string, unknown>>, ...tokens: AnyExtensionToken[]) =>
    decodeExtensions(json, tokens);

  it("takes the named tokens through their schemas and ignores everything else", async () => {
    const json = { "com.example/tenant": { id: "t-7", role: "admin" }, live: "x", other: 1 };
    const extensions = await decode(json, Tenant);
    expect(extensions.tokens()).toEqual([Tenant]);
    expect(extensions.get(Tenant)).toEqual({ id: "t-7" });
  });

  it("leaves out what is not there, and takes null for a value", async () => {
    expect((await decode({}, Tenant, Anything)).isEmpty).toBe(true);
    const extensions = await decode({ anything: null }, Anything);
    expect([extensions.has(Anything), extensions.get(Anything)]).toEqual([true, null]);
  });

  it("does not take what an object inherits for a value that was sent", async () => {
    const Inherited = extensionToken("toString").of(z.unknown());
    expect((await decode({}, Inherited)).isEmpty).toBe(true);
  });

  it("gives back what encodeExtensions made of it", async () => {
    const extensions = new ToolCallExtensions().with(Tenant, { id: "t-7" }).with(Anything, [1, { a: null }]);
    const json = JSON.parse(JSON.stringify(await encodeExtensions(extensions, [Tenant, Anything])));
    const decoded = await decode(json, Tenant, Anything);
    expect([decoded.get(Tenant), decoded.get(Anything)]).toEqual([{ id: "t-7" }, [1, { a: null }]]);
  });

  it("refuses a value that does not fit, naming the place and not the value", async () => {
    const failure = decode({ "com.example/tenant": { id: ["canary-11"] } }, Tenant);
    await expect(failure).rejects.toMatchObject(refused(/does not fit its schema at: id$/, "com.example/tenant"));
    await expect(failure).rejects.not.toThrow("canary");
  });

  it("does not pass on what a schema throws, which may hold the value", async () => {
    const Checked = extensionToken("checked").of(
      z.string().refine((text) => {
        throw new Error(text);
      }),
    );
    const failure = decode({ checked: "canary-12" }, Checked);
    await expect(failure).rejects.toMatchObject(refused(/^its schema failed on it$/, "checked"));
    const extensions = new ToolCallExtensions().with(Checked, "canary-12");
    await expect(encodeExtensions(extensions, [Checked])).rejects.toMatchObject(refused(/schema failed/, "checked"));
    expect(inspect(await failure.catch((error: unknown) => error))).not.toContain("canary");
  });

  it.each([null, undefined, "length", ["x"], 7])("refuses %o in the place of the JSON object", async (json) => {
    const Length = extensionToken("length").of(z.unknown());
    // What JSON.parse may give, for all the type says.
    const decoded = decode(json as never, Length);
    await expect(decoded).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringContaining("the JSON of the extensions"),
      details: { expected: "an object, keyed by token id" },
    });
  });

  it("refuses a token without a schema", async () => {
    await expect(decode({ live: "x" }, Live)).rejects.toMatchObject(refused(/has no schema/, "live"));
    await expect(decode({ live: "x" }, Live)).rejects.toThrow(
      /^\[not-portable\] extension "live" cannot enter the process: it has no schema; make it with /,
    );
  });

  it("judges what JSON cannot write by its schema, and not by its length", async () => {
    const failure = decode({ "com.example/tenant": undefined }, Tenant);
    await expect(failure).rejects.toMatchObject(refused(/does not fit its schema at: the root$/, "com.example/tenant"));
  });

  it.each([
    ["16,384 characters", "x".repeat(16_382), true],
    ["16,385 characters", "x".repeat(16_383), false],
    ["no JSON text", cyclic(), false],
  ])("with %s as the JSON of its value: taken %s", async (_what, value, isTaken) => {
    const decoded = decode({ anything: value }, Anything);
    if (isTaken) expect((await decoded).get(Anything)).toBe(value);
    else {
      await expect(decoded).rejects.toMatchObject(refused(/longer than 16384 characters/, "anything"));
      await expect(decoded).rejects.toThrow(
        '[not-portable] extension "anything" cannot enter the process: its JSON is longer than 16384 characters',
      );
    }
  });
});

describe("encodeExtensions", () => {
  const encode = (value: unknown) => encodeExtensions(new ToolCallExtensions().with(Anything, value), [Anything]);

  it("leaves out what is not in the map, a default too", async () => {
    const Defaulted = extensionToken("defaulted").of(z.string(), { default: () => "en" });
    const extensions = new ToolCallExtensions().with(Anything, 1);
    expect({ ...(await encodeExtensions(extensions, [Tenant, Defaulted, Anything])) }).toEqual({ anything: 1 });
  });

  it("takes an id that objects use themselves for a key", async () => {
    const Odd = extensionToken("__proto__").of(z.unknown());
    const encoded = await encodeExtensions(new ToolCallExtensions().with(Odd, { a: 1 }), [Odd]);
    expect(JSON.stringify(encoded)).toBe('{"__proto__":{"a":1}}');
  });

  it.each([
    [null],
    ["text"],
    [true],
    [false],
    [-1.5],
    [[1, [null]]],
    [{ a: { b: [true] } }],
    [Object.assign(Object.create(null), { bare: 1 })],
  ])("writes %j as it is", async (value) => {
    expect(JSON.stringify((await encode(value))["anything"])).toBe(JSON.stringify(value));
  });

  it("gives a copy, which does not change with the value", async () => {
    const value = { list: [1] };
    const encoded = await encode(value);
    value.list.push(2);
    expect(encoded["anything"]).toEqual({ list: [1] });
  });

  class Money {
    readonly cents = 4;
  }

  it.each([
    ["undefined", undefined],
    ["NaN", Number.NaN],
    ["Infinity", Number.POSITIVE_INFINITY],
    ["a bigint", 1n],
    ["a symbol", Symbol("s")],
    ["a function", () => 1],
    ["a Date", new Date(0)],
    ["a Map", new Map()],
    ["an instance of a class", new Money()],
    ["a cycle", cyclic()],
  ])("refuses %s, alone and inside, rather than let JSON drop or change it", async (_what, value) => {
    const message = '[not-portable] extension "anything" cannot leave the process: its value is not plain JSON';
    for (const whole of [value, { part: value }, [value]]) {
      await expect(encode(whole)).rejects.toMatchObject({
        ...refused(/^its value is not plain JSON$/, "anything"),
        message,
      });
    }
  });

  it("hides what the value's own code throws", async () => {
    const failure = encode({
      toJSON: () => {
        throw new Error("canary-12");
      },
    });
    await expect(failure).rejects.toMatchObject(refused(/^its value is not plain JSON$/, "anything"));
    await expect(failure).rejects.not.toThrow("canary");
  });

  it("refuses a token without a schema", async () => {
    await expect(encodeExtensions(new ToolCallExtensions().with(Live, "x"), [Live])).rejects.toThrow(
      '[not-portable] extension "live" cannot leave the process: it has no schema; make it with extensionToken(id).of(schema)',
    );
  });

  it("says at which places a value does not fit, whichever way the schema writes a path", async () => {
    const faulty: StandardSchemaV1<unknown, unknown> = {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: () => ({
          issues: [
            { message: "canary-13", path: ["items", 0, "price"] },
            { message: "canary-13", path: [{ key: "items" }, { key: 1 }] },
            { message: "canary-13" },
            { message: "canary-13", path: [] },
          ],
        }),
      },
    };
    const Faulty = extensionToken("faulty").of(faulty);
    const failure = encodeExtensions(new ToolCallExtensions().with(Faulty, "canary-13"), [Faulty]);
    await expect(failure).rejects.toThrow(
      '[not-portable] extension "faulty" cannot leave the process: its value does not fit its schema at: items.0.price, items.1, the root, the root',
    );
    await expect(failure).rejects.not.toThrow("canary");
  });
});

function cyclic(): object {
  const cycle: Record<string, unknown> = {};
  return Object.assign(cycle, { cycle });
}
