import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { ToolInvocationContext } from "../invocation/invocation-context.ts";
import type { Tool } from "./tool.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** One call on its way to the tool, after validation. */
export interface ToolCall {
  readonly tool: Tool;
  readonly input: unknown;
  /** The call's snapshot; hand on `extensions.with(token, value)` to give the tool one value more. */
  readonly extensions: ToolCallExtensions<string>;
  readonly invocation: ToolInvocationContext;
}

export type ToolHandler = (call: ToolCall) => Promise<ToolOutcome>;

/**
 * Wraps every call: whatever it does before, after or instead of `next`. A tool's failure comes back as an outcome, not
 * as an exception; an exception of the middleware itself fails the call.
 *
 * @example
 * ```ts
 * import { defineTool, ToolSet, type ToolMiddleware } from "tool-call-extensions";
 *
 * const lines: string[] = [];
 * const log: ToolMiddleware = async (call, next) => {
 *   const outcome = await next(call);
 *   lines.push(`${call.tool.name}: ${outcome.status}`);
 *   return outcome;
 * };
 * const ping = defineTool({ name: "ping", input: { type: "object" }, call: () => "pong" });
 * await new ToolSet([ping], { middleware: [log] }).call("ping", {});
 * if (lines[0] !== "ping: completed") throw new Error("not called");
 * ```
 */
export type ToolMiddleware = (call: ToolCall, next: ToolHandler) => Promise<ToolOutcome>;

/** Composes once, the first outermost. */
export function composeMiddleware(middleware: readonly ToolMiddleware[], innermost: ToolHandler): ToolHandler {
  return middleware.reduceRight<ToolHandler>((next, outer) => (call) => outer(call, next), innermost);
}
