import {
  defineTool,
  invalidArgument,
  type Tool,
  type ToolCall,
  type ToolCallExtensions,
  ToolInvocationContext,
} from "../index.ts";
import { callTool, listTools, type McpClient, type McpToolDescription } from "./mcp-client.ts";
import { type McpResult, toToolResult } from "./mcp-result.ts";
import { checkBoolean } from "./meta-key.ts";
import { checkOutgoing, type OutgoingMeta, outgoingMeta } from "./outgoing-meta.ts";

/** What of a call goes to the server, how its tools are named, and how they are called. */
export interface McpToolsOptions extends OutgoingMeta {
  /** Put before each tool's name, to keep two servers' names apart. */
  readonly prefix?: string | undefined;
  /** Asks the server for progress and tells it as `tool-progress`; true by default. */
  readonly progress?: boolean | undefined;
  /** Ends a call that takes longer, and tells the server so. Without it a call ends by its own signal alone. */
  readonly timeoutMs?: number | undefined;
}

/** What timers can hold: the SDKs end a call after a minute where they are told nothing. */
const NO_TIMEOUT_MS = 2_147_483_647;

type McpTool = Tool<Record<string, unknown>, unknown, never>;

/**
 * Gives the tools of a connected MCP server, of either version of the SDK. Schemas and names are passed on as the server
 * states them; a result that the server marks as an error becomes a failure whose text the model sees; the whole result is
 * found under {@link McpResult}.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for an option, or a `forward` key that the protocol does not allow.
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
export async function mcpTools(client: McpClient, options: McpToolsOptions = {}): Promise<readonly McpTool[]> {
  const { timeoutMs = NO_TIMEOUT_MS, prefix = "" } = options;
  if (typeof prefix !== "string") throw invalidArgument("option prefix", prefix, "a string");
  checkBoolean(options.progress, "progress");
  if (!(timeoutMs > 0 && timeoutMs <= NO_TIMEOUT_MS)) {
    throw invalidArgument("option timeoutMs", timeoutMs, `a number of milliseconds from 1 to ${NO_TIMEOUT_MS}`);
  }
  const settled = { ...checkOutgoing(options), timeoutMs };
  const descriptions = await listTools(client);
  return descriptions.map((description) => toTool(client, description, settled));
}

type SettledOptions = McpToolsOptions & { readonly timeoutMs: number };

function toTool(client: McpClient, description: McpToolDescription, options: SettledOptions): McpTool {
  const { prefix = "", progress = true } = options;
  const tool: McpTool = defineTool({
    name: prefix + description.name,
    description: description.description,
    input: rawSchema(description),
    callWithExtensions: (input, extensions) => {
      const invocation = extensions.require(ToolInvocationContext);
      const call = { tool, input, extensions: dynamic(extensions), invocation };
      const request = { client, description, input, call, options };
      return progress ? withProgress(request) : send(request);
    },
  });
  return tool;
}

/** What a server states is JSON Schema, also where it has a key by which other schemas are known. */
function rawSchema({ inputSchema }: McpToolDescription): McpToolDescription["inputSchema"] {
  if (!("~standard" in inputSchema)) return inputSchema;
  const { "~standard": _dropped, ...schema } = inputSchema;
  return schema;
}

/** What `meta` reads is checked when it reads: the tools of a server say nothing of it. */
function dynamic(extensions: ToolCallExtensions<never>): ToolCallExtensions<string> {
  return extensions as ToolCallExtensions<string>;
}

interface Request {
  readonly client: McpClient;
  readonly description: McpToolDescription;
  readonly input: Record<string, unknown>;
  readonly call: ToolCall;
  readonly options: SettledOptions;
}

async function send(request: Request, onprogress?: (progress: object) => void): Promise<unknown> {
  const { client, description, input, call, options } = request;
  const { name } = description;
  const { signal } = call.invocation;
  const _meta = await outgoingMeta(call, options);
  signal.throwIfAborted();
  const params = { name, arguments: input, ...(_meta && { _meta }) };
  const settings = { signal, timeout: options.timeoutMs, ...(onprogress && { onprogress }) };
  return toToolResult(call, await callTool(client, description, params, settings));
}

/** Yields what the server tells while the call is open; nobody is left to hear a notice that comes after the result. */
async function* withProgress(request: Request): AsyncGenerator<object, unknown> {
  const told: object[] = [];
  let isOver = false;
  let wake = (): void => undefined;
  const result = send(request, (progress) => {
    told.push(progress);
    wake();
  });
  const end = (): void => {
    isOver = true;
    wake();
  };
  result.then(end, end);
  for (;;) {
    const progress = told.shift();
    if (progress !== undefined) yield progress;
    else if (isOver) return result;
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
}
