import { defineTool, type ExtensionToken, extensionToken, ToolSet } from "tool-call-extensions";
import { type McpServer, type McpToolsOptions, mcpTools, serveTools } from "tool-call-extensions/mcp";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { type Connection, type Connector, connectors } from "../mcp/connections.ts";
import { Hunt, SECRET, secretExtensions, secretOf } from "./leak-hunt.ts";
import { CALLS, call, pays, type Seed, secretTools, takeAllPaths } from "./leak-paths.ts";
import { OVERHEARD } from "./overheard.ts";

// The same hunt over MCP: the client's values and the server's, on the wire in both directions, and on both sides of it.

const KEY = "com.example/tenant";
const Tenant: ExtensionToken<"tenant", string> = extensionToken("tenant").of(z.string());

interface Transport {
  send(message: unknown, ...rest: readonly unknown[]): unknown;
  onmessage?: ((message: unknown, ...rest: readonly unknown[]) => void) | undefined;
}

/** Each SDK's client has its transport, which the adapter does not read. */
function transportOf({ client }: Connection): Transport {
  const { transport } = Object(client) as { readonly transport?: Transport };
  if (transport === undefined) throw new Error("the client has no transport");
  return transport;
}

/** Searches each JSON-RPC message as the client sends and gets it; counts the calls, and the forwarded values at their place. */
function huntWires(hunt: Hunt, connection: Connection): { readonly calls: number; readonly forwarded: number } {
  const sent = { calls: 0, forwarded: 0 };
  const transport = transportOf(connection);
  const { send, onmessage } = transport;
  const withoutForwarded = (message: unknown): string =>
    JSON.stringify(message, (key, value) => {
      if (key !== KEY || value !== SECRET) return value;
      sent.forwarded++;
      return "(forwarded)";
    });
  transport.send = (message, ...rest) => {
    if (Object(message).method === "tools/call") sent.calls++;
    hunt.note("wire, sent", withoutForwarded(message));
    return Reflect.apply(send, transport, [message, ...rest]);
  };
  transport.onmessage = (message, ...rest) => {
    hunt.note("wire, received", JSON.stringify(message));
    onmessage?.(message, ...rest);
  };
  return sent;
}

interface Leaks {
  readonly tool?: Seed;
  readonly meta?: McpToolsOptions["meta"];
  /** A served tool that is called by a secret name: revision 2026-07-28 has the name in a header. */
  readonly isNamed?: boolean;
}

const named = defineTool({ name: SECRET, input: {}, call: () => 1 });

/** A server whose calls have values of its own, and one of which everything that it tells is searched. */
const serving =
  (hunt: Hunt, tool: Seed, isNamed: boolean) =>
  (server: McpServer): void => {
    serveTools(server, new ToolSet([...secretTools(tool), ...(isNamed ? [named] : [])]), {
      accept: { [KEY]: Tenant },
      extensions: ({ accepted }) => {
        const extensions = secretExtensions();
        extensions.extend(accepted);
        return extensions;
      },
      listener: (event) => hunt.hear(event, "server events"),
    });
    const { server: inner = server } = Object(server) as { readonly server?: object };
    Object.assign(inner, { onerror: (error: Error) => hunt.look("server errors", error) });
  };

/** Over stdio the server is another process, with tools of its own, of which one says what it accepted. */
const callsOf = ({ transport }: Connector) =>
  transport === "stdio"
    ? [
        ...["progress", "media", "object", "nothing", "breaks", "unknown"].map((name) => call(name)),
        call("refuses", { order: "x" }),
      ]
    : CALLS;

async function huntThrough(connector: Connector, { tool = "none", meta, isNamed = false }: Leaks = {}) {
  const hunt = new Hunt();
  const connection = await connector.connect(serving(hunt, tool, isNamed));
  onTestFinished(() => connection.close());
  const sent = huntWires(hunt, connection);
  const options = { forward: { [KEY]: Tenant }, invocation: true, meta };
  const remote = await mcpTools(connection.client, options);
  // Each tool of the client has one value more in its map, which is to go out, and no other.
  const tools = remote.map((each) => ({
    ...each,
    callWithExtensions: (input: never, extensions: Parameters<NonNullable<typeof each.callWithExtensions>>[1]) =>
      (each.callWithExtensions ?? expect.fail())(input, extensions.with(Tenant, SECRET)),
  }));
  await takeAllPaths({
    hunt,
    tools: [...tools, pays],
    calls: [...callsOf(connector), ...(isNamed ? [call(SECRET)] : [])],
  });
  for (const message of connection.received) {
    hunt.note("wire, as the server read it", JSON.stringify(message).replaceAll(`"${KEY}":"${SECRET}"`, ""));
  }
  for (const head of connection.heads ?? []) hunt.note("wire, headers", JSON.stringify(head));
  return { hunt, sent };
}

const CLIENT = ["errors", "events", "model requests", "pino", "rejections", "results", "spans", "states", "stream"];
const WIRES = ["wire, as the server read it", "wire, received", "wire, sent", "winston"];
const [first] = connectors;

describe.each(connectors)("H12, H15: over MCP, $name", (connector) => {
  it("of all values the forwarded one is at its place on the wire, and nothing is anywhere else", async () => {
    const { hunt, sent } = await huntThrough(connector);
    const { channels, hits } = hunt.end(`MCP, ${connector.name}`);
    const ofServer = connector.transport === "stdio" ? [] : ["server errors", "server events"];
    const ofHttp = ["http", "sse"].includes(connector.transport) ? ["wire, headers"] : [];
    expect(channels).toEqual([...CLIENT, ...OVERHEARD, ...ofServer, ...ofHttp, ...WIRES].sort());
    expect(hits).toEqual({});
    expect(sent.calls).toBeGreaterThan(8);
    expect(sent.forwarded).toBe(sent.calls);
  });

  it("a value that `meta` sends is found on the wire", async () => {
    const meta: McpToolsOptions["meta"] = ({ extensions }) => ({ "com.example/leak": secretOf(extensions) });
    const { hits } = (await huntThrough(connector, { meta })).hunt.end();
    expect(hits).toEqual({ "wire, as the server read it": ["string"], "wire, sent": ["string"] });
  });
});

it("over MCP, a value in a header is found out", async () => {
  const connector = connectors.find(({ version, transport }) => version === 2 && transport === "http");
  const { hits } = (await huntThrough(connector ?? expect.fail(), { isNamed: true })).hunt.end();
  expect(hits).toMatchObject({ "wire, headers": ["string"] });
});

describe("over MCP, a value of the server's own", () => {
  it.each<[Seed, readonly string[]]>([
    ["output", ["wire, received", "server events", "model requests", "results", "states"]],
    ["error", ["wire, received", "server events", "model requests", "results", "states"]],
    ["progress", ["wire, received", "server events", "events", "stream"]],
    ["cause", ["server errors", "server events"]],
  ])("that a served tool gives away by its %s is found out", async (tool, channels) => {
    const { hits } = (await huntThrough(first ?? expect.fail(), { tool })).hunt.end();
    expect(Object.keys(hits)).toEqual(expect.arrayContaining([...channels]));
    // What only the server is told stays with it.
    if (tool === "cause")
      expect(Object.keys(hits).filter((channel) => CLIENT.includes(channel) || WIRES.includes(channel))).toEqual([
        "errors",
        "pino",
        "spans",
      ]);
  });
});
