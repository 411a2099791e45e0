import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Stream } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
  InMemoryTransport as InMemory2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport as InMemory1 } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server as Server1 } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler, McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { type McpClient, type McpServer, serveTools } from "tool-call-extensions/mcp";
import { servedTools, serveOptions } from "./served-tools.ts";

/** One JSON-RPC message as the server received it. */
export interface Received {
  readonly method?: string;
  readonly id?: unknown;
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>>; readonly arguments?: unknown };
}

export interface Connection {
  readonly client: McpClient;
  readonly received: readonly Received[];
  /** Over HTTP, the headers that each message came with. */
  readonly heads?: readonly IncomingHttpHeaders[];
  close(): Promise<void>;
}

export type Serve = (server: McpServer) => void;

export interface Connector {
  readonly name: string;
  readonly version: 1 | 2;
  readonly transport: "memory" | "stdio" | "http" | "sse";
  connect(serve?: Serve): Promise<Connection>;
}

const info = { name: "test", version: "1.0.0" };
const serveAll: Serve = (server) => serveTools(server, servedTools, serveOptions);
const stdioServer = fileURLToPath(new URL("./stdio-server.ts", import.meta.url));
const stdioCommand = (version: 1 | 2) => {
  const stderr = "pipe" as const;
  return { command: process.execPath, args: ["--import", "tsx", stdioServer, String(version)], stderr };
};
const modern = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } } as const;

export function server1(serve: Serve): Server1 {
  const server = new Server1(info);
  serve(server);
  return server;
}

export function server2(serve: Serve): McpServer2 {
  const server = new McpServer2(info);
  serve(server);
  return server;
}

/** Reads the lines that the server process received, which it copies to its stderr. */
function linesOf(stderr: Stream | null, received: Received[]): void {
  let rest = "";
  stderr?.on("data", (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split("\n");
    rest = lines.pop() ?? "";
    received.push(...lines.filter((line) => line.startsWith("{")).map((line): Received => JSON.parse(line)));
  });
}

interface Listening {
  readonly url: URL;
  close(): Promise<void>;
}

type Handle = (
  request: IncomingMessage & { body?: unknown },
  response: Parameters<Parameters<typeof createServer>[1] & object>[1],
) => unknown;

/** Parses and records each body, and its headers, before the SDK sees it. */
async function listen(received: Received[], heads: IncomingHttpHeaders[], handle: Handle): Promise<Listening> {
  const server: Server = createServer(async (request, response) => {
    if (request.method !== "POST") {
      handle(request, response);
      return;
    }
    const body: Received | readonly Received[] = JSON.parse(await text(request));
    received.push(...[body].flat());
    heads.push(request.headers);
    handle(Object.assign(request, { body }), response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/mcp`),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Records what the server's end of a pair in memory hears. */
function recordMemory(
  transport: { onmessage?: ((message: never, extra?: never) => void) | undefined },
  received: Received[],
): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message, extra) => {
    received.push(structuredClone(message));
    deliver?.(message, extra);
  };
}

export const connectors: readonly Connector[] = [
  {
    name: "version 1 in memory",
    version: 1,
    transport: "memory",
    async connect(serve = serveAll) {
      const [ours, theirs] = InMemory1.createLinkedPair();
      const client = new Client1(info);
      const received: Received[] = [];
      await server1(serve).connect(theirs);
      recordMemory(theirs, received);
      await client.connect(ours);
      return { client, received, close: () => client.close() };
    },
  },
  {
    name: "version 2 in memory",
    version: 2,
    transport: "memory",
    async connect(serve = serveAll) {
      const [ours, theirs] = InMemory2.createLinkedPair();
      const client = new Client2(info);
      const received: Received[] = [];
      await server2(serve).connect(theirs);
      recordMemory(theirs, received);
      await client.connect(ours);
      return { client, received, close: () => client.close() };
    },
  },
  {
    name: "version 1 over stdio",
    version: 1,
    transport: "stdio",
    async connect() {
      const transport = new Stdio1(stdioCommand(1));
      const client = new Client1(info);
      const received: Received[] = [];
      linesOf(transport.stderr, received);
      await client.connect(transport);
      return { client, received, close: () => client.close() };
    },
  },
  {
    name: "version 2 over stdio",
    version: 2,
    transport: "stdio",
    async connect() {
      const transport = new Stdio2(stdioCommand(2));
      const client = new Client2(info, modern);
      const received: Received[] = [];
      linesOf(transport.stderr, received);
      await client.connect(transport);
      return { client, received, close: () => client.close() };
    },
  },
  {
    name: "version 1 over HTTP",
    version: 1,
    transport: "http",
    async connect(serve = serveAll) {
      const received: Received[] = [];
      const heads: IncomingHttpHeaders[] = [];
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => "session-1" });
      await server1(serve).connect(transport);
      const { url, close } = await listen(received, heads, (request, response) =>
        transport.handleRequest(request, response, request.body),
      );
      const client = new Client1(info);
      await client.connect(new Http1(url));
      return { client, received, heads, close: () => client.close().then(close) };
    },
  },
  {
    name: "version 2 over HTTP",
    version: 2,
    transport: "http",
    async connect(serve = serveAll) {
      const received: Received[] = [];
      const heads: IncomingHttpHeaders[] = [];
      const handler = toNodeHandler(createMcpHandler(() => server2(serve)));
      const { url, close } = await listen(received, heads, (request, response) =>
        handler(request as IncomingMessage & { method: string; url: string }, response, request.body),
      );
      const client = new Client2(info, modern);
      await client.connect(new Http2(url));
      return { client, received, heads, close: () => client.close().then(close) };
    },
  },
  {
    name: "version 1 over SSE",
    version: 1,
    transport: "sse",
    async connect(serve = serveAll) {
      const received: Received[] = [];
      const heads: IncomingHttpHeaders[] = [];
      let transport: SSEServerTransport | undefined;
      const { url, close } = await listen(received, heads, async (request, response) => {
        if (request.method === "POST") return transport?.handlePostMessage(request, response, request.body);
        transport = new SSEServerTransport("/mcp", response);
        await server1(serve).connect(transport);
      });
      const client = new Client1(info);
      await client.connect(new SSEClientTransport(url));
      return { client, received, heads, close: () => client.close().then(close) };
    },
  },
];
