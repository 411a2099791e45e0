import { type ExtensionToken, extensionToken, ToolCallExtensions, ToolError, toolResult } from "../index.ts";

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
 * Finds the whole result of an MCP tool, its `_meta` included, in the result extensions of the call. A tool that is served
 * by {@link serveTools} puts one there to answer with images, audio or resources.
 *
 * @example
 * ```ts
 * import { defineTool, ToolCallExtensions, ToolSet, toolResult } from "tool-call-extensions";
 * import { McpResult } from "tool-call-extensions/mcp";
 *
 * const chart = defineTool({
 *   name: "chart",
 *   input: { type: "object" },
 *   call: () => {
 *     const content = [{ type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" }];
 *     return toolResult("a chart", new ToolCallExtensions().with(McpResult, { content }));
 *   },
 * });
 * const outcome = await new ToolSet([chart]).call("chart", {});
 * if (outcome.status !== "completed" || outcome.resultExtensions?.get(McpResult) === undefined) throw new Error("lost");
 * ```
 */
export const McpResult: ExtensionToken<"tool-call-extensions/mcp-result", McpResult> = extensionToken
  .shared("tool-call-extensions/mcp-result")
  .of<McpResult>();

/**
 * Gives structured content where there is some, else text for the model: binary parts are named and counted in it, because
 * their base64 is of no use there. The whole result is in the result extensions, or is the failure's `cause`.
 */
export function toToolResult(toolName: string, result: McpResult): unknown {
  const { content = [], structuredContent, isError } = result;
  const text = content.map(toText).join("\n");
  if (isError) throw new ToolError(text || `The server reports that "${toolName}" failed.`, { cause: result });
  return toolResult(structuredContent ?? text, new ToolCallExtensions().with(McpResult, result));
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
  return `${Math.floor((base64.replace(/=+$/, "").length * 3) / 4)} bytes`;
}
