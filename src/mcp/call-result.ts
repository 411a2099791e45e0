import { outcomeText, type ToolInvocationContext, type ToolOutcome } from "../index.ts";
import { RequestError } from "./incoming-meta.ts";
import { resultOf } from "./mcp-result.ts";
import { isReserved } from "./meta-key.ts";

/** Writes an outcome as a result of `tools/call`, with what a model would see of it. */
export function toCallResult(outcome: ToolOutcome, toolName: string, call?: ToolInvocationContext): object {
  const text = outcomeText(outcome, toolName);
  const content = [{ type: "text", text }];
  if (outcome.status === "failed" && outcome.kind === "unknown-tool") {
    throw new RequestError(RequestError.INVALID_PARAMS, text);
  }
  if (outcome.status !== "completed") return { content, isError: true };
  const result = resultOf(outcome, call);
  if (result !== undefined) return withoutReserved(result);
  const structuredContent = toStructured(outcome.output);
  return { content, ...(structuredContent !== undefined && { structuredContent }) };
}

/** What another server's protocol layer put on the result is not this one's to say. */
function withoutReserved<Result extends { readonly _meta?: object | undefined }>({ _meta, ...result }: Result): object {
  if (_meta === undefined) return result;
  return { ...result, _meta: Object.fromEntries(Object.entries(_meta).filter(([key]) => !isReserved(key))) };
}

/** The whole of an object, where JSON can hold it: the text beside it is bounded, and says what JSON cannot. */
function toStructured(output: unknown): object | undefined {
  if (typeof output !== "object" || output === null || Array.isArray(output)) return undefined;
  try {
    const value: unknown = JSON.parse(JSON.stringify(output, jsonOnly));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `value` comes after `toJSON`; what JSON would drop, or write as something else, ends the writing. */
function jsonOnly(_key: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError("no JSON number");
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError("no JSON value");
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  // These would be written as empty or as numbered objects.
  const isEmptied = value instanceof Map || value instanceof Set || value instanceof Error || ArrayBuffer.isView(value);
  if (isEmptied) throw new TypeError("no JSON object");
  return value;
}
