import { type JsonSchema, ToolError } from "../index.ts";
import type { McpResult } from "./mcp-result.ts";

/** What a server says of one tool. */
export interface McpToolDescription {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
}

/** The part of a connected client that is used: `Client` of `@modelcontextprotocol/sdk` 1.x and of `…/client` 2.x have it. */
export interface McpClient {
  listTools(params?: {
    cursor?: string;
  }): Promise<{ readonly tools: readonly McpToolDescription[]; readonly nextCursor?: string | undefined }>;
  callTool(...call: never[]): Promise<object>;
}

interface CallToolParams {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly _meta?: Record<string, unknown>;
}

interface CallToolOptions {
  readonly signal: AbortSignal;
  readonly timeout: number;
  readonly onprogress?: (progress: object) => void;
}

/** In version 1, the second argument is a schema; the type has what both versions share. */
interface Callable {
  callTool(params: CallToolParams, second: CallToolOptions | undefined, third?: CallToolOptions): Promise<McpResult>;
  cacheToolMetadata?(tools: readonly McpToolDescription[]): void;
}

/** The boundary between the two versions of the SDK: how they differ at run time is known here alone. */
export async function callTool(
  client: McpClient,
  params: CallToolParams,
  options: CallToolOptions,
): Promise<McpResult> {
  const callable = client as unknown as Callable;
  try {
    const isVersion2 = "getNegotiatedProtocolVersion" in client;
    return await (isVersion2 ? callable.callTool(params, options) : callable.callTool(params, undefined, options));
  } catch (error) {
    // What the server says of the model's own arguments is for the model, as if it were a result.
    if (Object(error).code === INVALID_PARAMS && error instanceof Error)
      throw new ToolError(error.message, { cause: error });
    throw error;
  }
}

const INVALID_PARAMS = -32_602;

/** Reads every page. */
export async function listTools(client: McpClient): Promise<readonly McpToolDescription[]> {
  const tools: McpToolDescription[] = [];
  const cursors = new Set<string | undefined>();
  let cursor: string | undefined;
  do {
    cursors.add(cursor);
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor !== undefined && cursors.has(cursor))
      throw new Error(`the server's list of tools has no end: it repeats`);
  } while (cursor !== undefined);
  // Version 1 validates results by the output schemas of the page that it read last, and forgets the others'.
  if (cursors.size > 1) (client as unknown as Callable).cacheToolMetadata?.(tools);
  return tools;
}
