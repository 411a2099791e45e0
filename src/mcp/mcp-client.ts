import { type JsonSchema, ToolError } from "../index.ts";
import type { McpResult } from "./mcp-result.ts";

/** What a server says of one tool. */
export interface McpToolDescription {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: JsonSchema;
  readonly execution?: { readonly taskSupport?: string | undefined } | undefined;
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

interface Version1 {
  callTool(params: CallToolParams, resultSchema: undefined, options: CallToolOptions): Promise<McpResult>;
  cacheToolMetadata?(tools: readonly McpToolDescription[]): void;
  /** Its name before 1.24. */
  cacheToolOutputSchemas?(tools: readonly McpToolDescription[]): void;
  readonly experimental?: { readonly tasks: Tasks };
}

interface Version2 {
  callTool(params: CallToolParams, options: CallToolOptions): Promise<McpResult>;
}

interface Tasks {
  callToolStream(params: CallToolParams, resultSchema: undefined, options: CallToolOptions): AsyncIterable<TaskMessage>;
  cancelTask(taskId: string): Promise<unknown>;
}

type TaskMessage =
  | { readonly type: "taskCreated" | "taskStatus"; readonly task: { readonly taskId: string } }
  | { readonly type: "result"; readonly result: McpResult }
  | { readonly type: "error"; readonly error: Error };

/** Calls a tool under the server's own name for it. */
export async function callTool(
  client: McpClient,
  tool: McpToolDescription,
  params: CallToolParams,
  options: CallToolOptions,
): Promise<McpResult> {
  try {
    if (isVersion2(client)) return await client.callTool(params, options);
    const { experimental } = version1(client);
    // Version 1 refuses to call these in the plain way; version 2 has no tasks.
    const isTask = tool.execution?.taskSupport === "required" && experimental !== undefined;
    if (isTask) return await callAsTask(experimental.tasks, params, options);
    return await version1(client).callTool(params, undefined, options);
  } catch (error) {
    // What the server says of the model's own arguments is for the model, as if it were a result.
    if (!(error instanceof Error) || !("code" in error) || error.code !== INVALID_PARAMS) throw error;
    if (OF_THE_RESULT.test(error.message)) throw error;
    throw new ToolError(error.message, { cause: error });
  }
}

const INVALID_PARAMS = -32_602;
/** The SDKs use the same code where a result does not fit: the tool has run, and the model has nothing to mend. */
const OF_THE_RESULT = /output schema|structured content|tools\/call result/i;

/** Starts a task and waits for its result; a task that nobody waits for any more is cancelled at once. */
async function callAsTask(tasks: Tasks, params: CallToolParams, options: CallToolOptions): Promise<McpResult> {
  // The SDK applies a time-out to each question of how the task is, and sees an abort between two of them. A signal of
  // `AbortSignal.timeout` within `AbortSignal.any` can be collected before its time: https://github.com/nodejs/node/issues/57736
  const controller = new AbortController();
  const { signal } = controller;
  const timeOut = () => controller.abort(new DOMException(`no result within ${options.timeout} ms`, "TimeoutError"));
  const timer = setTimeout(timeOut, options.timeout);
  options.signal.addEventListener("abort", () => controller.abort(options.signal.reason), { once: true });
  let taskId: string | undefined;
  const run = async (): Promise<McpResult> => {
    for await (const message of tasks.callToolStream(params, undefined, { ...options, signal })) {
      if (message.type === "result") return message.result;
      if (message.type === "error") throw message.error;
      ({ taskId } = message.task);
      signal.throwIfAborted();
    }
    throw new Error("the server ended the task without a result");
  };
  try {
    return await Promise.race([run(), aborted(signal)]);
  } finally {
    clearTimeout(timer);
    // The call has failed by now, whatever becomes of the notice.
    if (signal.aborted && taskId !== undefined) tasks.cancelTask(taskId).catch(() => undefined);
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
  });
}

/** More than a server has: one that always gives another cursor would be read for ever. */
const MAX_PAGES = 1_000;

/** Reads every page. */
export async function listTools(client: McpClient): Promise<readonly McpToolDescription[]> {
  const tools: McpToolDescription[] = [];
  const cursors = new Set<string | undefined>();
  let cursor: string | undefined;
  do {
    cursors.add(cursor);
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    // Not `push(...tools)`: a page may have more of them than a function takes arguments.
    for (const tool of page.tools) tools.push(tool);
    cursor = page.nextCursor;
    if (cursor !== undefined && cursors.has(cursor))
      throw new Error(`the server's list of tools has no end: it gives a cursor again`);
    if (cursor !== undefined && cursors.size >= MAX_PAGES)
      throw new Error(`the server's list of tools has no end: ${MAX_PAGES} pages, and more`);
  } while (cursor !== undefined);
  // Version 1 checks results by the output schemas of the page that it read last, and forgets the others'.
  if (cursors.size > 1) {
    const { cacheToolMetadata, cacheToolOutputSchemas } = version1(client);
    (cacheToolMetadata ?? cacheToolOutputSchemas)?.call(client, tools);
  }
  return tools;
}

/** The boundary between the two versions of the SDK: a method that only version 2 has tells them apart. */
function isVersion2(client: McpClient): client is McpClient & Version2 {
  return "getNegotiatedProtocolVersion" in client;
}

/** Every client that is not of version 2 is one of version 1, whose methods have other parameters. */
function version1(client: McpClient): Version1 {
  return client as McpClient & Version1;
}
