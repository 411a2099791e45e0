import fc from "fast-check";
import { outcomeText, ToolSet } from "tool-call-extensions";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { decodeOutcome, encodeOutput } from "../../src/once/stored-outcome.ts";

/** What a later call is given for a tool that returned this. */
async function replayed(output: unknown): Promise<unknown> {
  const tool = recordingTool({ name: "probe", result: () => output });
  const tools = new ToolSet([tool], { middleware: [once({ store: memoryOnceStore() })] });
  const call = { sessionKey: "s", toolCallId: "c" };
  await tools.call("probe", {}, call);
  const outcome = await tools.call("probe", {}, call);
  if (outcome.status !== "completed" || tool.calls.length !== 1) throw new Error("not replayed");
  return outcome.output;
}

class Receipt {
  readonly number = 7;
}

describe("a replayed output", () => {
  it.each([
    ["a text", "done"],
    ["JSON in a text", '{"a":1}'],
    ["null", null],
    ["undefined", undefined],
    ["a number", 0.1],
    ["a boolean", false],
    ["an object", { a: [1, { b: null }], "": "ü", " ": "\u0000\ud800" }],
    ["an array", [[], {}, ""]],
    ["a property that is undefined", { a: 1, b: undefined }],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 })],
  ])("equals the first when it is %s", async (_what, output) => {
    expect(await replayed(output)).toEqual(output);
  });

  it("keeps a property named __proto__, and the order of properties", async () => {
    const output: unknown = JSON.parse('{"z":1,"__proto__":{"a":1},"a":2}');
    expect(JSON.stringify(await replayed(output))).toBe('{"z":1,"__proto__":{"a":1},"a":2}');
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  it.each([
    ["a date", new Date(0)],
    ["a date inside", { at: new Date(0) }],
    ["a bigint", 12n],
    ["NaN", Number.NaN],
    ["a map", new Map([["a", 1]])],
    ["a set", { all: new Set([1]) }],
    ["bytes", new Uint8Array(3)],
    ["an instance of a class", new Receipt()],
    ["a function", () => "no"],
    ["a symbol", { a: Symbol("no") }],
    ["a cycle", cycle],
    ["an array with holes", [1, undefined, 2]],
    ["an object with toJSON", { toJSON: () => "as JSON" }],
    [
      "a getter that throws",
      {
        get a(): number {
          throw new Error("a secret");
        },
      },
    ],
  ])("is the text the model saw when it is %s", async (_what, output) => {
    expect(await replayed(output)).toBe(outcomeText({ status: "completed", output }, "probe"));
  });

  it("reads to the model as the first did, whatever the tool returned", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withSet: true, withBigInt: true }), (output) => {
        const first = outcomeText({ status: "completed", output }, "probe");
        expect(outcomeText(decodeOutcome(encodeOutput(output, "probe")), "probe")).toBe(first);
      }),
      { numRuns: 2_000 },
    );
  });

  it("equals the first for any JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (output) => {
        const first = JSON.stringify(output);
        const decoded = decodeOutcome(encodeOutput(output, "probe"));
        expect(decoded.status === "completed" && JSON.stringify(decoded.output)).toBe(first);
      }),
      { numRuns: 1_000 },
    );
  });
});
