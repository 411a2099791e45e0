import {
  Agent,
  defineTool,
  extensionToken,
  outcomeText,
  type RunEvent,
  ToolCallExtensions,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const LIMIT = 65_536;
const NOTE = "[cut off: the result is too long]";

/** The text for a tool that returned this. */
const textOf = (output: unknown): string => outcomeText({ status: "completed", output }, "probe");

const cycle = (): object => {
  const node: { readonly name: string; self?: object } = { name: "a" };
  node.self = node;
  return node;
};

describe("the text for a completed call", () => {
  it.each<[string, unknown, string]>([
    ["a string", "3 hits", "3 hits"],
    ["an empty string", "", ""],
    ["undefined", undefined, "(no output)"],
    ["a toJSON that gives undefined", { toJSON: () => undefined }, "(no output)"],
    ["a toJSON that is no function", { toJSON: 5, a: 1 }, '{"toJSON":5,"a":1}'],
    ["null", null, "null"],
    ["a number", 42, "42"],
    ["a boolean", true, "true"],
    ["NaN", Number.NaN, '"NaN"'],
    ["Infinity", { max: Number.POSITIVE_INFINITY }, '{"max":"Infinity"}'],
    ["a BigInt", 10n, '"10"'],
    ["a nested BigInt", { cents: [9_007_199_254_740_993n] }, '{"cents":["9007199254740993"]}'],
    ["a Date", { at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    ["an invalid Date", { at: new Date("no day") }, '{"at":"[invalid date]"}'],
    ["a Map", new Map([["a", 1]]), '[["a",1]]'],
    ["a Set", new Set(["a", 1]), '["a",1]'],
    ["an Error", { last: new TypeError("no number") }, '{"last":{"name":"TypeError","message":"no number"}}'],
    ["a Uint8Array", { body: new Uint8Array(3) }, '{"body":"[3 bytes]"}'],
    ["a DataView", new DataView(new ArrayBuffer(8), 2), '"[6 bytes]"'],
    ["an ArrayBuffer", new ArrayBuffer(16), '"[16 bytes]"'],
    ["a function", () => "x", '"[function]"'],
    ["a symbol", { kind: Symbol("canary") }, '{"kind":"[symbol]"}'],
    ["an array with a hole", [1, undefined, 3], "[1,null,3]"],
    ["an undefined field", { a: undefined, b: 1 }, '{"b":1}'],
    ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["a toJSON", { toJSON: () => ({ a: 1 }) }, '{"a":1}'],
    ["a URL", { at: new URL("https://example.com/") }, '{"at":"https://example.com/"}'],
    ["a cycle", cycle(), '{"name":"a","self":"[Circular]"}'],
  ])("is readable for %s", (_what, output, text) => {
    expect(textOf(output)).toBe(text);
  });

  it("equals JSON.stringify for plain data", () => {
    const output = {
      rows: [{ id: 1, name: 'a "quoted" ümlaut', tags: [], sub: { ok: false, none: null } }],
      n: -1.5e-7,
    };
    expect(textOf(output)).toBe(JSON.stringify(output));
  });

  it("repeats an object that occurs twice without being its own ancestor", () => {
    const shared = { id: 1 };
    expect(textOf({ a: shared, b: shared })).toBe('{"a":{"id":1},"b":{"id":1}}');
  });

  it("marks a cycle that leads through a Map", () => {
    const map = new Map<string, unknown>();
    map.set("self", map);
    expect(textOf(map)).toBe('[["self","[Circular]"]]');
  });

  it("keeps a key named __proto__", () => {
    expect(textOf(JSON.parse('{"__proto__":{"a":1},"b":2}'))).toBe('{"__proto__":{"a":1},"b":2}');
  });

  it("shows the ids of extensions inside the output, never their values", () => {
    const Token = extensionToken("token").of<string>();
    const output = { seen: new ToolCallExtensions().with(Token, "canary-9f3") };
    expect(textOf(output)).toBe('{"seen":["token"]}');
  });

  it("stops at depth 32", () => {
    let output: unknown = "the bottom";
    for (let depth = 0; depth < 100_000; depth++) output = [output];
    expect(textOf(output)).toBe(`${"[".repeat(32)}"[nested too deeply]"${"]".repeat(32)}`);
  });
});

describe("what cannot be read", () => {
  const refuse = (): never => {
    throw new Error("token=canary-9f3");
  };

  it.each<[string, object, string]>([
    ["a getter that throws", Object.defineProperty({ a: 1 }, "b", { get: refuse, enumerable: true }), '"[unreadable]"'],
    ["a toJSON that throws", { toJSON: refuse }, '"[unreadable]"'],
    [
      "a toJSON that gives the object again",
      Object.create({ toJSON: () => cycle() }),
      '{"name":"a","self":"[Circular]"}',
    ],
    ["a Proxy whose keys cannot be listed", new Proxy({}, { ownKeys: refuse }), '"[unreadable]"'],
    [
      "a Proxy that refuses everything",
      new Proxy({}, { get: refuse, has: refuse, getPrototypeOf: refuse }),
      '"[unreadable]"',
    ],
    [
      "an Error whose message throws",
      Object.defineProperty(new Error("x"), "message", { get: refuse }),
      '"[unreadable]"',
    ],
    ["a part of a readable whole", { ok: 1, bad: { toJSON: refuse } }, '{"ok":1,"bad":"[unreadable]"}'],
  ])("is marked, and what it threw is not told: %s", (_what, output, text) => {
    expect(textOf(output)).toBe(text);
  });

  it("is marked for a revoked Proxy", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(textOf([proxy])).toBe('["[unreadable]"]');
  });

  it("leaves the call completed", async () => {
    const output = { toJSON: refuse };
    const outcome = await new ToolSet([defineTool({ name: "pay", input: {}, call: () => output })]).call("pay", {});
    expect(outcome.status === "completed" && outcome.output === output).toBe(true);
  });
});

describe("a result that is too long", () => {
  it.each([
    ["a string", "x".repeat(LIMIT + 1)],
    ["a string in an object", { page: "x".repeat(LIMIT + 1) }],
    ["an array of texts", Array.from({ length: 10_000 }, () => "some text")],
    ["an array of nulls", Array.from({ length: 1_000_000 }, () => null)],
    ["an array of holes", new Array(50_000_000)],
    ["an object with many keys", Object.fromEntries(Array.from({ length: 100_000 }, (_, key) => [`key-${key}`, key]))],
    ["a Set", new Set(Array.from({ length: 100_000 }, (_, key) => key))],
    ["a Map", new Map(Array.from({ length: 100_000 }, (_, key) => [key, key]))],
    ["characters that JSON escapes", { page: "\u0000".repeat(60_000) }],
    ["a long key", { ["k".repeat(LIMIT)]: 1, more: "text" }],
    ["a long BigInt", 10n ** 70_000n],
    ["the message of an Error", new Error("x".repeat(LIMIT + 1))],
  ])("is cut at 65,536 characters with a note: %s", (_what, output) => {
    const text = textOf(output);
    expect(text.length).toBeLessThanOrEqual(LIMIT);
    expect(text).toContain(NOTE);
  });

  it("is cut at the limit and not before", () => {
    expect(textOf("x".repeat(LIMIT))).toBe("x".repeat(LIMIT));
    expect(textOf("x".repeat(LIMIT + 1))).toHaveLength(LIMIT);
  });

  it("does not begin sooner than that: 20,000 digits fit", () => {
    const output = Array.from({ length: 20_000 }, (_, index) => index % 10);
    expect(textOf(output)).toHaveLength(JSON.stringify(output).length);
  });

  it.each([
    ["bigints of a digit", 5_000, 7n, "7"],
    ["functions", 5_000, () => 7, "[function]"],
  ])("does not begin sooner than that: %s fit as long as their texts do", (_what, count, item, written) => {
    const fill = (value: unknown) => Array.from({ length: count }, () => value);
    expect(textOf(fill(item))).toBe(JSON.stringify(fill(written)));
  });

  it("is not cut through a surrogate pair", () => {
    for (const prefix of ["", "x"]) {
      const kept = textOf(prefix + "😀".repeat(LIMIT)).slice(0, -NOTE.length - 1);
      expect(kept).toMatch(/^x?😀+$/u);
    }
  });

  it.each<[string, (item: object) => object]>([
    ["an array", (item) => Array.from({ length: 200_000 }, () => item)],
    ["an object", (item) => Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [index, item]))],
    ["a Set", (item) => new Set(Array.from({ length: 200_000 }, () => Object.create(item)))],
    ["a Map", (item) => new Map(Array.from({ length: 200_000 }, (_, index) => [index, item]))],
  ])("is not read further than its text needs: %s", (_what, hold) => {
    let reads = 0;
    textOf(hold({ toJSON: () => `item ${++reads}` }));
    expect(reads).toBeLessThan(LIMIT);
  });

  it("is bounded where a small value unfolds without end", () => {
    let output: unknown = "leaf";
    for (let depth = 0; depth < 30; depth++) output = [output, output];
    const text = textOf(output);
    expect(text.length).toBeLessThanOrEqual(LIMIT);
    expect(text).toContain(NOTE);
  });

  it("is bounded where toJSON makes ever more", () => {
    const more = (): object => ({ toJSON: () => [more(), more(), more()] });
    expect(textOf(more()).length).toBeLessThanOrEqual(LIMIT);
  });

  it("is bounded where an iterator never ends", () => {
    const endless = new Map();
    Object.defineProperty(endless, "entries", {
      value: function* () {
        for (;;) yield ["a", 1];
      },
    });
    expect(textOf(endless).length).toBeLessThanOrEqual(LIMIT);
  });
});

// Field case H20: mastra-ai/mastra #14462, "Error: Converting circular structure to JSON", 2026-03-18.
describe("a run whose tool hands back what JSON cannot hold", () => {
  it.each<[string, object, string]>([
    ["a cycle", cycle(), '{"name":"a","self":"[Circular]"}'],
    [
      "a toJSON that throws",
      {
        toJSON: () => {
          throw new Error("canary-9f3");
        },
      },
      '"[unreadable]"',
    ],
  ])("goes on, and counts the call as done once: %s", async (_what, output, text) => {
    const events: RunEvent[] = [];
    const model = scriptedModel([{ toolCalls: [{ toolName: "load", input: {} }] }, "Done.", "Still here."]);
    const load = defineTool({ name: "load", input: {}, call: () => output });
    const agent = new Agent({ name: "support", model, tools: [load] });
    const first = await agent
      .prompt("Load it.")
      .on((event) => events.push(event))
      .run();
    const second = await agent.prompt("And now?").history(first.messages).run();
    expect(second.output).toBe("Still here.");
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", text, isError: false });
    const ends = events.filter(({ type }) => type === "tool-completed" || type === "tool-failed");
    expect(ends).toHaveLength(1);
    expect(ends[0]?.type === "tool-completed" && ends[0].output === output).toBe(true);
  });
});
