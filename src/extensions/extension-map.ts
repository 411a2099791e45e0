import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import {
  type AnyExtensionToken,
  asReadable,
  assertInsertable,
  assertToken,
  type DefaultedExtensionToken,
  type ExtensionToken,
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
/** A child already carries the occupied slot as an overflow entry; the next child makes it worth flattening. */
const DERIVED = 4;
/** Some entry's token declares `clone`, so that `clone()` has to look at them one by one. */
const CLONES = 8;

/** Four, because a turn nests agent → call → nested call → sub-agent before a flat copy pays. */
const MAX_OVERFLOW = 4;

const EMPTY: ReadonlyMap<AnyExtensionToken, unknown> = /* @__PURE__ */ new Map();
/** Marks the empty slot; not `undefined`, so that a token which a cyclic import left undefined matches nothing. */
const NO_TOKEN: AnyExtensionToken = /* @__PURE__ */ Object.freeze({
  kind: "extension-token",
  id: "",
  "~reserved": true,
});
const BRAND: unique symbol = Symbol.for("tool-call-extensions/map");

/**
 * Stores the entries so that the per-call path, snapshot plus one entry plus a few reads, is one small allocation at any
 * size: the newest entry sits inline, a `Map` shared between instances holds the rest, and a short list in between
 * serves snapshots of snapshots. `#private` fields keep values from printers, serialisers and `structuredClone`; five of
 * them make 64 bytes an instance. `bench/map.bench.ts` has the alternatives.
 */
export class ExtensionMap<in Has extends string = never> implements ToolCallExtensions<Has> {
  declare readonly "~has"?: ((has: Has) => void) | undefined;
  #base: ReadonlyMap<AnyExtensionToken, unknown>;
  #token: AnyExtensionToken;
  #value: unknown;
  #overflow: Entry | undefined;
  #flags: number;

  static {
    // What `console.log` and `util.inspect` call in Node, Bun and Deno.
    const inspect = Symbol.for("nodejs.util.inspect.custom");
    const print = { value: ExtensionMap.prototype.toString };
    Object.defineProperties(ExtensionMap.prototype, { [BRAND]: { value: true }, [inspect]: print });
    Object.defineProperty(ExtensionMap, "name", { value: "ToolCallExtensions" });
  }

  constructor(
    base: ReadonlyMap<AnyExtensionToken, unknown> = EMPTY,
    token: AnyExtensionToken = NO_TOKEN,
    value?: unknown,
    overflow?: Entry,
    flags = 0,
  ) {
    this.#base = base;
    this.#token = token;
    this.#value = value;
    this.#overflow = overflow;
    this.#flags = flags;
  }

  get size(): number {
    return this.#flat().size;
  }

  get isEmpty(): boolean {
    return this.#token === NO_TOKEN && this.#base.size === 0;
  }

  get isReadOnly(): boolean {
    return (this.#flags & READ_ONLY) !== 0;
  }

  get [Symbol.toStringTag](): string {
    return "ToolCallExtensions";
  }

  insert<Value>(token: ExtensionToken<string, Value>, value: NoInfer<Value>): Value | undefined {
    this.#assertWritable("insert");
    assertInsertable(token);
    const displaced = this.#stored(token);
    this.#write(token, value);
    return typed(token, displaced);
  }

  get<Value>(token: DefaultedExtensionToken<Value>): Value;
  get<Value>(token: ExtensionToken<string, Value>): Value | undefined;
  get<Value>(token: ExtensionToken<string, Value>): Value | undefined {
    if (token === this.#token) return typed(token, this.#value);
    const value = this.#stored(token);
    if (value !== undefined || this.has(token) || token.default === undefined) return typed(token, value);
    return token.default();
  }

  require<Id extends Has, Value>(token: ExtensionToken<Id, Value>): Value {
    if (token === this.#token) return typed(token, this.#value);
    const value = this.#stored(token);
    if (value !== undefined || this.has(token)) return typed(token, value);
    if (token.default !== undefined) return token.default();
    throw missingExtension([token], this.tokens());
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
    this.#assertWritable("remove");
    if (!this.has(token)) return undefined;
    const value = this.#stored(token);
    this.#ownBase().delete(token);
    return typed(token, value);
  }

  clear(): void {
    this.#assertWritable("clear");
    this.#setBase(EMPTY);
    this.#flags = 0;
  }

  tokens(): readonly AnyExtensionToken[] {
    return [...this.#flat().keys()];
  }

  extend(other: ToolCallExtensions<never>): void {
    this.#assertWritable("extend");
    if (!isExtensionMap(other)) throw invalidArgument("the argument of extend()", other, "a ToolCallExtensions");
    for (const token of other.tokens()) this.#write(token, other.get(asReadable(token)));
  }

  with<Id extends string, Value>(
    token: ExtensionToken<Id, Value>,
    value: NoInfer<Value>,
  ): ToolCallExtensions<Has | KnownId<Id>> {
    assertInsertable(token);
    return this.#child(token, value, 0);
  }

  expect<Id extends string>(...tokens: readonly AnyExtensionToken<Id>[]): ToolCallExtensions<Has | KnownId<Id>> {
    const missing = missingTokens(this, tokens);
    if (missing.length > 0) throw missingExtension(missing, this.tokens());
    // The check above is what the type claims.
    return this as ToolCallExtensions<Has | KnownId<Id>>;
  }

  clone(): ToolCallExtensions<Has> {
    if ((this.#flags & CLONES) === 0) return this.#copy(0);
    const values = new Map<AnyExtensionToken, unknown>();
    // Listed first: a clone function may change this map.
    for (const [token, value] of [...this.#flat()]) {
      const { clone } = asReadable(token);
      values.set(token, clone === undefined ? value : clone(value));
    }
    return new ExtensionMap(values, NO_TOKEN, undefined, undefined, OWNS_BASE | CLONES);
  }

  snapshot(): ToolCallExtensions<Has> {
    return this.#copy(READ_ONLY);
  }

  "~bind"(token: AnyExtensionToken, value: unknown): ToolCallExtensions<Has> {
    return this.#child(token, value, READ_ONLY);
  }

  toJSON(): readonly string[] {
    return this.tokens().map((token) => token.id);
  }

  toString(): string {
    return `ToolCallExtensions(${this.toJSON().join(", ")})`;
  }

  /** The stored value, or `undefined` where there is none: only `has` tells absence from a stored `undefined`. */
  #stored(token: AnyExtensionToken): unknown {
    if (token === this.#token) return this.#value;
    for (let entry = this.#overflow; entry !== undefined; entry = entry.next) {
      if (entry.token === token) return entry.value;
    }
    return this.#base.get(token);
  }

  #copy(flags: number): ExtensionMap<Has> {
    this.#flags &= ~OWNS_BASE;
    return new ExtensionMap(this.#base, this.#token, this.#value, this.#overflow, flags | (this.#flags & CLONES));
  }

  /**
   * One allocation while the slot is free or holds the same token, as it does for a call nested in a call. The dynamic type
   * fits every caller's; their signatures say what the child has.
   */
  #child(token: AnyExtensionToken, value: unknown, flags: number): ExtensionMap<string> {
    const inherited = flags | (this.#flags & CLONES) | clonesFlag(token);
    this.#flags &= ~OWNS_BASE;
    if (this.#token !== NO_TOKEN && this.#token !== token) {
      if ((this.#flags & DERIVED) === 0 && !this.#isOverflowFull()) {
        this.#flags |= DERIVED;
        return new ExtensionMap(this.#base, token, value, this.#pushed(), inherited);
      }
      this.#setBase(this.#flat());
    }
    return new ExtensionMap(this.#base, token, value, this.#overflow, inherited);
  }

  #write(token: AnyExtensionToken, value: unknown): void {
    this.#flags |= clonesFlag(token);
    const isSlotUsable = this.#token === NO_TOKEN || this.#token === token;
    if ((this.#flags & OWNS_BASE) !== 0 || (!isSlotUsable && this.#isOverflowFull())) {
      this.#ownBase().set(token, value);
      return;
    }
    if (!isSlotUsable) this.#overflow = this.#pushed();
    this.#token = token;
    this.#value = value;
    this.#flags &= ~DERIVED;
  }

  #pushed(): Entry {
    return { token: this.#token, value: this.#value, next: this.#overflow, depth: (this.#overflow?.depth ?? 0) + 1 };
  }

  #isOverflowFull(): boolean {
    return this.#overflow !== undefined && this.#overflow.depth >= MAX_OVERFLOW;
  }

  #setBase(base: ReadonlyMap<AnyExtensionToken, unknown>): void {
    this.#base = base;
    this.#token = NO_TOKEN;
    this.#value = undefined;
    this.#overflow = undefined;
  }

  #ownBase(): Map<AnyExtensionToken, unknown> {
    if ((this.#flags & OWNS_BASE) === 0) {
      this.#setBase(new Map(this.#flat()));
      this.#flags = (this.#flags | OWNS_BASE) & ~DERIVED;
    }
    return writable(this.#base);
  }

  /** All entries in one Map, oldest first: the base itself where nothing lies above it. */
  #flat(): ReadonlyMap<AnyExtensionToken, unknown> {
    if (this.#token === NO_TOKEN) return this.#base;
    const above = [{ token: this.#token, value: this.#value }];
    for (let entry = this.#overflow; entry !== undefined; entry = entry.next) above.push(entry);
    const flat = new Map(this.#base);
    for (const { token, value } of above.reverse()) flat.set(token, value);
    return flat;
  }

  #assertWritable(operation: string): void {
    if ((this.#flags & READ_ONLY) === 0) return;
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
