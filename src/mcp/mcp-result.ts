import {
  currentToolInvocation,
  type ExtensionToken,
  extensionToken,
  type ToolCall,
  ToolCallExtensions,
  ToolError,
  type ToolInvocationContext,
  type ToolOutcome,
  toolResult,
} from "../index.ts";

/** One part of what an MCP tool gives: `text`, `image`, `audio`, `resource` or `resource_link`. */
interface McpContent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The result of an MCP tool as it crosses the wire. */
export interface McpResult {
  readonly content: readonly McpContent[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Finds the whole result of an MCP tool, its `_meta` included, in the result extensions of the call.
 *
 * @example
 * ```ts
 * import { defineTool, ToolSet } from "tool-call-extensions";
 * import { McpResult, mcpResult } from "tool-call-extensions/mcp";
 *
 * const content = [{ type: "image", mimeType: "image/png", data: "AAEC" }];
 * const chart = defineTool({ name: "chart", input: { type: "object" }, call: () => mcpResult({ content }) });
 * const outcome = await new ToolSet([chart]).call("chart", {});
 * if (outcome.status !== "completed" || outcome.output !== "[image, image/png, 3 bytes]") throw new Error("not told");
 * if (outcome.resultExtensions?.get(McpResult)?.content !== content) throw new Error("lost");
 * ```
 */
export const McpResult: ExtensionToken<"tool-call-extensions/mcp-result", McpResult> = extensionToken
  .shared("tool-call-extensions/mcp-result")
  .of<McpResult>();

interface InputRequired {
  readonly resultType: "input_required";
  readonly inputRequests?: object | undefined;
  readonly requestState?: string | undefined;
}

/**
 * Answers a call with content of MCP: images, audio, resources, several texts. {@link serveTools} sends it as it is; to a
 * model, and in a store of `once`, it is the text that {@link mcpTools} would make of it. What revision 2026-07-28 calls an
 * `input_required` result, as `inputRequired(…)` of the SDK makes it, asks the client instead. A failure is thrown, as a
 * `ToolError`.
 *
 * @example
 * ```ts
 * import { defineTool, outcomeText, ToolSet } from "tool-call-extensions";
 * import { mcpResult } from "tool-call-extensions/mcp";
 *
 * const chart = defineTool({
 *   name: "chart",
 *   input: { type: "object" },
 *   call: () => {
 *     const image = { type: "image", mimeType: "image/png", data: "AAEC" };
 *     return mcpResult({ content: [{ type: "text", text: "Sales by month" }, image] });
 *   },
 * });
 * const text = outcomeText(await new ToolSet([chart]).call("chart", {}), "chart");
 * if (text !== "Sales by month\n[image, image/png, 3 bytes]") throw new Error(text);
 * ```
 */
export function mcpResult(result: Omit<McpResult, "isError"> | InputRequired): unknown {
  if ("content" in result) return made(result, currentToolInvocation());
  questions.add(result);
  return result;
}

/**
 * Gives structured content where there is some, else text for the model: binary parts are named and counted in it, because
 * their base64 is of no use there. The whole result is in the result extensions, or is the failure's `cause`.
 */
export function toToolResult({ tool, invocation }: ToolCall, result: McpResult): unknown {
  if (!result.isError) return made(result, invocation);
  throw new ToolError(textOf(result) || `The server reports that "${tool.name}" failed.`, { cause: result });
}

/** The call that made a result: a sub-agent's result extensions hold those of its calls, too. */
const makers = new WeakMap<object, ToolInvocationContext>();
/** Marked, and not known by their shape: data of the same shape is no question. */
const questions = new WeakSet<object>();

function made(result: McpResult, maker: ToolInvocationContext | undefined): unknown {
  // A copy, because two calls may give one object.
  const copy = { ...result };
  if (maker !== undefined) makers.set(copy, maker);
  return toolResult(outputOf(copy), new ToolCallExtensions().with(McpResult, copy));
}

export function isQuestion(output: unknown): output is object {
  return typeof output === "object" && output !== null && questions.has(output);
}

/** The result that a call gave, where it is still what the output says: a middleware may have put another in its place. */
export function resultOf(
  { output, resultExtensions }: Extract<ToolOutcome, { readonly status: "completed" }>,
  call: ToolInvocationContext | undefined,
): McpResult | undefined {
  const result = resultExtensions?.get(McpResult);
  if (result === undefined || outputOf(result) !== output) return undefined;
  const maker = makers.get(result) ?? call;
  return maker?.toolCallId === call?.toolCallId && maker?.parent === call?.parent ? result : undefined;
}

function outputOf(result: McpResult): unknown {
  return result.structuredContent === undefined ? textOf(result) : result.structuredContent;
}

function textOf({ content = [] }: McpResult): string {
  return content.map(toText).join("\n");
}

function toText(part: McpContent): string {
  switch (part.type) {
    case "text":
      return String(part["text"]);
    case "image":
    case "audio":
      return label(part.type, part["mimeType"], bytes(part["data"]));
    case "resource": {
      const { text, uri, mimeType, blob } = Object(part["resource"]) as Readonly<Record<string, unknown>>;
      return typeof text === "string" ? text : label("resource", uri, mimeType, bytes(blob));
    }
    case "resource_link":
      return label("resource link", part["uri"], part["name"], part["mimeType"], part["description"]);
    default:
      return label(part.type);
  }
}

function label(...words: readonly unknown[]): string {
  return `[${words.filter((word) => typeof word === "string" && word !== "").join(", ")}]`;
}

function bytes(base64: unknown): string | undefined {
  if (typeof base64 !== "string") return undefined;
  // Padding is two at most: a pattern for any number of them takes time by the square of what a server sends.
  return `${Math.floor((base64.replace(/={1,2}$/, "").length * 3) / 4)} bytes`;
}
