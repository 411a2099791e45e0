import { outcomeText, type ToolOutcome } from "../index.ts";
import { RequestError } from "./incoming-meta.ts";
import { McpResult } from "./mcp-result.ts";
import { isReserved } from "./meta-key.ts";

/** Writes an outcome as a result of `tools/call`, with what a model would see of it. */
export function toCallResult(outcome: ToolOutcome, toolName: string): object {
  const text = outcomeText(outcome, toolName);
  const content = [{ type: "text", text }];
  if (outcome.status === "failed" && outcome.kind === "unknown-tool")
    throw new RequestError(RequestError.INVALID_PARAMS, text);
  if (outcome.status !== "completed") return { content, isError: true };
  const { output, resultExtensions } = outcome;
  if (asksForInput(output)) return output;
  const result = resultExtensions?.get(McpResult);
  if (result !== undefined) return withoutReserved(result);
  const structuredContent = isPlainObject(output) ? parsed(text) : undefined;
  return { content, ...(structuredContent !== undefined && { structuredContent }) };
}

/** A result of revision 2026-07-28 that asks the client for more and is followed by the same request again. */
function asksForInput(output: unknown): output is object {
  return Object(output).resultType === "input_required";
}

/** What another server's protocol layer put on the result is not this one's to say. */
function withoutReserved({ _meta, ...result }: McpResult): object {
  if (_meta === undefined) return result;
  return { ...result, _meta: Object.fromEntries(Object.entries(_meta).filter(([key]) => !isReserved(key))) };
}

function isPlainObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object that the text holds, so that both say the same; `undefined` where the text was cut off. */
function parsed(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
