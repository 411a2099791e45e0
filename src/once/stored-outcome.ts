import { outcomeText, type ToolOutcome } from "../index.ts";

/**
 * Writes an output as JSON text, in an object, so that no output at all has a form, too. What is not plain JSON is kept as
 * the text the model saw.
 */
export function encodeOutput(output: unknown, toolName: string): string {
  try {
    return JSON.stringify({ output }, plainOnly);
  } catch {
    // Not plain, circular, or a getter threw: the tool has run, so its outcome must have a form.
    return JSON.stringify({ output: outcomeText({ status: "completed", output }, toolName) });
  }
}

/** The cast is the boundary: the text is one that {@link encodeOutput} wrote. */
export function decodeOutcome(text: string): ToolOutcome {
  const { output } = JSON.parse(text) as { readonly output?: unknown };
  return { status: "completed", output };
}

/** The value comes after `toJSON`, which plain values have none of; the holder still has it as it is. */
function plainOnly(this: Readonly<Record<string, unknown>>, key: string, value: unknown): unknown {
  const isPlain = value === this[key] && (isPlainValue(value) || (value === undefined && !Array.isArray(this)));
  if (!isPlain) throw new TypeError("not plain JSON");
  return value;
}

function isPlainValue(value: unknown): boolean {
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (typeof value === "number") return Number.isFinite(value);
  return typeof value === "object" && (Array.isArray(value) || isPlainObject(value));
}

/** Also for objects of another realm, whose `Object.prototype` is another one. */
function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
