import type { StandardSchemaV1 } from "@standard-schema/spec";
import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { processWide } from "../process-wide.ts";

/** A token whose value type does not matter: enough to ask for presence, to list and to declare needs. */
export interface AnyExtensionToken<out Id extends string = string> {
  readonly kind: "extension-token";
  /** Shown in errors and printouts; two tokens with one id stay two tokens. */
  readonly id: string;
  /** Carries the literal id for the compiler; absent at run time. A function, so that `never` is inferred as such. */
  readonly "~id": () => Id;
  /** The library's own entries, which a caller cannot insert. */
  readonly "~reserved": boolean;
}

/**
 * Names one value in a {@link ToolCallExtensions} and carries its type.
 *
 * The token object itself is the key. `Id` is what the compiler computes with: a run that lacks the token does not
 * compile, and the message contains the id. Invariant in `Value`.
 */
export interface ExtensionToken<out Id extends string, in out Value> extends AnyExtensionToken<Id> {
  /** Validates the value where it crosses a process; without one the value never leaves. */
  readonly schema: StandardSchemaV1<unknown, Value> | undefined;
  readonly clone: ((value: Value) => Value) | undefined;
  readonly default: (() => Value) | undefined;
}

/** A token that always has a value, so nobody has to provide one. */
export interface DefaultedExtensionToken<in out Value> extends ExtensionToken<never, Value> {
  readonly default: () => Value;
}

interface TokenOptions<Value> {
  /** Gives the value where none was inserted; called on every such read, its result is not stored. */
  readonly default?: (() => NoInfer<Value>) | undefined;
  /** Copies the value in `clone()`; without it a clone shares the value. Snapshots always share. */
  readonly clone?: ((value: Value) => NoInfer<Value>) | undefined;
}

interface Defaulted<Value> extends TokenOptions<Value> {
  readonly default: () => Value;
}

/** The second half of {@link extensionToken}: takes the value's type, from a type argument or a schema. */
interface ExtensionTokenBuilder<Id extends string> {
  of<Value>(
    schema: StandardSchemaV1<unknown, Value>,
    options: Defaulted<NoInfer<Value>>,
  ): DefaultedExtensionToken<Value>;
  of<Value>(schema: StandardSchemaV1<unknown, Value>, options?: TokenOptions<Value>): ExtensionToken<Id, Value>;
  of<Value>(options: Defaulted<Value>): DefaultedExtensionToken<Value>;
  of<Value>(options?: TokenOptions<Value>): ExtensionToken<Id, Value>;
}

interface ExtensionTokenFunction {
  <const Id extends string>(id: Id): ExtensionTokenBuilder<Id>;
  /**
   * Gives the same token object to everyone in the process who asks for this id, so that two copies or versions of
   * a package meet. The first caller's schema and options hold.
   */
  shared<const Id extends string>(id: Id): ExtensionTokenBuilder<Id>;
}

/**
 * Makes a token. Two steps, because TypeScript cannot infer the literal id and take the value's type in one call.
 *
 * @throws ToolCallExtensionsError `invalid-argument` when the id is not a non-empty string.
 * @example
 * ```ts
 * import { extensionToken, ToolCallExtensions } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const SessionId = extensionToken("session-id").of<string>(); // a live value: stays in this process
 * const Tenant = extensionToken("com.example/tenant").of(z.string()); // has a schema: may cross when told to
 * const Limit = extensionToken("limit").of({ default: () => 10 }); // always has a value
 *
 * const extensions = new ToolCallExtensions().with(SessionId, "s-1").with(Tenant, "t-7");
 * if (extensions.require(SessionId) !== "s-1") throw new Error("lost");
 * if (extensions.get(Limit) !== 10) throw new Error("no default");
 * ```
 */
export const extensionToken: ExtensionTokenFunction = /* @__PURE__ */ Object.assign(
  <const Id extends string>(id: Id) => tokenBuilder(id, createToken),
  { shared: <const Id extends string>(id: Id) => tokenBuilder(id, sharedToken) },
);

interface TokenParts {
  readonly schema?: StandardSchemaV1<unknown, unknown> | undefined;
  readonly default?: (() => unknown) | undefined;
  readonly clone?: ((value: never) => unknown) | undefined;
  readonly reserved?: boolean | undefined;
}

type MakeToken = (id: string, parts: TokenParts) => AnyExtensionToken;
type Build = (first: StandardSchemaV1 | TokenParts | undefined, second?: TokenParts) => AnyExtensionToken;

function sharedToken(id: string, parts: TokenParts): AnyExtensionToken {
  const registry = processWide("shared-tokens", () => new Map<string, AnyExtensionToken>());
  const token = registry.get(id) ?? createToken(id, parts);
  registry.set(id, token);
  return token;
}

/** Makes one of the library's own tokens: shared between copies of the package, and refused by `insert` and `with`. */
export function reservedToken<Id extends string, Value>(id: Id): ExtensionToken<Id, Value> {
  const build: Build = () => sharedToken(id, { reserved: true });
  return typedBuild<Id>(build)<Value>();
}

function createToken(id: string, parts: TokenParts): AnyExtensionToken {
  return frozenToken({
    kind: "extension-token",
    id,
    schema: parts.schema,
    clone: parts.clone,
    default: parts.default,
    "~reserved": parts.reserved ?? false,
  });
}

/** The boundary where a token gets the member that only the compiler sees. */
export function frozenToken(parts: Omit<AnyExtensionToken, "~id"> & TokenParts): AnyExtensionToken {
  return Object.freeze(parts) as AnyExtensionToken;
}

function tokenBuilder<Id extends string>(id: Id, make: MakeToken): ExtensionTokenBuilder<Id> {
  if (typeof id !== "string" || id === "") throw invalidArgument("the token's id", id, "a non-empty string");
  const of: Build = (first, second) =>
    isStandardSchema(first)
      ? make(id, { ...checkOptions(id, second), schema: first })
      : make(id, checkOptions(id, first));
  return { of: typedBuild(of) };
}

function checkOptions(id: string, options: TokenParts | undefined): TokenParts {
  if (options === undefined) return {};
  if (Object.prototype.toString.call(options) !== "[object Object]") {
    throw invalidArgument(
      `the argument of .of() for token "${id}"`,
      options,
      "a Standard Schema, or { default, clone }",
    );
  }
  const { default: makeDefault, clone, ...others } = options;
  for (const name of Object.keys(others)) {
    throw invalidArgument(`option "${name}" of token "${id}"`, options, "one of default, clone");
  }
  for (const [name, part] of Object.entries({ default: makeDefault, clone })) {
    if (part !== undefined && typeof part !== "function") {
      throw invalidArgument(`option "${name}" of token "${id}"`, part, "a function");
    }
  }
  return { default: makeDefault, clone };
}

export function isStandardSchema(value: unknown): value is StandardSchemaV1<unknown, unknown> {
  return (typeof value === "object" || typeof value === "function") && value !== null && "~standard" in value;
}

/** The boundary where an untyped token gets its type: the caller's type argument or schema is the only witness. */
function typedBuild<Id extends string>(build: Build): ExtensionTokenBuilder<Id>["of"] {
  return build as ExtensionTokenBuilder<Id>["of"];
}

export function assertToken(token: AnyExtensionToken): void {
  if (token?.kind === "extension-token") return;
  // Boxed, so that the error gives no number away: where arguments were swapped, this is the value.
  const received: unknown = typeof token === "number" ? Object(token) : token;
  throw invalidArgument("the token", received, "made by extensionToken(id).of()");
}

export function assertInsertable(token: AnyExtensionToken): void {
  assertToken(token);
  if (!token["~reserved"]) return;
  throw new ToolCallExtensionsError(
    "reserved-token",
    `"${token.id}" is made by the library for every call and cannot be inserted; read it inside a tool`,
    { tokenId: token.id },
  );
}

/** Every token is a full one at run time; `AnyExtensionToken` only hides the invariant value type. */
export function asReadable(token: AnyExtensionToken): ExtensionToken<string, unknown> {
  return token as ExtensionToken<string, unknown>;
}
