import { inspect } from "node:util";
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
      details: { expected: "an object, keyed by token id" },
    });
  });

  it("refuses a token without a schema", async () => {
    await expect(decode({ live: "x" }, Live)).rejects.toMatchObject(refused(/has no schema/, "live"));
  });

  it.each([
    ["16,384 characters", "x".repeat(16_382), true],
    ["16,385 characters", "x".repeat(16_383), false],
    ["no JSON text", cyclic(), false],
  ])("with %s as the JSON of its value: taken %s", async (_what, value, isTaken) => {
    const decoded = decode({ anything: value }, Anything);
    if (isTaken) expect((await decoded).get(Anything)).toBe(value);
    else await expect(decoded).rejects.toMatchObject(refused(/longer than 16384 characters/, "anything"));
  });
});

function cyclic(): object {
  const cycle: Record<string, unknown> = {};
  return Object.assign(cycle, { cycle });
}
