import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import {
  type AnyExtensionToken,
  asReadable,
  assertInsertable,
  assertToken,
  type DefaultedExtensionToken,
  type ExtensionToken,
  frozenToken,
} from "./extension-token.ts";
import { missingExtension, missingTokens } from "./missing-extension.ts";
import type { KnownId, ToolCallExtensions } from "./tool-call-extensions.ts";

/** One older entry of a snapshot of a snapshot; newer entries shadow older ones, and all of them shadow the base. */
interface Entry {
  readonly token: AnyExtensionToken;
  readonly value: unknown;
  readonly next: Entry | undefined;
  readonly depth: number;
}

const READ_ONLY = 1;
/** The base is this instance's alone and is written in place; the slot and the overflow are then empty. */
const OWNS_BASE = 2;
/** Some entry's token declares `clone`, so that `clone()` has to look at them one by one. */
const CLONES = 4;

/** How long the overflow may grow by writing: so many entries are found in a list sooner than in a `Map`. */
const MAX_WRITTEN = 4;
/** And by deriving: room for agent → call → nested call → sub-agent on top, before every call pays a flat copy. */
const MAX_DERIVED = 8;

const EMPTY: ReadonlyMap<AnyExtensionToken, unknown> = /* @__PURE__ */ new Map();
/** Marks the empty slot; not `undefined`, so that a token which a cyclic import left undefined matches nothing. */
const NO_TOKEN: AnyExtensionToken = /* @__PURE__ */ frozenToken({
  kind: "extension-token",
  id: "",
  "~reserved": true,
});
const BRAND: unique symbol = Symbol.for("tool-call-extensions/map");

/**
 * Stores the entries so that the per-call path, snapshot plus one entry plus a few reads, is one small allocation at any
 * size: the newest entry sits inline, a `Map` shared between instances holds the rest, and a short list in between
 * serves snapshots of snapshots. `#private` fields keep values from printers, serialisers and `structuredClone`; five of
 * them make 64 bytes an instance. Private methods are static, because one on the instance costs every instance a sixth
 * field, and what `get` and `~bind` seldom need is apart, because V8 stops inlining into a caller after about 900
 * bytes of bytecode. `bench/map.bench.ts` has the alternatives.
 */
export class ExtensionMap<in Has extends string = never> implements ToolCallExtensions<Has> {
  declare readonly "~has"?: ((has: Has) => void) | undefined;
  #base: ReadonlyMap<AnyExtensionToken, unknown> = EMPTY;
  #token: AnyExtensionToken = NO_TOKEN;
  #value: unknown = undefined;
  #overflow: Entry | undefined = undefined;
  #flags = 0;

  static {
    // What `console.log` and `util.inspect` call in Node, Bun and Deno.
    const inspect = Symbol.for("nodejs.util.inspect.custom");
    const print = { value: ExtensionMap.prototype.toString };
    Object.defineProperties(ExtensionMap.prototype, { [BRAND]: { value: true }, [inspect]: print });
    Object.defineProperty(ExtensionMap, "name", { value: "ToolCallExtensions" });
  }

  get size(): number {
    return ExtensionMap.#flat(this).size;
  }

  get isEmpty(): boolean {
    return this.#token === NO_TOKEN && this.#overflow === undefined && this.#base.size === 0;
  }

  get isReadOnly(): boolean {
    return (this.#flags & READ_ONLY) !== 0;
  }

  get [Symbol.toStringTag](): string {
    return "ToolCallExtensions";
  }

  insert<Value>(token: ExtensionToken<string, Value>, value: NoInfer<Value>): Value | undefined {
    ExtensionMap.#assertWritable(this, "insert");
    assertInsertable(token);
    const displaced = this.has(token) ? this.get(token) : undefined;
    ExtensionMap.#write(this, token, value);
    return displaced;
  }

  get<Value>(token: DefaultedExtensionToken<Value>): Value;
  get<Value>(token: ExtensionToken<string, Value>): Value | undefined;
  get<Value>(token: ExtensionToken<string, Value>): Value | undefined {
    if (token === this.#token) return typed(token, this.#value);
    for (let entry = this.#overflow; entry !== undefined; entry = entry.next) {
      if (entry.token === token) return typed(token, entry.value);
    }
    const value = this.#base.get(token);
    return value === undefined ? getAbsent(this, token) : typed(token, value);
  }

  require<Id extends Has, Value>(token: ExtensionToken<Id, Value>): Value {
    const value = this.get(token);
    return value === undefined ? requireAbsent(this, token) : value;
  }

  has(token: AnyExtensionToken): boolean {
    if (token === this.#token) return true;
    for (let entry = this.#overflow; entry !== undefined; entry = entry.next) {
      if (entry.token === token) return true;
    }
    if (this.#base.has(token)) return true;
    assertToken(token);
    return false;
  }

  remove<Value>(token: ExtensionToken<string, Value>): Value | undefined {
    ExtensionMap.#assertWritable(this, "remove");
    if (!this.has(token)) return undefined;
    const value = this.get(token);
    ExtensionMap.#ownBase(this).delete(token);
    return value;
  }

  clear(): void {
    ExtensionMap.#assertWritable(this, "clear");
    ExtensionMap.#setBase(this, EMPTY);
    this.#flags = 0;
  }

  tokens(): readonly AnyExtensionToken[] {
    return [...ExtensionMap.#flat(this).keys()];
  }

  extend(other: ToolCallExtensions<never>): void {
    ExtensionMap.#assertWritable(this, "extend");
    if (!isExtensionMap(other)) throw invalidArgument("the argument of extend()", other, "a ToolCallExtensions");
    for (const token of other.tokens()) ExtensionMap.#write(this, token, other.get(asReadable(token)));
  }

  with<Id extends string, Value>(
    token: ExtensionToken<Id, Value>,
    value: NoInfer<Value>,
  ): ToolCallExtensions<Has | KnownId<Id>> {
    assertInsertable(token);
    if (this.#token !== token) ExtensionMap.#freeSlot(this, MAX_WRITTEN);
    const child = this["~bind"](token, value);
    child.#flags = (child.#flags & CLONES) | clonesFlag(token);
    return child;
  }

  expect<Id extends string>(...tokens: readonly AnyExtensionToken<Id>[]): ToolCallExtensions<Has | KnownId<Id>> {
    const missing = missingTokens(this, tokens);
    if (missing.length > 0) throw missingExtension(missing, this.tokens());
    // The check above is what the type claims.
    return this as ToolCallExtensions<Has | KnownId<Id>>;
  }

  clone(): ToolCallExtensions<Has> {
    const copy = this["~bind"](this.#token, this.#value);
    copy.#flags &= CLONES;
    if (copy.#flags === 0) return copy;
    const values = new Map<AnyExtensionToken, unknown>();
    // Listed first: a clone function may change this map.
    for (const [token, value] of [...ExtensionMap.#flat(this)]) {
      const { clone } = asReadable(token);
      values.set(token, clone === undefined ? value : clone(value));
    }
    ExtensionMap.#setBase(copy, values);
    copy.#flags |= OWNS_BASE;
    return copy;
  }

  snapshot(): ToolCallExtensions<Has> {
    return this["~bind"](this.#token, this.#value);
  }

  /**
   * One allocation while the slot is free or holds the same token, as it does for a call nested in a call. The dynamic type
   * fits every caller's; their signatures say what the child has. Takes the library's own tokens, which declare no
   * `clone`, or what the slot holds already: `with` counts in the others'.
   */
  "~bind"(token: AnyExtensionToken, value: unknown): ExtensionMap<string> {
    if (this.#token !== NO_TOKEN && this.#token !== token) ExtensionMap.#freeSlot(this, MAX_DERIVED);
    this.#flags &= ~OWNS_BASE;
    const child = new ExtensionMap<string>();
    child.#base = this.#base;
    child.#token = token;
    child.#value = value;
    child.#overflow = this.#overflow;
    child.#flags = (this.#flags & CLONES) | READ_ONLY;
    return child;
  }

  toJSON(): readonly string[] {
    return this.tokens().map((token) => token.id);
  }

  toString(): string {
    return `ToolCallExtensions(${this.toJSON().join(", ")})`;
  }

  /** Moves the slot's entry to the overflow, where all children share it, or both to a base once the overflow is full. */
  static #freeSlot(map: ExtensionMap<never>, maxDepth: number): void {
    if (map.#token === NO_TOKEN) return;
    if (depth(map.#overflow) >= maxDepth) {
      ExtensionMap.#setBase(map, ExtensionMap.#flat(map));
      return;
    }
    map.#overflow = ExtensionMap.#pushed(map);
    map.#token = NO_TOKEN;
    map.#value = undefined;
  }

  static #write(map: ExtensionMap<never>, token: AnyExtensionToken, value: unknown): void {
    map.#flags |= clonesFlag(token);
    const isSlotUsable = map.#token === NO_TOKEN || map.#token === token;
    if ((map.#flags & OWNS_BASE) !== 0 || (!isSlotUsable && depth(map.#overflow) >= MAX_WRITTEN)) {
      ExtensionMap.#ownBase(map).set(token, value);
      return;
    }
    if (!isSlotUsable) map.#overflow = ExtensionMap.#pushed(map);
    map.#token = token;
    map.#value = value;
  }

  static #pushed(map: ExtensionMap<never>): Entry {
    // A token written before every call replaces its entry instead of piling up.
    const next = map.#overflow?.token === map.#token ? map.#overflow.next : map.#overflow;
    return { token: map.#token, value: map.#value, next, depth: depth(next) + 1 };
  }

  static #setBase(map: ExtensionMap<never>, base: ReadonlyMap<AnyExtensionToken, unknown>): void {
    map.#base = base;
    map.#token = NO_TOKEN;
    map.#value = undefined;
    map.#overflow = undefined;
  }

  static #ownBase(map: ExtensionMap<never>): Map<AnyExtensionToken, unknown> {
    if ((map.#flags & OWNS_BASE) === 0) {
      ExtensionMap.#setBase(map, new Map(ExtensionMap.#flat(map)));
      map.#flags |= OWNS_BASE;
    }
    return writable(map.#base);
  }

  /** All entries in one Map, oldest first: the base itself where nothing lies above it. */
  static #flat(map: ExtensionMap<never>): ReadonlyMap<AnyExtensionToken, unknown> {
    const above = map.#token === NO_TOKEN ? [] : [{ token: map.#token, value: map.#value }];
    for (let entry = map.#overflow; entry !== undefined; entry = entry.next) above.push(entry);
    if (above.length === 0) return map.#base;
    const flat = new Map(map.#base);
    for (const { token, value } of above.reverse()) flat.set(token, value);
    return flat;
  }

  static #assertWritable(map: ExtensionMap<never>, operation: string): void {
    if ((map.#flags & READ_ONLY) === 0) return;
    throw new ToolCallExtensionsError(
      "read-only",
      `${operation}() on a snapshot: what a tool receives cannot be changed; clone() or with() gives a fresh map`,
      { operation },
    );
  }
}

export function isExtensionMap(value: unknown): value is ToolCallExtensions<string> {
  return typeof value === "object" && value !== null && BRAND in value;
}

/** What `get` gives where it found nothing or a stored `undefined`. */
function getAbsent<Value>(
  extensions: ToolCallExtensions<never>,
  token: ExtensionToken<string, Value>,
): Value | undefined {
  return extensions.has(token) || token.default === undefined ? undefined : token.default();
}

function requireAbsent<Value>(extensions: ToolCallExtensions<never>, token: ExtensionToken<string, Value>): Value {
  if (extensions.has(token) || token.default !== undefined) return typed(token, undefined);
  throw missingExtension([token], extensions.tokens());
}

function depth(overflow: Entry | undefined): number {
  return overflow === undefined ? 0 : overflow.depth;
}

function clonesFlag(token: AnyExtensionToken): number {
  return asReadable(token).clone === undefined ? 0 : CLONES;
}

/** The boundary from storage to types: `insert` and `with` took the value under this very token, so it has its type. */
function typed<Value>(_token: ExtensionToken<string, Value>, stored: unknown): Value {
  return stored as Value;
}

/** Called by the one instance that owns the Map. */
function writable<Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> {
  return map as Map<Key, Value>;
}
