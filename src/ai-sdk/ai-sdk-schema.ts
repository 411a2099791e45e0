import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { type InputSchema, type JsonSchema, ToolCallExtensionsError, ToolError } from "../index.ts";

/** By these the AI SDK recognises a schema of its own: the first in 5, 6 and 7, the second in 5 as well. */
const SCHEMA: unique symbol = Symbol.for("vercel.ai.schema");
const VALIDATOR: unique symbol = Symbol.for("vercel.ai.validator");

type Validated =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

/** A schema of the AI SDK, as far as it is read. */
interface AiSdkSchema {
  readonly jsonSchema: unknown;
  readonly validate?: ((value: unknown) => Validated | PromiseLike<Validated>) | undefined;
}

/**
 * Makes the AI SDK's schema of a tool's. Its validation gives the input as it came, because dispatch validates it, and a
 * schema that transforms does not take its own output.
 */
export function toAiSdkSchema(toolName: string, schema: InputSchema, jsonSchema: JsonSchema): () => never {
  const validate = async (value: unknown): Promise<Validated> => {
    const issues = await issuesOf(schema, value);
    if (issues === undefined) return { success: true, value };
    const lines = issues.map(({ path = [], message }) => [...path.map(keyOf), message].join(": "));
    const error = new ToolError(`The arguments for tool "${toolName}" are not valid: ${lines.join("; ")}`);
    return { success: false, error };
  };
  const made = { [SCHEMA]: true, [VALIDATOR]: true, _type: undefined, jsonSchema, validate };
  // The symbols' types belong to the AI SDK, so that nothing but `never` fits what it declares.
  return () => made as never;
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): string {
  return String(typeof segment === "object" ? segment.key : segment);
}

/**
 * Of a raw JSON Schema only that the input is an object is checked, and that by dispatch. Dispatch also hears of a
 * validation that fails, whose error may hold a secret: the AI SDK would send it to the model.
 */
async function issuesOf(schema: InputSchema, value: unknown): Promise<readonly StandardSchemaV1.Issue[] | undefined> {
  if (!isStandardSchema(schema)) return undefined;
  try {
    return (await schema["~standard"].validate(value)).issues;
  } catch {
    return undefined;
  }
}

function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema;
}

/**
 * Makes a tool's schema of what the AI SDK takes as one: a Standard Schema, a schema of its own, or a function that gives one.
 *
 * @throws ToolCallExtensionsError `unsupported-schema` when it is neither, or gives its JSON Schema only later.
 */
export function fromAiSdkSchema(toolName: string, given: unknown): InputSchema {
  if (isStandardSchema(given)) return given;
  const schema: unknown = typeof given === "function" ? given() : given;
  if (isStandardSchema(schema)) return schema;
  const { jsonSchema, validate } = Object(schema) as Partial<AiSdkSchema>;
  if (typeof jsonSchema !== "object" || jsonSchema === null || "then" in jsonSchema) {
    const message = `tool "${toolName}": its inputSchema gives no JSON Schema at once; pass jsonSchema(await schema.jsonSchema)`;
    throw new ToolCallExtensionsError("unsupported-schema", message, {
      schemaOf: `tool "${toolName}"`,
      vendor: "the AI SDK",
    });
  }
  // An object, as was checked; a JSON Schema has string keys.
  const asJsonSchema = (): Record<string, unknown> => jsonSchema as Record<string, unknown>;
  if (validate === undefined) return asJsonSchema();
  const standard: StandardSchemaV1 & StandardJSONSchemaV1 = {
    "~standard": {
      version: 1,
      vendor: "ai-sdk",
      validate: (value) => validateWith(schema, value),
      jsonSchema: { input: asJsonSchema, output: asJsonSchema },
    },
  };
  return standard;
}

/** Validates with what the AI SDK takes as a schema; one without a validation takes everything. */
export async function validateWith(given: unknown, value: unknown): Promise<StandardSchemaV1.Result<unknown>> {
  if (isStandardSchema(given)) return await given["~standard"].validate(value);
  const schema: unknown = typeof given === "function" ? given() : given;
  if (isStandardSchema(schema)) return await schema["~standard"].validate(value);
  const { validate } = Object(schema) as Partial<AiSdkSchema>;
  const result = (await validate?.(value)) ?? { success: true, value };
  return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
}
