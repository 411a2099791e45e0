import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { Server as Server1 } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { RequestHandlerExtra } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ServerNotification, ServerRequest } from "@modelcontextprotocol/sdk/types.js";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  McpServer as McpServer2,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { type McpServer, serveTools } from "tool-call-extensions/mcp";
import { z } from "zod";
import { askingTools, Peer } from "./asking-tools.ts";
import { contentTools } from "./content-tools.ts";
import { inputRequiredTools, Round } from "./input-required-tools.ts";
import type { Generation } from "./scenarios.ts";

interface ServerUnderTest {
  readonly url: string;
  close(): Promise<void>;
}

const info = { name: "conformance", version: "1.0.0" };
const logging = { capabilities: { logging: {} } };
const states = createRequestStateCodec({ key: randomBytes(32) });
const answeringTools = new ToolSet([...contentTools, ...askingTools]);
const roundTools = new ToolSet([...contentTools, ...inputRequiredTools]);

type Extra1 = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** The boundary to version 1: the adapter hands its context through without its type. */
function peer1(context: object): Peer {
  const { sendRequest, sendNotification } = context as Extra1;
  return {
    ask: (method, params) => sendRequest({ method, params } as ServerRequest, z.looseObject({})),
    log: (data) => sendNotification({ method: "notifications/message", params: { level: "info", data } }),
  };
}

/** The boundary to version 2, likewise. */
function peer2(context: object): Peer {
  const { mcpReq } = context as ServerContext;
  return {
    ask: (method, params) => mcpReq.send({ method, params: { ...params } }),
    log: (data) => mcpReq.log("info", data),
  };
}

/** The boundary to what version 2 knows of revision 2026-07-28. */
function round(context: object): Round {
  const { mcpReq } = context as ServerContext;
  const envelope: Readonly<Record<string, unknown>> = { ...mcpReq.envelope };
  return {
    responses: mcpReq.inputResponses ?? {},
    state: mcpReq.requestState(),
    capabilities: Object(envelope[CLIENT_CAPABILITIES_META_KEY]),
    seal: (state) => states.mint(state),
  };
}

function serveAnswering(server: McpServer, peer: (context: object) => Peer): void {
  serveTools(server, answeringTools, {
    extensions: ({ context }) => new ToolCallExtensions().with(Peer, peer(context)),
  });
}

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown;

interface SessionTransport {
  handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Gives the transport of a new session, which tells its id when the client has begun it. */
type Open = (sessionIdGenerator: () => string, onsessioninitialized: (id: string) => void) => Promise<SessionTransport>;

function sessions(open: Open): Handle {
  const transports = new Map<string, SessionTransport>();
  return async (request, response) => {
    const known = transports.get(String(request.headers["mcp-session-id"]));
    const begun: { transport?: SessionTransport } = {};
    begun.transport =
      known ??
      (await open(
        () => crypto.randomUUID(),
        (id) => begun.transport && transports.set(id, begun.transport),
      ));
    await begun.transport.handleRequest(request, response);
  };
}

const version1 = sessions(async (sessionIdGenerator, onsessioninitialized) => {
  const server = new Server1(info, logging);
  serveAnswering(server, peer1);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator, onsessioninitialized });
  await server.connect(transport);
  return transport;
});

const version2 = sessions(async (sessionIdGenerator, onsessioninitialized) => {
  const server = new McpServer2(info, logging);
  serveAnswering(server, peer2);
  const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator, onsessioninitialized });
  await server.connect(transport);
  return transport;
});

const stateless = toNodeHandler(
  createMcpHandler(
    () => {
      const server = new McpServer2(info, { requestState: { verify: states.verify } });
      serveTools(server, roundTools, {
        extensions: ({ context }) => new ToolCallExtensions().with(Round, round(context)),
      });
      return server;
    },
    { legacy: "reject" },
  ),
);

const handlers: Readonly<Record<Generation, Handle>> = {
  "version 1": version1,
  "version 2": version2,
  "version 2, stateless": (request, response) => stateless(request as Parameters<typeof stateless>[0], response),
};

/** Serves the tools that the suite expects, by this library alone, over streamable HTTP on a free port. */
export async function startServer(generation: Generation): Promise<ServerUnderTest> {
  const server = createServer(handlers[generation]);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
