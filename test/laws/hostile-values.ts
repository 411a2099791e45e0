import fc from "fast-check";
import { ToolCallExtensionsError } from "tool-call-extensions";
import { afterEach, expect } from "vitest";

// What the laws of hostile input share: the inputs, how many of them each boundary gets, and what none of them may do.

/** The inputs of each boundary; `hostile-input.test.ts` sums them up. */
export const INPUTS = {
  arguments: 20_000,
  "answers of a model": 10_000,
  "provider ids": 10_000,
  "tool names": 10_000,
  "names and schemas of an MCP server": 5_000,
  "results of an MCP server": 5_000,
  "_meta of an MCP client": 5_000,
  "session keys and turn ids": 5_000,
  "portable extensions": 15_000,
  "paused states": 10_000,
  "checkpointed states": 10_000,
} as const;

export const names: fc.Arbitrary<string> = fc.constantFrom(
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
export const text: fc.Arbitrary<string> = fc.oneof(
  fc.string(),
  names,
  fc.string({ unit: "binary" }),
  fc.constantFrom("\ud800", "\ud801", "\u0000", "\udfff\ud800", "x".repeat(100_000), "a\r\nb: c"),
);
export const deep: fc.Arbitrary<string> = fc
  .integer({ min: 1, max: 5_000 })
  .map((depth) => `${"[".repeat(depth)}${"]".repeat(depth)}`);

const tied = fc.letrec<{ json: unknown; list: unknown; record: unknown }>((tie) => ({
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
  record: fc.array(fc.tuple(names, tie("json")), { maxLength: 4 }).map((entries) => JSON.parse(objectText(entries))),
}));
/** Any JSON, with the keys that objects have by themselves. */
export const json: fc.Arbitrary<unknown> = tied.json;
/** And what no JSON holds. */
export const anything: fc.Arbitrary<unknown> = fc.oneof(
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

/** JSON text, in which a key may stand more than once. */
export function objectText(entries: readonly (readonly [string, unknown])[]): string {
  return `{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`;
}

/** Puts a value in place of one part of a JSON tree; `steps` choose the way down. */
export function replaced(tree: unknown, steps: readonly number[], value: unknown): unknown {
  if (steps.length === 0 || typeof tree !== "object" || tree === null) return value;
  const keys = Object.keys(tree);
  const key = keys[(steps[0] ?? 0) % Math.max(keys.length, 1)];
  if (key === undefined) return value;
  const copy = Array.isArray(tree) ? [...tree] : { ...tree };
  const part = replaced(Object(tree)[key], steps.slice(1), value);
  Object.defineProperty(copy, key, { value: part, enumerable: true, writable: true, configurable: true });
  return copy;
}

/** Tries a boundary with all its inputs, each of which has ten seconds, and prints how many they were. */
export async function tryAll<Input>(
  boundary: keyof typeof INPUTS,
  inputs: fc.Arbitrary<Input>,
  check: (input: Input) => Promise<void> | void,
): Promise<void> {
  let tried = 0;
  const law = fc.asyncProperty(inputs, async (input) => {
    tried++;
    await check(input);
  });
  await fc.assert(law, { numRuns: INPUTS[boundary], timeout: 10_000 });
  expect(tried).toBe(INPUTS[boundary]);
  console.log(`${tried} hostile inputs: ${boundary}`);
}

/** Gives the code of a library error; anything else that was thrown is a crash. */
export function codeOf(thrown: unknown): string {
  if (ToolCallExtensionsError.is(thrown)) return thrown.code;
  return expect.fail(`not a library error: ${thrown instanceof Error ? thrown.stack : String(thrown)}`);
}

/** Counts what became of the inputs, so that a law can tell that it met every end. */
export class Ends {
  readonly #counts = new Map<string, number>();

  add(end: string, known: readonly string[]): void {
    if (!known.includes(end)) expect(known).toContain(end);
    this.#counts.set(end, this.of(end) + 1);
  }

  of(end: string): number {
    return this.#counts.get(end) ?? 0;
  }
}

const PROTOTYPES: readonly object[] = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Map.prototype,
  Promise.prototype,
  Error.prototype,
];
const keysOf = () => PROTOTYPES.map((prototype) => Reflect.ownKeys(prototype));

/** After each test of a file: nothing of it all has reached a prototype. */
export function guardPrototypes(): void {
  const before = keysOf();
  afterEach(() => expect(keysOf()).toEqual(before));
}
