import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonValue } from "type-fest";
import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { type AnyExtensionToken, asReadable } from "./extension-token.ts";
import { ToolCallExtensions } from "./tool-call-extensions.ts";

/**
 * Encodes the named tokens' values as JSON, keyed by token id; tokens that are not present are left out.
 *
 * Each value goes through its token's schema, so that what the schema strips does not leave. Errors say where a value did
 * not fit, never what it is.
 *
 * @throws ToolCallExtensionsError `not-portable` when a token has no schema, or its value does not fit it or is not JSON.
 * @example
 * ```ts
 * import { encodeExtensions, extensionToken, ToolCallExtensions } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const Tenant = extensionToken("com.example/tenant").of(z.object({ id: z.string() }));
 * const ApiKey = extensionToken("api-key").of<string>();
 * const extensions = new ToolCallExtensions().with(Tenant, { id: "t-7" }).with(ApiKey, "s3cret");
 *
 * const json = JSON.stringify(await encodeExtensions(extensions, [Tenant]));
 * if (json !== '{"com.example/tenant":{"id":"t-7"}}') throw new Error(json);
 * ```
 */
export async function encodeExtensions(
  extensions: ToolCallExtensions<never>,
  tokens: readonly AnyExtensionToken[],
): Promise<Readonly<Record<string, JsonValue>>> {
  // Without a prototype, so that an id `__proto__` is a key.
  const encoded: Record<string, JsonValue> = Object.create(null);
  for (const token of tokens) {
    if (extensions.has(token)) encoded[token.id] = await encode(token, extensions.get(asReadable(token)));
  }
  return encoded;
}

/** The longest JSON text of one value that {@link decodeExtensions} takes, in UTF-16 code units. */
const MAX_INBOUND_TEXT = 16_384;

/**
 * Reads the named tokens' values from JSON that came from outside, keyed by token id: each is validated by its token's
 * schema, and everything else in it is ignored. What is not there is left out.
 *
 * @throws ToolCallExtensionsError `not-portable` when a token has no schema, or its value does not fit it or takes more than
 * 16,384 characters of JSON; `invalid-argument` when the JSON is no object. The message never holds the value.
 * @example
 * ```ts
 * import { decodeExtensions, extensionToken } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const Tenant = extensionToken("com.example/tenant").of(z.string());
 * const json: Record<string, unknown> = JSON.parse('{ "com.example/tenant": "t-7", "role": "admin" }');
 * const extensions = await decodeExtensions(json, [Tenant]);
 * if (extensions.get(Tenant) !== "t-7" || extensions.size !== 1) throw new Error("took more than was allowed");
 * ```
 */
export async function decodeExtensions(
  json: Readonly<Record<string, unknown>>,
  tokens: readonly AnyExtensionToken[],
): Promise<ToolCallExtensions<string>> {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw invalidArgument("the JSON of the extensions", json, "an object, keyed by token id");
  }
  const extensions = new ToolCallExtensions<string>();
  for (const token of tokens) {
    if (!Object.hasOwn(json, token.id)) continue;
    const value = json[token.id];
    if (!isSmall(value)) throw notPortable(token, "enter", `its JSON is longer than ${MAX_INBOUND_TEXT} characters`);
    extensions.insert(asReadable(token), await validated(token, value, "enter"));
  }
  return extensions;
}

function isSmall(value: unknown): boolean {
  try {
    return (JSON.stringify(value)?.length ?? 0) <= MAX_INBOUND_TEXT;
  } catch {
    // Nested too deeply to be written: too large, whatever its length.
    return false;
  }
}

async function encode(token: AnyExtensionToken, value: unknown): Promise<JsonValue> {
  return toJsonCopy(token, await validated(token, value, "leave"));
}

async function validated(token: AnyExtensionToken, value: unknown, direction: Direction): Promise<unknown> {
  const { schema } = asReadable(token);
  if (schema === undefined) {
    throw notPortable(token, direction, "it has no schema; make it with extensionToken(id).of(schema)");
  }
  const result = await resultOf(schema, value);
  if (result === undefined) throw notPortable(token, direction, "its schema failed on it");
  if (result.issues === undefined) return result.value;
  // A schema's messages may quote the value; its paths do not.
  const places = result.issues.map(({ path = [] }) =>
    path.map((segment) => String(typeof segment === "object" ? segment.key : segment)).join("."),
  );
  const at = places.map((place) => place || "the root").join(", ");
  throw notPortable(token, direction, `its value does not fit its schema at: ${at}`);
}

async function resultOf(
  schema: StandardSchemaV1,
  value: unknown,
): Promise<StandardSchemaV1.Result<unknown> | undefined> {
  try {
    return await schema["~standard"].validate(value);
  } catch {
    // Dropped on purpose: what a transform or a check of the schema throws may hold the value.
    return undefined;
  }
}

/** A copy, so that what is sent does not change with the value; whatever JSON would drop or alter is refused. */
function toJsonCopy(token: AnyExtensionToken, value: unknown): JsonValue {
  let text: string | undefined;
  try {
    text = JSON.stringify(value, function (this: Record<string, unknown>, key, part: unknown) {
      // `part` is what toJSON made of it; a Date, say, is recognised only in its holder.
      if (isJsonPart(this[key])) return part;
      throw new TypeError("not JSON");
    });
  } catch {
    // Dropped on purpose: a message from a value's own code may hold the value.
  }
  if (text === undefined) throw notPortable(token, "leave", "its value is not plain JSON");
  return JSON.parse(text);
}

function isJsonPart(part: unknown): boolean {
  if (part === null || typeof part === "string" || typeof part === "boolean") return true;
  if (typeof part === "number") return Number.isFinite(part);
  if (typeof part !== "object") return false;
  const prototype: unknown = Object.getPrototypeOf(part);
  return Array.isArray(part) || prototype === Object.prototype || prototype === null;
}

type Direction = "enter" | "leave";

function notPortable(token: AnyExtensionToken, direction: Direction, reason: string): ToolCallExtensionsError {
  const message = `extension "${token.id}" cannot ${direction} the process: ${reason}`;
  return new ToolCallExtensionsError("not-portable", message, { tokenId: token.id, reason });
}
