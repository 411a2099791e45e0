import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { extensionToken, outcomeText, ToolCallExtensions, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { McpResult, mcpTools } from "tool-call-extensions/mcp";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type Connection, connectors } from "./connections.ts";

const Tenant = extensionToken("tenant").of(z.string());
const Live = extensionToken("live").of<string>();
const Trace = extensionToken("trace").of(z.string());
const none = new ToolCallExtensions();

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function inMemory(): Promise<Connection> {
  const connector = connectors.find(({ transport }) => transport === "memory");
  if (connector === undefined) throw new Error("no connector");
  const connection = await connector.connect();
  closers.push(connection.close);
  return connection;
}

/** Connects a client to a server that has only these tools and this answer. */
async function connectTo(tools: readonly object[], answer: (name: string) => object, pageSize = 100): Promise<Client> {
  const server = new Server({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const more = from + pageSize < tools.length ? { nextCursor: String(from + pageSize) } : {};
    return { tools: tools.slice(from, from + pageSize), ...more };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => answer(params.name));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  closers.push(() => client.close());
  return client;
}

const failureOf = async (tools: ToolSet<never>, name: string, extensions = none) => {
  const outcome = await tools.callWithExtensions(name, {}, extensions);
  return outcome.status === "failed" ? outcome : expect.fail(`the call ${outcome.status}`);
};

describe("what leaves in _meta", () => {
  it("is the function's word where both name a key, also where that is undefined", async () => {
    const { client, received } = await inMemory();
    const meta = () => ({ "com.example/a": "function", "com.example/b": undefined });
    const forward = { "com.example/a": Tenant, "com.example/b": Tenant };
    const tools = new ToolSet(await mcpTools(client, { forward, meta, progress: false }));
    await tools.callWithExtensions("seen", {}, none.with(Tenant, "token"));
    expect(received.at(-1)?.params?._meta).toEqual({ "com.example/a": "function" });
  });

  it("is a copy, made for each call", async () => {
    const { client } = await inMemory();
    const sent: Record<string, unknown>[] = [];
    const callTool = (params: { readonly _meta: Record<string, unknown> }, ...rest: unknown[]) => {
      sent.push(params._meta);
      return Reflect.apply(client.callTool, client, [params, ...rest]);
    };
    const given = { "com.example/a": { list: [1] } };
    const tools = new ToolSet(
      await mcpTools({ listTools: client.listTools.bind(client), callTool }, { meta: () => given }),
    );
    await tools.callWithExtensions("seen", {}, none);
    await tools.callWithExtensions("seen", {}, none);
    expect(sent).toEqual([given, given]);
    expect(sent[0]).not.toBe(given);
    expect(sent[0]?.["com.example/a"]).not.toBe(given["com.example/a"]);
    expect(sent[0]).not.toBe(sent[1]);
  });

  it.each([
    ["a key of the protocol", { progressToken: 99 }, "progressToken"],
    ["a reserved prefix", { "io.modelcontextprotocol/clientInfo": {} }, "io.modelcontextprotocol/clientInfo"],
    ["a key of this library", { "tool-call-extensions/invocation-key": "x" }, "tool-call-extensions/invocation-key"],
    ["a malformed key", { "com..example/x": 1 }, "com..example/x"],
    ["a bad trace", { traceparent: "00-0-0-0" }, "traceparent"],
    ["a value that is not JSON", { "com.example/f": () => 1 }, "com.example/f"],
    ["a number JSON cannot hold", { "com.example/n": Number.NaN }, "com.example/n"],
    ["no object", "text", "what option meta gives"],
    ["no plain object", new Map([["com.example/a", 1]]), "what option meta gives"],
  ])("cannot be %s: that one call fails and says why", async (_what, given, named) => {
    const { client, received } = await inMemory();
    const tools = new ToolSet(await mcpTools(client, { meta: () => given as never }));
    const before = received.length;
    const { kind, error } = await failureOf(tools, "seen");
    expect(kind).toBe("error");
    expect(String(error)).toContain(named);
    expect(received.length).toBe(before);
  });

  it("may carry a trace in the W3C's names", async () => {
    const { client, received } = await inMemory();
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const tracing = { tracestate: "a=1,b@c=2", baggage: "user=42;private, region = eu" };
    const tools = new ToolSet(await mcpTools(client, { forward: { traceparent: Trace }, meta: () => tracing }));
    await tools.callWithExtensions("seen", {}, none.with(Trace, traceparent));
    expect(received.at(-1)?.params?._meta).toMatchObject({ traceparent, ...tracing });
    const { error } = await failureOf(tools, "seen", none.with(Trace, "not a trace"));
    expect(String(error)).toMatch(/"traceparent" must be followed by a value in the format of the W3C's/);
  });
});

describe("options", () => {
  it.each([
    [{ forward: { progressToken: Tenant } }, /"progressToken" must be a key of your own/],
    [{ forward: { "io.modelcontextprotocol/x": Tenant } }, /reserved for the protocol/],
    [{ forward: { "com.example/live": Live } }, /"com.example\/live" in option forward must be a token with a schema/],
    [{ forward: { "com.example/x": ToolInvocationContext } }, /must be a token with a schema/],
    [{ forward: { "com.example/x": "tenant" as never } }, /must be a token with a schema.*; received a string/],
    [{ forward: null as never }, /option forward must be an object of tokens by _meta key; received null/],
    [{ meta: "x" as never }, /option meta must be a function; received a string/],
    [{ prefix: 5 as never }, /option prefix must be a string; received 5/],
    [{ progress: "no" as never }, /option progress must be a boolean; received a string/],
    [{ invocation: 1 as never }, /option invocation must be a boolean; received 1/],
    [{ timeoutMs: 0 }, /option timeoutMs must be a number of milliseconds from 1 to 2147483647; received 0/],
    [{ timeoutMs: Number.NaN }, /received NaN/],
  ])("refuses %o", async (options, message) => {
    const { client } = await inMemory();
    await expect(mcpTools(client, options)).rejects.toThrow(message);
  });
});

describe("the list", () => {
  const page = (name: string, more: object = {}) => ({ name, inputSchema: { type: "object" }, ...more });

  it("is read to its last page, and results are checked by every page's output schemas", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const listed = ["a", "b", "c"].map((name) => page(name, { outputSchema }));
    const client = await connectTo(listed, () => ({ content: [], structuredContent: { n: "no number" } }), 1);
    const tools = new ToolSet(await mcpTools(client));
    expect(tools.definitions.map(({ name }) => name)).toEqual(["a", "b", "c"]);
    for (const name of ["a", "b", "c"]) {
      expect(String((await failureOf(tools, name)).error)).toMatch(/does not match the tool's output schema/);
    }
  });

  it("that never ends is an error", async () => {
    const client = await connectTo([page("a")], () => ({ content: [] }));
    const endless = { listTools: async () => ({ tools: [], nextCursor: "1" }), callTool: client.callTool.bind(client) };
    await expect(mcpTools(endless)).rejects.toThrow("has no end");
  });

  it("keeps names and schemas as they are, with a prefix where asked for", async () => {
    const inputSchema = { type: "object", $defs: { n: { type: "number" } }, properties: { n: { $ref: "#/$defs/n" } } };
    const client = await connectTo([page("__proto__", { inputSchema })], (name) => ({
      content: [{ type: "text", text: name }],
    }));
    expect(new ToolSet(await mcpTools(client)).definitions).toEqual([
      { name: "__proto__", description: undefined, inputSchema },
    ]);
    const prefixed = new ToolSet(await mcpTools(client, { prefix: "shop_" }));
    const outcome = await prefixed.callWithExtensions("shop___proto__", {}, none);
    expect(outcomeText(outcome, "")).toBe("__proto__");
  });

  it("is JSON Schema, whatever other schemas are known by", async () => {
    const client = await connectTo([page("a", { inputSchema: { type: "object", "~standard": {} } })], () => ({
      content: [],
    }));
    expect(new ToolSet(await mcpTools(client)).definitions[0]?.inputSchema).toEqual({ type: "object" });
  });

  it("is read again where the server says that it changed", async () => {
    const server = new McpServer({ name: "server", version: "1.0.0" });
    server.registerTool("one", {}, () => ({ content: [] }));
    const names: string[][] = [];
    const onChanged = async () => {
      names.push((await mcpTools(client)).map(({ name }) => name));
    };
    const client: Client = new Client(
      { name: "client", version: "1.0.0" },
      { listChanged: { tools: { onChanged, autoRefresh: false, debounceMs: 0 } } },
    );
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    closers.push(() => client.close());
    server.registerTool("two", {}, () => ({ content: [] }));
    await expect.poll(() => names.at(-1)).toEqual(["one", "two"]);
  });
});

describe("results", () => {
  const single = [{ name: "t", inputSchema: { type: "object" } }];
  const outcomeOf = async (result: object) => {
    const client = await connectTo(single, () => result);
    return new ToolSet(await mcpTools(client)).callWithExtensions("t", {}, none);
  };

  it("are the structured content where there is some", async () => {
    const outcome = await outcomeOf({ content: [{ type: "text", text: "{}" }], structuredContent: { degrees: 21 } });
    expect(outcome).toMatchObject({ status: "completed", output: { degrees: 21 } });
  });

  it("are whole in the result extensions", async () => {
    const result = { content: [{ type: "text", text: "hi" }], _meta: { "com.example/cost": 3 } };
    const outcome = await outcomeOf(result);
    expect(outcome.status === "completed" && outcome.resultExtensions?.get(McpResult)).toEqual(result);
  });

  it("may be null where a server structures nothing", async () => {
    const client = {
      listTools: async () => ({ tools: single }),
      callTool: async () => ({ content: [{ type: "text", text: "null" }], structuredContent: null }),
    };
    const outcome = await new ToolSet(await mcpTools(client)).call("t", {});
    expect(outcome).toMatchObject({ status: "completed", output: null });
  });

  it("that the server marks as an error keep what came with it", async () => {
    const result = { content: [{ type: "text", text: "no" }], isError: true, _meta: { "com.example/code": 7 } };
    const outcome = await outcomeOf(result);
    expect(outcome).toMatchObject({ status: "failed", kind: "error", error: { message: "no", cause: result } });
  });

  it("that do not fit the output schema are not shown as the model's mistake", async () => {
    const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const listed = [{ ...single[0], outputSchema }];
    const client = await connectTo(listed, () => ({ content: [], structuredContent: { n: "x" } }));
    const outcome = await new ToolSet(await mcpTools(client)).callWithExtensions("t", {}, none);
    expect(outcomeText(outcome, "t")).toBe('Tool "t" failed.');
  });

  it("that the server marks as an error without a word name the tool", async () => {
    expect(outcomeText(await outcomeOf({ content: [], isError: true }), "t")).toBe(
      'The server reports that "t" failed.',
    );
  });

  it("show the model what the server says of its arguments, and no other error of the protocol", async () => {
    const failing = async (code: number) => {
      const client = await connectTo(single, () => {
        throw Object.assign(new Error("city must be given"), { code });
      });
      return outcomeText(await new ToolSet(await mcpTools(client)).callWithExtensions("t", {}, none), "t");
    };
    expect(await failing(-32_602)).toContain("city must be given");
    expect(await failing(-32_603)).toBe('Tool "t" failed.');
  });
});
