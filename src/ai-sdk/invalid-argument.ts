import { ToolCallExtensionsError } from "../index.ts";

/** Makes the error for one bad argument; `received` is its kind, never its value. */
export function invalidArgument(argument: string, received: string, expected: string): ToolCallExtensionsError {
  const message = `${argument} must be ${expected}; received ${received}`;
  return new ToolCallExtensionsError("invalid-argument", message, { argument, received, expected });
}

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : typeof value;
}
