import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ToolCallExtensionsError } from "../errors.ts";
import { type Validation, validate } from "../tool/input-schema.ts";

/**
 * Reads the value of an output schema from the model's final text.
 *
 * @throws ToolCallExtensionsError `invalid-output`, which keeps the text.
 */
export async function readOutput<Output>(schema: StandardSchemaV1<unknown, Output>, text: string): Promise<Output> {
  const validation = await validateSafely(schema, parseJson(text), text);
  if (validation.issues !== undefined) throw invalidOutput(text, validation.issues);
  return validation.value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidOutput(text, ["the answer is not JSON"], cause);
  }
}

/** A schema's own code, such as a transform, may throw on a value it did not expect. */
async function validateSafely<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  text: string,
): Promise<Validation<Output>> {
  try {
    return await validate(schema, value);
  } catch (cause) {
    throw invalidOutput(text, ["the schema failed on it"], cause);
  }
}

function invalidOutput(text: string, issues: readonly string[], cause?: unknown): ToolCallExtensionsError {
  const message = `the model's answer does not fit the output schema: ${issues.join("; ")}`;
  return new ToolCallExtensionsError("invalid-output", message, { text, issues }, { cause });
}
