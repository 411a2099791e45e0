import { ExtensionMap, isExtensionMap } from "./extension-map.ts";
import type { AnyExtensionToken, DefaultedExtensionToken, ExtensionToken } from "./extension-token.ts";

/**
 * Holds the private values of one prompt or one tool call, keyed by typed tokens.
 *
 * `Has` is the union of the token ids known to be present; a map with more is assignable where fewer are asked for, and
 * `ToolCallExtensions<string>` is the dynamic map, accepted everywhere and checked at run time. What a tool receives is
 * a read-only snapshot; `with` and `clone` give a fresh, writable map. Values are kept by reference and never printed.
 */
export interface ToolCallExtensions<in Has extends string = never> {
  /** Carries `Has` for the compiler; never present at run time. */
  readonly "~has"?: ((has: Has) => void) | undefined;

  /** The number of entries; a token's default is not an entry. */
  readonly size: number;
  readonly isEmpty: boolean;
  readonly isReadOnly: boolean;

  /**
   * Stores a value, `undefined` included, and gives back the one it displaced.
   *
   * @throws ToolCallExtensionsError `read-only` on a snapshot, `reserved-token` for an entry the library makes itself.
   */
  insert<Value>(token: ExtensionToken<string, Value>, value: NoInfer<Value>): Value | undefined;

  /** Reads a value: the inserted one, else the token's default, else `undefined`. */
  get<Value>(token: DefaultedExtensionToken<Value>): Value;
  get<Value>(token: ExtensionToken<string, Value>): Value | undefined;

  /**
   * Reads a value that must be there; asking for a token outside `Has` does not compile.
   *
   * @throws ToolCallExtensionsError `missing-extension`, naming the token and the ids that are present.
   */
  require<Id extends Has, Value>(token: ExtensionToken<Id, Value>): Value;

  /** Tells whether the token was inserted; a stored `undefined` counts, a default does not. */
  has(token: AnyExtensionToken): boolean;

  /** Takes an entry out and gives its value back. @throws ToolCallExtensionsError `read-only` on a snapshot. */
  remove<Value>(token: ExtensionToken<string, Value>): Value | undefined;

  /** Takes every entry out. @throws ToolCallExtensionsError `read-only` on a snapshot. */
  clear(): void;

  /** Lists the tokens that have an entry, oldest first. */
  tokens(): readonly AnyExtensionToken[];

  /** Copies the entries of another map into this one; where both have a token, the other wins. */
  extend(other: ToolCallExtensions<never>): void;

  /** Makes a writable map with this map's entries and one more; leaves this map as it is. */
  with<Id extends string, Value>(
    token: ExtensionToken<Id, Value>,
    value: NoInfer<Value>,
  ): ToolCallExtensions<Has | KnownId<Id>>;

  /**
   * Checks at run time what the compiler cannot know of a dynamic map, and gives the same map with the proof in its type.
   *
   * @throws ToolCallExtensionsError `missing-extension`, naming every token that is absent.
   */
  expect<Id extends string>(
    first: AnyExtensionToken<Id>,
    ...others: readonly AnyExtensionToken<Id>[]
  ): ToolCallExtensions<Has | KnownId<Id>>;

  /** Makes an independent, writable map; values are shared unless their token declares `clone`. */
  clone(): ToolCallExtensions<Has>;

  /** Makes an independent, read-only map in constant time; values are shared. */
  snapshot(): ToolCallExtensions<Has>;

  /** Gives the token ids, never the values. */
  toJSON(): readonly string[];
  toString(): string;

  /** Snapshots and adds one entry in a single allocation: what dispatch does for every call. Reserved tokens pass. */
  "~bind"(token: AnyExtensionToken, value: unknown): ToolCallExtensions<Has>;
}

/** An id known only as `string` proves the presence of no particular token. */
export type KnownId<Id extends string> = string extends Id ? never : Id;

interface ToolCallExtensionsConstructor {
  /** Makes an empty map that `with` fills and the compiler tracks. Apart from the other, so that no expected type fills it. */
  new (): ToolCallExtensions;
  /** Makes a dynamic map, `new ToolCallExtensions<string>()`: `insert` fills it, run-time checks guard it. */
  new <Has extends string>(...dynamicOnly: string extends Has ? [] : [never]): ToolCallExtensions<Has>;
  /** Recognises maps of every copy of the package. */
  is(value: unknown): value is ToolCallExtensions<string>;
}

/**
 * Makes an empty map.
 *
 * @example
 * ```ts
 * import { extensionToken, ToolCallExtensions } from "tool-call-extensions";
 *
 * const SessionId = extensionToken("session-id").of<string>();
 * const extensions = new ToolCallExtensions();
 * if (extensions.insert(SessionId, "s-1") !== undefined) throw new Error("something was there before");
 * if (extensions.insert(SessionId, "s-2") !== "s-1") throw new Error("the displaced value is lost");
 *
 * const snapshot = extensions.snapshot();
 * extensions.insert(SessionId, "s-3");
 * if (snapshot.get(SessionId) !== "s-2") throw new Error("the snapshot is not independent");
 * if (JSON.stringify(snapshot) !== '["session-id"]') throw new Error("a value was printed");
 * ```
 */
export const ToolCallExtensions: ToolCallExtensionsConstructor = /* @__PURE__ */ Object.assign(ExtensionMap, {
  is: isExtensionMap,
});
