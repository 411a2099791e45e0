import {
  type AnyExtensionToken,
  defineTool,
  encodeExtensions,
  type JsonSchema,
  type Tool,
  type ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
} from "../index.ts";
import { assertMetaKey } from "./meta-key.ts";

interface McpToolDescription {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
}

interface McpCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

/** The part of a connected client that is used: `Client` of `@modelcontextprotocol/sdk` 1.x has it. */
export interface McpClient {
  listTools(params?: {
    cursor?: string;
  }): Promise<{ readonly tools: readonly McpToolDescription[]; readonly nextCursor?: string | undefined }>;
  callTool(call: McpCall, resultSchema: undefined, options: { readonly signal: AbortSignal }): Promise<object>;
}

/** What of a call goes to the server, and how its tools are named. */
export interface McpToolsOptions {
  /**
   * What goes to the server with every call, by `_meta` key: `{ "com.example/tenant": Tenant }`. Nothing else of the
   * extensions leaves. The token needs a schema; where the caller has no value, the key is left out.
   */
  readonly forward?: Readonly<Record<string, AnyExtensionToken>> | undefined;
  /** Put before each tool's name, to keep two servers' names apart. */
  readonly prefix?: string | undefined;
}

/**
 * Gives the tools of a connected MCP server. Schemas and names are passed on as the server states them; a result that the
 * server marks as an error becomes a failure whose text the model sees.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for a `forward` key that the protocol does not allow.
 * @example
 * ```ts
 * import { Client } from "@modelcontextprotocol/sdk/client/index.js";
 * import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
 * import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
 * import { extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 * import { mcpTools } from "tool-call-extensions/mcp";
 * import { z } from "zod";
 *
 * const server = new McpServer({ name: "shop", version: "1.0.0" });
 * server.registerTool("whose", {}, ({ _meta }) => {
 *   return { content: [{ type: "text", text: String(_meta?.["com.example/tenant"]) }] };
 * });
 * const client = new Client({ name: "agent", version: "1.0.0" });
 * const [ours, theirs] = InMemoryTransport.createLinkedPair();
 * await Promise.all([server.connect(theirs), client.connect(ours)]);
 *
 * const Tenant = extensionToken("tenant").of(z.string());
 * const tools = new ToolSet(await mcpTools(client, { forward: { "com.example/tenant": Tenant } }));
 * const outcome = await tools.callWithExtensions("whose", {}, new ToolCallExtensions().with(Tenant, "t-7"));
 * if (outcome.status !== "completed" || outcome.output !== "t-7") throw new Error("not forwarded");
 * await client.close();
 * ```
 */
export async function mcpTools(
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<readonly Tool<Record<string, unknown>, unknown, never>[]> {
  const { forward = {}, prefix = "" } = options;
  for (const key of Object.keys(forward)) assertMetaKey(key);
  const tools: Tool<Record<string, unknown>, unknown, never>[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    for (const description of page.tools) tools.push(toTool(client, description, prefix, forward));
    if (cursor !== undefined && page.nextCursor === cursor)
      throw new Error(`the server repeats the cursor of its list`);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

function toTool(
  client: McpClient,
  { name, description, inputSchema }: McpToolDescription,
  prefix: string,
  forward: Readonly<Record<string, AnyExtensionToken>>,
): Tool<Record<string, unknown>, unknown, never> {
  return defineTool({
    name: prefix + name,
    description,
    input: inputSchema,
    callWithExtensions: async (input, extensions) => {
      const _meta = await toMeta(extensions, forward);
      const call = { name, arguments: input, ...(_meta && { _meta }) };
      const { signal } = extensions.require(ToolInvocationContext);
      return toOutput(name, await client.callTool(call, undefined, { signal }));
    },
  });
}

async function toMeta(
  extensions: ToolCallExtensions,
  forward: Readonly<Record<string, AnyExtensionToken>>,
): Promise<Record<string, unknown> | undefined> {
  const meta: Record<string, unknown> = {};
  for (const [key, token] of Object.entries(forward)) {
    const encoded = await encodeExtensions(extensions, [token]);
    if (token.id in encoded) meta[key] = encoded[token.id];
  }
  return Object.keys(meta).length > 0 ? meta : undefined;
}

interface McpResult {
  readonly content?: readonly { readonly type: string; readonly text?: unknown }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** Structured content where the server gives it, the text where there is only text, else the content parts themselves. */
function toOutput(name: string, result: McpResult): unknown {
  const { content = [], structuredContent, isError } = result;
  const texts = content.filter(({ type }) => type === "text").map(({ text }) => String(text));
  if (isError === true) throw new ToolError(texts.join("\n") || `The server reports that "${name}" failed.`);
  if (structuredContent !== undefined) return structuredContent;
  return texts.length === content.length ? texts.join("\n") : content;
}
