/** What each error code carries in `details`: names, ids and bounds, never a value of the map. */
export interface ErrorDetails {
  "missing-extension": { readonly missing: readonly string[]; readonly present: readonly string[] };
  "read-only": { readonly operation: string };
  "reserved-token": { readonly tokenId: string };
  "invalid-argument": { readonly argument: string; readonly received: string; readonly expected: string };
  "not-portable": { readonly tokenId: string; readonly reason: string };
  "duplicate-tool": { readonly toolName: string };
  "unsupported-schema": { readonly schemaOf: string; readonly vendor: string };
  "unknown-tool": { readonly toolName: string; readonly available: readonly string[] };
  "invalid-input": { readonly toolName: string; readonly issues: readonly string[] };
  "invalid-output": { readonly text: string; readonly issues: readonly string[] };
  "missing-session": { readonly toolName: string };
  "input-mismatch": { readonly toolName: string; readonly invocationKey: string };
  "lease-lost": { readonly toolName: string; readonly invocationKey: string };
  "approval-required": { readonly toolName: string };
  "invalid-state": { readonly field: string; readonly received: string; readonly expected: string };
  "unknown-call": { readonly toolCallId: string; readonly pending: readonly string[] };
  /** `state` is the run's `RunState`: `agent.resume(state)` goes on from there. It is not enumerable, so that logs leave it out. */
  "max-turns": { readonly maxTurns: number; readonly state: object };
  "model-failed": { readonly agentName: string; readonly turn: number; readonly state: object };
  "script-mismatch": { readonly turn: number; readonly turnsInScript: number };
}

/** The literal codes of {@link ToolCallExtensionsError}. */
export type ErrorCode = keyof ErrorDetails;

/** The union over all codes, so that comparing `code` narrows `details`. */
export type AnyToolCallExtensionsError = { [Code in ErrorCode]: ToolCallExtensionsError<Code> }[ErrorCode];

const LIBRARY_ERROR: unique symbol = Symbol.for("tool-call-extensions/error");
const TOOL_ERROR: unique symbol = Symbol.for("tool-call-extensions/tool-error");

/**
 * Reports a fault in how the library is used, or in a host it called; `code` says which, `details` names the things.
 *
 * `instanceof` and `is` recognise errors of another copy of the package too, and narrow `details` by `code`.
 *
 * @example
 * ```ts
 * import { extensionToken, ToolCallExtensions, ToolCallExtensionsError } from "tool-call-extensions";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const Locale = extensionToken("locale").of<string>();
 * const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Locale, "en");
 * try {
 *   extensions.require(Tenant);
 *   throw new Error("unreachable");
 * } catch (error) {
 *   if (!(error instanceof ToolCallExtensionsError) || error.code !== "missing-extension") throw error;
 *   if (error.details.missing[0] !== "tenant") throw error;
 *   if (error.details.present[0] !== "locale") throw error;
 * }
 * ```
 */
export class ToolCallExtensionsError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;
  /** The section of the documentation, which the package contains, that tells the usual causes and what to do. */
  readonly docs: string;
  readonly details: ErrorDetails[Code];

  constructor(code: Code, message: string, details: ErrorDetails[Code], options?: ErrorOptions) {
    super(`[${code}] ${message}`, options);
    this.code = code;
    this.docs = `tool-call-extensions/docs/guides/troubleshooting.md#${code}`;
    this.details = details;
    brand(this, LIBRARY_ERROR, "ToolCallExtensionsError");
  }

  static is(value: unknown): value is AnyToolCallExtensionsError {
    return isBranded(value, LIBRARY_ERROR);
  }

  static override [Symbol.hasInstance](value: unknown): value is AnyToolCallExtensionsError {
    return isBranded(value, LIBRARY_ERROR);
  }
}

/**
 * Is thrown by a tool to tell the model what went wrong: the model reads the message, so no secret belongs in it.
 *
 * Any other error a tool throws is hidden from the model, which learns only that the tool failed.
 *
 * @example
 * ```ts
 * import { ToolError } from "tool-call-extensions";
 *
 * const error = new ToolError("Order 42 does not exist.", { cause: new Error("HTTP 404") });
 * if (!ToolError.is(error)) throw new Error("not recognised");
 * if (error.message !== "Order 42 does not exist.") throw new Error("message was changed");
 * ```
 */
export class ToolError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    brand(this, TOOL_ERROR, "ToolError");
  }

  static is(value: unknown): value is ToolError {
    return isBranded(value, TOOL_ERROR);
  }

  static override [Symbol.hasInstance](value: unknown): value is ToolError {
    return isBranded(value, TOOL_ERROR);
  }
}

/**
 * Makes the error for one bad argument, for adapters; `received` is described by its kind, since it may be a secret.
 *
 * @example
 * ```ts
 * import { invalidArgument } from "tool-call-extensions";
 *
 * const error = invalidArgument("option region", "s3cret", "a function");
 * if (error.message !== "[invalid-argument] option region must be a function; received a string") throw error;
 * ```
 */
export function invalidArgument(argument: string, received: unknown, expected: string): ToolCallExtensionsError {
  const description = describe(received);
  return new ToolCallExtensionsError("invalid-argument", `${argument} must be ${expected}; received ${description}`, {
    argument,
    received: description,
    expected,
  });
}

/** Numbers and booleans are shown, everything else only by its kind: a value may be a secret. */
function describe(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean") {
    return String(value);
  }
  if (typeof value === "string") return value === "" ? "an empty string" : "a string";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") {
    const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
    return typeof name === "string" && name !== "" && name !== "Object"
      ? `${/^[AEIOU]/.test(name) ? "an" : "a"} ${name}`
      : "an object";
  }
  return `a ${typeof value}`;
}

/** An own property under `Symbol.for`, because `instanceof` fails between two copies of the package. */
function brand(error: Error, symbol: symbol, name: string): void {
  Object.defineProperty(error, symbol, { value: true });
  Object.defineProperty(error, "name", { value: name });
}

function isBranded(value: unknown, symbol: symbol): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, symbol);
}
