import fc from "fast-check";
import {
  Agent,
  decodeExtensions,
  defineTool,
  extensionToken,
  type ModelResponse,
  type RunState,
  ToolCallExtensionsError,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { afterEach, expect, test } from "vitest";
import { z } from "zod";

const RUNS = 10_000;
const names = fc.constantFrom(
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "hasOwnProperty",
  "then",
  "toJSON",
  "",
  "a",
  "0",
);
const text = fc.oneof(
  fc.string(),
  names,
  fc.string({ unit: "binary" }),
  fc.constantFrom("\ud800", "\u0000", "x".repeat(100_000)),
);
const deep = fc.integer({ min: 1, max: 5_000 }).map((depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`);

/** Any JSON, with the keys that objects have by themselves. */
const { json } = fc.letrec<{ json: unknown; list: unknown; record: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    text,
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.maxSafeInteger(),
    tie("list"),
    tie("record"),
  ),
  list: fc.array(tie("json"), { maxLength: 4 }),
  record: fc
    .array(fc.tuple(names, tie("json")), { maxLength: 4 })
    .map((entries) =>
      JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`),
    ),
}));
/** And what no JSON holds. */
const anything = fc.oneof(
  json,
  fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withSparseArray: true,
  }),
);

afterEach(() => {
  // Nothing of it all has reached the prototypes.
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
});

const seen: unknown[] = [];
const tools = new ToolSet([
  defineTool({ name: "strict", input: z.strictObject({ a: z.number() }), call: (input) => void seen.push(input) }),
  defineTool({ name: "loose", input: { type: "object" }, call: (input) => void seen.push(input) }),
  defineTool({ name: "__proto__", input: { type: "object" }, call: (input) => void seen.push(input) }),
]);

test("arguments: a clean result, or what is wrong with them", { timeout: 120_000 }, async () => {
  const input = fc.oneof(
    anything,
    json.map((value) => JSON.stringify(value)),
    text,
    deep,
    json.map((value) => JSON.stringify(value).slice(0, -1)),
  );
  const ends = { completed: 0, refused: 0 };
  const law = fc.asyncProperty(
    fc.oneof(fc.constantFrom("strict", "loose", "__proto__"), text),
    input,
    async (name, given) => {
      seen.length = 0;
      const outcome = await tools.call(name, given);
      if (outcome.status === "completed") {
        ends.completed++;
        expect(typeof seen[0] === "object" && seen[0] !== null && !Array.isArray(seen[0])).toBe(true);
      } else {
        ends.refused++;
        expect(outcome).toMatchObject({
          status: "failed",
          kind: expect.stringMatching(/^(?:invalid-input|unknown-tool)$/),
        });
        expect(seen).toEqual([]);
      }
    },
  );
  await fc.assert(law, { numRuns: RUNS });
  expect(Math.min(ends.completed, ends.refused)).toBeGreaterThan((ends.completed + ends.refused) / 200);
});

test("values from outside: what fits its schema, or a refusal that does not quote them", {
  timeout: 120_000,
}, async () => {
  const Strict = extensionToken("toString").of(z.strictObject({ a: z.number() }));
  const Any = extensionToken("__proto__").of(z.unknown());
  const law = fc.asyncProperty(
    fc.oneof(
      json,
      fc.array(fc.tuple(names, json)).map((entries) => Object.fromEntries(entries)),
    ),
    async (given) => {
      const record = Object(given) as Record<string, unknown>;
      try {
        const extensions = await decodeExtensions(record, [Strict, Any]);
        expect(extensions.size).toBeLessThanOrEqual(2);
        expect(extensions.has(Any)).toBe(Object.hasOwn(record, "__proto__"));
      } catch (error) {
        expect(error).toMatchObject({ code: "not-portable" });
      }
    },
  );
  await fc.assert(law, { numRuns: RUNS });
});

const countAll = (ends: ReadonlyMap<string, number>) => [...ends.values()].reduce((sum, count) => sum + count, 0);

/** A run that waits, so that its state has everything in it. */
async function pausedState(): Promise<RunState> {
  const result = await agentWith([
    {
      toolCalls: [
        { toolName: "pays", input: {} },
        { toolName: "loose", input: { a: 1 } },
      ],
    },
  ])
    .prompt("x")
    .session("s")
    .run();
  if (result.status !== "paused") throw new Error("did not pause");
  return JSON.parse(JSON.stringify(result.state));
}

function agentWith(script: Parameters<typeof scriptedModel>[0]): Agent {
  const pays = defineTool({ name: "pays", input: {}, needsApproval: true, call: () => "paid" });
  const loose = defineTool({ name: "loose", input: { type: "object" }, idempotent: true, call: () => "done" });
  return new Agent({ name: "a", model: scriptedModel(script), tools: [pays, loose] });
}

/** Puts a value in place of one part of a JSON tree; `steps` choose the way down. */
function replaced(tree: unknown, steps: readonly number[], value: unknown): unknown {
  if (steps.length === 0 || typeof tree !== "object" || tree === null) return value;
  const keys = Object.keys(tree);
  const key = keys[(steps[0] ?? 0) % Math.max(keys.length, 1)];
  if (key === undefined) return value;
  const copy = Array.isArray(tree) ? [...tree] : { ...tree };
  const part = replaced(Object(tree)[key], steps.slice(1), value);
  Object.defineProperty(copy, key, { value: part, enumerable: true, writable: true, configurable: true });
  return copy;
}

test("saved states: the run goes on, or is refused before anything runs", { timeout: 120_000 }, async () => {
  const state = await pausedState();
  const codes = new Map<string, number>();
  const law = fc.asyncProperty(
    fc.array(fc.nat(9), { maxLength: 5 }),
    anything,
    fc.boolean(),
    async (steps, value, isApproved) => {
      const broken = replaced(state, steps, value);
      const agent = agentWith(() => "done");
      let end = "ended";
      try {
        const request = agent.resume(broken as RunState);
        const pending = state.calls[0]?.toolCallId ?? "";
        end = (await (isApproved ? request.approve(pending) : request).run()).status;
      } catch (error) {
        end = ToolCallExtensionsError.is(error)
          ? error.code
          : expect.fail(`not a library error: ${error instanceof Error ? error.stack : String(error)}`);
      }
      codes.set(end, (codes.get(end) ?? 0) + 1);
      expect(["completed", "paused", "invalid-state", "unknown-call", "max-turns"]).toContain(end);
    },
  );
  await fc.assert(law, { numRuns: RUNS });
  expect(codes.get("invalid-state") ?? 0).toBeGreaterThan(countAll(codes) / 10);
});

test("answers of a model: the run goes on, or fails with model-failed", { timeout: 120_000 }, async () => {
  const whole: ModelResponse = {
    content: [
      { type: "text", text: "hm" },
      { type: "tool-call", toolCallId: "call_abc", toolName: "loose", input: { a: 1 }, providerData: { x: 1 } },
    ],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
  };
  const ends = new Map<string, number>();
  const law = fc.asyncProperty(fc.array(fc.nat(9), { maxLength: 4 }), anything, async (steps, value) => {
    let asked = 0;
    const broken = replaced(whole, steps, value) as ModelResponse;
    const model = {
      generate: async () => (asked++ === 0 ? broken : { content: [{ type: "text", text: "done" } as const] }),
    };
    const loose = defineTool({ name: "loose", input: { type: "object" }, call: () => "done" });
    let end: string;
    try {
      end = (await new Agent({ name: "a", model, tools: [loose] }).prompt("x").run()).status;
    } catch (error) {
      end = ToolCallExtensionsError.is(error)
        ? error.code
        : expect.fail(`not a library error: ${error instanceof Error ? error.stack : String(error)}`);
    }
    ends.set(end, (ends.get(end) ?? 0) + 1);
    expect(["completed", "model-failed"]).toContain(end);
  });
  await fc.assert(law, { numRuns: RUNS });
  expect(Math.min(ends.get("completed") ?? 0, ends.get("model-failed") ?? 0)).toBeGreaterThan(countAll(ends) / 20);
});
