import fc from "fast-check";
import {
  type ExtensionToken,
  extensionToken,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
} from "tool-call-extensions";
import { describe, expect, it } from "vitest";

type Token = ExtensionToken<string, unknown>;
type Extensions = ToolCallExtensions<string>;
type Model = Map<Token, unknown>;
type Entries = readonly (readonly [Token, unknown])[];

const BINDABLE: readonly Token[] = [
  ...["a", "b", "c", "d", "e", "__proto__"].map((id) => extensionToken(id).of<unknown>()),
  extensionToken("a").of<unknown>(), // another token than the first, under its id
  extensionToken.shared("test/law").of<unknown>(),
  extensionToken("defaulted").of<unknown>({ default: () => "the default" }),
];
// A clone adds, so that cloning twice or not at all shows. Dispatch binds none of these.
const CLONED: readonly Token[] = ["f", "g", "h"].map((id) =>
  extensionToken(id).of<unknown>({ clone: (value) => (typeof value === "number" ? value + 1000 : value) }),
);
const TOKENS: readonly Token[] = [...BINDABLE, ...CLONED];
// Every token is a full one at run time.
const RESERVED = ToolInvocationContext as Token;
const READABLE: readonly Token[] = [...TOKENS, RESERVED];

/** A map beside the native `Map` that says what it must hold. */
interface Pair {
  readonly map: Extensions;
  readonly model: Model;
  readonly isReadOnly: boolean;
}

interface Step {
  readonly token: Token;
  readonly bound: Token;
  readonly value: unknown;
  readonly other: Pair;
}

interface Draw extends Omit<Step, "other"> {
  readonly name: string;
  readonly index: number;
  readonly otherIndex: number;
}

/** The same operation on a map and on its model. */
interface Operation<Result> {
  real(map: Extensions, step: Step): Result;
  mirror(model: Model, step: Step): Result extends Extensions ? Model : unknown;
}

function modelGet(model: Model, token: Token): unknown {
  return model.has(token) ? model.get(token) : token.default?.();
}

function modelClone(model: Model): Model {
  return new Map([...model].map(([token, value]) => [token, token.clone === undefined ? value : token.clone(value)]));
}

function resultOrCode(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    if (ToolCallExtensionsError.is(error)) return error.code;
    throw error;
  }
}

const READS: Readonly<Record<string, Operation<unknown>>> = {
  has: { real: (map, { token }) => map.has(token), mirror: (model, { token }) => model.has(token) },
  get: { real: (map, { token }) => map.get(token), mirror: (model, { token }) => modelGet(model, token) },
  require: {
    real: (map, { token }) => resultOrCode(() => map.require(token)),
    mirror: (model, { token }) =>
      model.has(token) || token.default !== undefined ? modelGet(model, token) : "missing-extension",
  },
};

const WRITES: Readonly<Record<string, Operation<unknown>>> = {
  insert: {
    real: (map, { token, value }) => map.insert(token, value),
    mirror(model, { token, value }) {
      const displaced = model.get(token);
      model.set(token, value);
      return displaced;
    },
  },
  remove: {
    real: (map, { token }) => map.remove(token),
    mirror(model, { token }) {
      const removed = model.get(token);
      model.delete(token);
      return removed;
    },
  },
  clear: { real: (map) => map.clear(), mirror: (model) => model.clear() },
  extend: {
    real: (map, { other }) => map.extend(other.map),
    mirror(model, { other }) {
      for (const [token, value] of other.model) model.set(token, value);
    },
  },
};

const DERIVATIONS: Readonly<Record<string, Operation<Extensions> & { readonly isReadOnly: boolean }>> = {
  with: {
    isReadOnly: false,
    real: (map, { token, value }) => map.with(token, value),
    mirror: (model, { token, value }) => new Map(model).set(token, value),
  },
  clone: { isReadOnly: false, real: (map) => map.clone(), mirror: modelClone },
  snapshot: { isReadOnly: true, real: (map) => map.snapshot(), mirror: (model) => new Map(model) },
  bind: {
    isReadOnly: true,
    real: (map, { bound, value }) => map["~bind"](bound, value),
    mirror: (model, { bound, value }) => new Map(model).set(bound, value),
  },
};

function same(actual: unknown, expected: unknown, what: string, of = ""): void {
  if (!Object.is(actual, expected)) throw new Error(`${what} ${of}: ${String(actual)} instead of ${String(expected)}`);
}

/** Everything that can be read of one instance, the order of its tokens aside. */
function compare({ map, model, isReadOnly }: Pair): void {
  for (const token of READABLE) {
    same(map.has(token), model.has(token), "has", token.id);
    same(map.get(token), modelGet(model, token), "get", token.id);
  }
  same(map.size, model.size, "size");
  same(map.isEmpty, model.size === 0, "isEmpty");
  same(map.isReadOnly, isReadOnly, "isReadOnly");
  const tokens = map.tokens();
  const distinct = new Set<unknown>(tokens);
  same(tokens.length, model.size, "number of tokens");
  for (const token of model.keys()) same(distinct.has(token), true, "listed", token.id);
}

/** Does one operation and gives the pair it made, if it makes one. */
function perform(name: string, pair: Pair, step: Step): Pair | undefined {
  const { map, model, isReadOnly } = pair;
  const derivation = DERIVATIONS[name];
  if (derivation !== undefined)
    return { ...derivation, map: derivation.real(map, step), model: derivation.mirror(model, step) };
  const write = WRITES[name];
  if (write !== undefined && isReadOnly)
    same(
      resultOrCode(() => write.real(map, step)),
      "read-only",
      name,
    );
  const operation = isReadOnly ? READS[name] : (write ?? READS[name]);
  if (operation !== undefined) same(operation.real(map, step), operation.mirror(model, step), name);
  return undefined;
}

const token = fc.constantFrom(...TOKENS);
const value = fc.option(fc.nat(99), { nil: undefined });
const draw: fc.Arbitrary<Draw> = fc.record({
  // Some are drawn more often, so that instances grow past every internal limit.
  name: fc.constantFrom(
    ...[READS, WRITES, DERIVATIONS].flatMap(Object.keys),
    ...["insert", "insert", "insert", "with", "bind"],
  ),
  // Taken modulo the number of live instances, which is not known beforehand.
  index: fc.nat(999),
  otherIndex: fc.nat(999),
  token,
  bound: fc.constantFrom(...BINDABLE, RESERVED),
  value,
});
const program = fc.array(draw, { maxLength: 60, size: "max" });

const entries = fc.array(fc.tuple(token, value), { maxLength: 20, size: "max" });

/** Runs a program from two empty maps and gives all live instances after each operation. */
function* play(draws: readonly Draw[]): Generator<readonly Pair[]> {
  const empty = (): Pair => ({ map: new ToolCallExtensions<string>(), model: new Map(), isReadOnly: false });
  const live = [empty(), empty()];
  for (const { name, index, otherIndex, ...step } of draws) {
    const pair = live[index % live.length] ?? empty();
    const made = perform(name, pair, { ...step, other: live[otherIndex % live.length] ?? empty() });
    if (made !== undefined) live.push(made);
    yield live;
  }
}

function insertAll(map: Extensions, list: Entries): Extensions {
  for (const [token, value] of list) map.insert(token, value);
  return map;
}

function mapOf(list: Entries): Extensions {
  return insertAll(new ToolCallExtensions<string>(), list);
}

/** All that can be read of a map, to compare it with itself later. */
function contents(map: Extensions): readonly unknown[] {
  return [map.size, map.tokens(), ...TOKENS.map((token) => [map.has(token), map.get(token)])];
}

describe("random operations on many instances", () => {
  it("leave every live instance with what its own model holds, after each operation", () => {
    const law = fc.property(program, (draws) => {
      for (const live of play(draws)) live.forEach(compare);
    });
    fc.assert(law, { numRuns: 2000 });
  });

  it("come to the same when nobody reads in between", () => {
    const law = fc.property(program, (draws) => {
      const [live] = [...play(draws)].slice(-1);
      live?.forEach(compare);
    });
    fc.assert(law, { numRuns: 1000 });
  });
});

describe("for every map", () => {
  it("get and require give what was inserted last", () => {
    const law = fc.property(entries, token, value, (list, token, value) => {
      const map = mapOf(list);
      map.insert(token, value);
      expect([map.has(token), map.get(token), map.require(token)]).toEqual([true, value, value]);
    });
    fc.assert(law);
  });

  it("insert gives back what was stored before, and changes no other token", () => {
    const law = fc.property(entries, token, value, (list, token, value) => {
      const map = mapOf(list);
      const before = new Map(TOKENS.map((token) => [token, map.get(token)]));
      const stored = map.has(token) ? map.get(token) : undefined;
      expect(map.insert(token, value)).toBe(stored);
      for (const other of TOKENS) if (other !== token) expect(map.get(other)).toBe(before.get(other));
    });
    fc.assert(law);
  });

  it("with gives what clone and insert give where no token declares clone", () => {
    const plain = entries.map((list) => list.filter(([token]) => token.clone === undefined));
    const law = fc.property(plain, token, value, (list, token, value) => {
      const copy = mapOf(list).clone();
      copy.insert(token, value);
      expect(contents(mapOf(list).with(token, value))).toEqual(contents(copy));
    });
    fc.assert(law);
  });

  it("extend gives the other map's entry where it has one, else its own", () => {
    const law = fc.property(entries, entries, (mine, theirs) => {
      const map = mapOf(mine);
      map.extend(mapOf(theirs));
      expect(contents(map)).toEqual(contents(mapOf([...mine, ...theirs])));
    });
    fc.assert(law);
  });

  it("a clone and its original never see each other's changes", () => {
    const law = fc.property(entries, entries, entries, (list, mine, theirs) => {
      const original = mapOf(list);
      const copy = original.clone();
      const copied = contents(copy);
      insertAll(original, mine);
      expect(contents(copy)).toEqual(copied);
      const changed = contents(original);
      insertAll(copy, theirs);
      copy.clear();
      expect(contents(original)).toEqual(changed);
    });
    fc.assert(law);
  });

  it("a snapshot stays as it was taken", () => {
    const law = fc.property(entries, entries, (list, later) => {
      const original = mapOf(list);
      const before = contents(original);
      const snapshot = original.snapshot();
      insertAll(original, later);
      original.clear();
      expect(contents(snapshot)).toEqual(before);
    });
    fc.assert(law);
  });
});
