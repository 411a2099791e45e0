import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { isStandardSchema } from "../extensions/extension-token.ts";

/** A JSON Schema as the model gets it. Inputs are passed on unvalidated: only that they are objects is checked. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Describes what a tool takes: a Standard Schema that can also give its JSON Schema (zod 4, arktype, valibot through
 * `toStandardJsonSchema`), or a raw JSON Schema.
 *
 * Sources: https://standardschema.dev and https://standardschema.dev/json-schema
 */
export type InputSchema = StandardSchemaV1 | JsonSchema;

/** The type a tool's `call` receives. */
export type InputOf<Schema> = Schema extends StandardSchemaV1<unknown, infer Output> ? Output : Record<string, unknown>;

/** What validation says: the value, or one line for each thing wrong. */
export type Validation<Value> =
  | { readonly value: Value; readonly issues?: undefined }
  | { readonly issues: readonly string[] };

const FIXES: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ["zod", 'zod/mini schemas carry none: use z.toJSONSchema(schema), or import z from "zod"'],
  ["valibot", 'wrap it: toStandardJsonSchema(schema) from "@valibot/to-json-schema"'],
]);

const ZOD_3 = 'it is of zod 3: install zod 4, or import z from "zod/v4"';

/** Conversion costs more than a call, and a tool is converted where it is defined and in every set that holds it. */
const converted = new WeakMap<object, JsonSchema>();

/**
 * Gives the JSON Schema a model is shown.
 *
 * @throws ToolCallExtensionsError `unsupported-schema` when there is none, with the way to get one.
 */
export function toJsonSchema(schema: InputSchema, schemaOf: string): JsonSchema {
  if (!isStandardSchema(schema)) {
    if (typeof schema === "object" && schema !== null && !Array.isArray(schema)) {
      refuseSchemaCode(schema, schemaOf);
      return schema;
    }
    throw invalidArgument(`the schema of ${schemaOf}`, schema, "a Standard Schema or a JSON Schema object");
  }
  const { vendor } = schema["~standard"];
  if (!hasConverter(schema)) {
    const isZod3 = vendor === "zod" && !("_zod" in schema);
    const fix =
      (isZod3 ? ZOD_3 : FIXES.get(vendor)) ??
      "pass its JSON Schema instead, or a schema that implements Standard JSON Schema";
    throw unsupported(schemaOf, vendor, `its schema (${vendor}) gives no JSON Schema for the model; ${fix}`);
  }
  try {
    const jsonSchema = converted.get(schema) ?? schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
    converted.set(schema, jsonSchema);
    return jsonSchema;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : "no reason given";
    throw unsupported(schemaOf, vendor, `${vendor} cannot express its schema as JSON Schema: ${reason}`, cause);
  }
}

/** A JSON Schema holds no code. What does was meant otherwise, and no input would ever be validated by it. */
function refuseSchemaCode(schema: JsonSchema, schemaOf: string): void {
  if (typeof schema["parse"] === "function") {
    throw unsupported(schemaOf, "unknown", `its schema gives no JSON Schema for the model; ${ZOD_3}`);
  }
  const names = Object.keys(schema).filter((name) => isSchemaCode(schema[name]));
  if (names.length === 0) return;
  const fields = names.map((name) => `"${name}"`).join(", ");
  throw unsupported(schemaOf, "unknown", `its schema is an object of schemas (${fields}); wrap it: z.object({ … })`);
}

/** Refuses a schema whose root is not an object: every provider's tool arguments are one. */
export function toObjectSchema(schema: InputSchema, schemaOf: string): JsonSchema {
  const jsonSchema = toJsonSchema(schema, schemaOf);
  const { type } = jsonSchema as { readonly type?: unknown };
  if (type === undefined || type === "object") return jsonSchema;
  const vendor = isStandardSchema(schema) ? schema["~standard"].vendor : "JSON Schema";
  throw unsupported(schemaOf, vendor, `its input is a JSON ${String(type)}; a model can only pass an object`);
}

/** Parses JSON text (a provider's arguments) and validates; never throws for what the model sent. */
export function validateInput(schema: InputSchema, input: unknown): Validation<unknown> | Promise<Validation<unknown>> {
  const parsed = typeof input === "string" ? parseArguments(input) : { value: copyOf(input) };
  if (parsed.issues !== undefined) return parsed;
  if (isStandardSchema(schema)) return validate(schema, parsed.value);
  if (typeof parsed.value === "object" && parsed.value !== null && !Array.isArray(parsed.value)) return parsed;
  return { issues: ["the arguments must be a JSON object"] };
}

/**
 * Copies plain data, so that what a tool does to its input is not done to the conversation, an event or a saved state.
 */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (typeof value !== "object" || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  // `fromEntries` makes a key `__proto__` a key.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)]));
}

export function validate<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
): Validation<Output> | Promise<Validation<Output>> {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then(toValidation) : toValidation(result);
}

function toValidation<Output>(result: StandardSchemaV1.Result<Output>): Validation<Output> {
  return result.issues === undefined ? result : { issues: result.issues.map(describeIssue) };
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((segment) => String(typeof segment === "object" ? segment.key : segment));
  return keys.length > 0 ? `${keys.join(".")}: ${message}` : message;
}

/** Providers send the arguments of a tool that takes none as an empty text. */
function parseArguments(text: string): Validation<unknown> {
  if (text.trim() === "") return { value: {} };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    // V8 quotes the text it failed on, which the model wrote itself.
    return { issues: [`the arguments are not valid JSON: ${error instanceof Error ? error.message : String(error)}`] };
  }
}

/** Asks for a function, which nothing that was read from JSON has. */
function isSchemaCode(value: unknown): boolean {
  const { parse, "~standard": standard } = Object(value) as {
    readonly [key: string]: { validate?: unknown } | undefined;
  };
  return typeof parse === "function" || typeof standard?.validate === "function";
}

function hasConverter(schema: StandardSchemaV1): schema is StandardSchemaV1 & StandardJSONSchemaV1 {
  return "jsonSchema" in schema["~standard"];
}

function unsupported(schemaOf: string, vendor: string, message: string, cause?: unknown): ToolCallExtensionsError {
  return new ToolCallExtensionsError("unsupported-schema", `${schemaOf}: ${message}`, { schemaOf, vendor }, { cause });
}
