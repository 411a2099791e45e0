import { Client } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { createMcpHandler, inputRequired } from "@modelcontextprotocol/server";
import {
  Agent,
  defineTool,
  extensionToken,
  type Tool,
  ToolCallExtensions,
  ToolError,
  type ToolEvent,
  ToolInvocationContext,
  type ToolMiddleware,
  ToolSet,
} from "tool-call-extensions";
import { type McpRequest, mcpResult, mcpTools, type ServeToolsOptions, serveTools } from "tool-call-extensions/mcp";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { scriptedModel } from "tool-call-extensions/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { connectors, server1, server2 } from "./connections.ts";
import { Limits, Tenant } from "./served-tools.ts";

const User = extensionToken("user").of<string>();
const KEY = `ik1_${"0".repeat(32)}`;

const whose = defineTool({
  name: "whose",
  input: z.object({}),
  requires: [Tenant],
  callWithExtensions: (_input, extensions) => extensions.require(Tenant),
});
const whoAmI = defineTool({
  name: "who_am_i",
  input: z.object({}),
  requires: [User],
  callWithExtensions: (_input, extensions) => extensions.require(User),
});
const identity = defineTool({
  name: "identity",
  input: z.object({}),
  callWithExtensions: (_input, extensions) => {
    const { toolCallId, invocationKey, isRemote } = extensions.require(ToolInvocationContext);
    return { toolCallId, invocationKey, isRemote };
  },
});

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** What the SDKs' clients have in common, for requests that are sent as they are. */
interface Raw {
  request(request: object): Promise<{
    readonly content?: unknown;
    readonly structuredContent?: unknown;
    readonly isError?: boolean | undefined;
  }>;
  readonly faults: readonly Error[];
}

async function serve1<Needs extends string>(
  tools: ToolSet<Needs>,
  options: ServeToolsOptions<NoInfer<Needs>>,
): Promise<Raw> {
  const server = server1((target) => serveTools(target, tools, options));
  const faults: Error[] = [];
  server.onerror = (error) => faults.push(error);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client1({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  closers.push(() => client.close());
  const schema = z.looseObject({}) as never;
  return { request: (params) => client.request({ method: "tools/call", params: params as never }, schema), faults };
}

async function serve2<Needs extends string>(
  tools: ToolSet<Needs>,
  options: ServeToolsOptions<NoInfer<Needs>>,
): Promise<Raw> {
  const server = server2((target) => serveTools(target, tools, options));
  const faults: Error[] = [];
  server.server.onerror = (error) => faults.push(error);
  // The transports of both versions carry the same messages.
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs as never), client.connect(ours as never)]);
  closers.push(() => client.close());
  return { request: (params) => client.callTool(params as never), faults };
}

describe.each([
  ["version 1", serve1],
  ["version 2", serve2],
] as const)("serveTools, %s", (_version, serve) => {
  const textOf = ({ content }: { readonly content?: unknown }) => (content as { readonly text: string }[])[0]?.text;

  it("takes the accepted keys, by their schemas, and nothing else", async () => {
    const seen: McpRequest[] = [];
    const options = {
      accept: { "com.example/tenant": Tenant, "com.example/limits": Limits },
      extensions: (request: McpRequest) => {
        seen.push(request);
        return request.accepted.expect(Tenant);
      },
    };
    const { request } = await serve(new ToolSet([whose]), options);
    const _meta = {
      "com.example/tenant": "t-7",
      "com.example/limits": { max: 3, extra: 1 },
      "com.example/admin": true,
      tenant: "x",
    };
    expect(textOf(await request({ name: "whose", arguments: {}, _meta }))).toBe("t-7");
    expect(seen[0]?.accepted.tokens()).toEqual([Tenant, Limits]);
    expect(seen[0]?.accepted.get(Limits)).toEqual({ max: 3 });
    expect(seen[0]).toMatchObject({ toolName: "whose", sessionId: undefined, authInfo: undefined });
    expect(seen[0]?.signal).toBeInstanceOf(AbortSignal);
  });

  it.each([
    ["does not fit its schema", 7, /its value does not fit its schema at: the root/],
    ["is too large", "x".repeat(17_000), /its JSON is longer than 16384 characters/],
  ])("refuses an accepted key whose value %s, without quoting it", async (_what, value, message) => {
    const { request } = await serve(new ToolSet([identity]), { accept: { "com.example/tenant": Tenant } });
    const failure = request({ name: "identity", arguments: {}, _meta: { "com.example/tenant": value } });
    await expect(failure).rejects.toMatchObject({ code: -32_600, message: expect.stringMatching(message) });
    await expect(failure).rejects.not.toThrow("xxxx");
  });

  it("tells the client which accepted key is missing", async () => {
    const accept = { "com.example/tenant": Tenant };
    const asked = await serve(new ToolSet([whose]), { accept, extensions: ({ accepted }) => accepted.expect(Tenant) });
    const left = await serve(new ToolSet([whose]), { accept, extensions: ({ accepted }) => accepted });
    for (const { request } of [asked, left]) {
      await expect(request({ name: "whose", arguments: {} })).rejects.toMatchObject({
        code: -32_600,
        message: expect.stringContaining('Tool "whose" needs "com.example/tenant" in _meta.'),
      });
    }
  });

  it("does not take what an object inherits for a key that was sent", async () => {
    const Inherited = extensionToken("inherited").of(z.unknown());
    const sizes: number[] = [];
    const extensions = ({ accepted }: McpRequest) => {
      sizes.push(accepted.size);
      return accepted;
    };
    const { request } = await serve(new ToolSet([identity]), { accept: { constructor: Inherited }, extensions });
    await request({ name: "identity", arguments: {}, _meta: { a: 1 } });
    expect(sizes).toEqual([0]);
  });

  it("lets the server's own value win over the client's", async () => {
    const extensions = ({ accepted }: McpRequest) => accepted.with(Tenant, "of the server");
    const { request } = await serve(new ToolSet([whose]), { accept: { "com.example/tenant": Tenant }, extensions });
    const _meta = { "com.example/tenant": "spoofed" };
    expect(textOf(await request({ name: "whose", arguments: {}, _meta }))).toBe("of the server");
  });

  it("keeps a fault of the server from the client and tells the server", async () => {
    const broken = new Error("no connection, password=canary-41");
    const extensions = (): ToolCallExtensions<"user"> => {
      throw broken;
    };
    const { request, faults } = await serve(new ToolSet([whoAmI]), { extensions });
    const failure = request({ name: "who_am_i", arguments: {} });
    await expect(failure).rejects.toMatchObject({
      code: -32_603,
      message: expect.stringContaining('Tool "who_am_i" failed.'),
    });
    await expect(failure).rejects.not.toThrow("canary");
    expect(faults).toContain(broken);
  });

  it("tells the server, not the client, of an extension that it should have made", async () => {
    const extensions = ({ accepted }: McpRequest): ToolCallExtensions<string> => accepted;
    const { request, faults } = await serve(new ToolSet([whoAmI]), { extensions });
    await expect(request({ name: "who_am_i", arguments: {} })).rejects.toMatchObject({ code: -32_603 });
    expect(faults).toMatchObject([{ code: "missing-extension" }]);
  });

  it("shows the model a refusal", async () => {
    const extensions = (): ToolCallExtensions<"user"> => {
      throw new ToolError("Log in first.");
    };
    const { request } = await serve(new ToolSet([whoAmI]), { extensions });
    expect(await request({ name: "who_am_i", arguments: {} })).toMatchObject({
      isError: true,
      content: [{ type: "text", text: "Log in first." }],
    });
  });

  it("answers an unknown tool with the protocol's error, which names the real ones", async () => {
    const { request } = await serve(new ToolSet([identity]), {});
    await expect(request({ name: "idendity", arguments: {} })).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('There is no tool "idendity". Available: identity.'),
    });
  });

  it.each([
    [{ "tool-call-extensions/tool-call-id": "call_1x", "tool-call-extensions/invocation-key": KEY }, "call_1x", KEY],
    [{ "tool-call-extensions/tool-call-id": "call_1x" }, "call_1x", undefined],
    [{ "tool-call-extensions/invocation-key": KEY }, expect.any(String), KEY],
  ])("takes the client's word %o as that", async (_meta, toolCallId, invocationKey) => {
    const { request } = await serve(new ToolSet([identity]), {});
    expect((await request({ name: "identity", arguments: {}, _meta })).structuredContent).toEqual({
      toolCallId,
      ...(invocationKey !== undefined && { invocationKey }),
      isRemote: true,
    });
  });

  it.each([
    {},
    { "tool-call-extensions/tool-call-id": "", "tool-call-extensions/invocation-key": "ik1_short" },
    { "tool-call-extensions/tool-call-id": "a\\nb c", "tool-call-extensions/invocation-key": 7 },
    { "tool-call-extensions/tool-call-id": "x".repeat(257), "tool-call-extensions/invocation-key": `${KEY}0` },
  ])("makes an id where the client sent none that could be one: %o", async (_meta) => {
    const { request } = await serve(new ToolSet([identity]), {});
    const { structuredContent } = await request({ name: "identity", arguments: {}, _meta });
    expect(structuredContent).toEqual({ toolCallId: expect.stringMatching(/^[0-9A-Za-z]{9}$/), isRemote: false });
  });

  it("runs a call that is sent twice under one key once", async () => {
    let runs = 0;
    const charge = defineTool({ name: "charge", input: z.object({}), call: () => ({ run: ++runs }) });
    const { request } = await serve(new ToolSet([charge], { middleware: [once({ store: memoryOnceStore() })] }), {});
    const sent = { name: "charge", arguments: {}, _meta: { "tool-call-extensions/invocation-key": KEY } };
    const results = await Promise.all([request(sent), request(sent)]);
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual([{ run: 1 }, { run: 1 }]);
  });

  it("tells its listener of every call", async () => {
    const events: ToolEvent[] = [];
    const { request } = await serve(new ToolSet([identity]), { listener: (event) => events.push(event) });
    await request({ name: "identity", arguments: {} });
    expect(events.map(({ type }) => type)).toEqual(["tool-requested", "tool-completed"]);
  });

  it("reads arguments that are missing as none", async () => {
    const { request } = await serve(new ToolSet([identity]), {});
    expect(await request({ name: "identity" })).toMatchObject({ structuredContent: { isRemote: false } });
  });
});

describe.each([
  ["version 1", serve1],
  ["version 2", serve2],
] as const)("an answer of serveTools, %s", (_version, serve) => {
  const image = { type: "image", mimeType: "image/png", data: "AAEC" };
  const inner = defineTool({
    name: "inner",
    input: z.object({}),
    call: () => mcpResult({ content: [{ type: "text", text: "canary-inner" }, image], _meta: { "com.example/a": 1 } }),
  });
  const answerOf = async (
    tool: Tool<never, unknown, never>,
    options: ConstructorParameters<typeof ToolSet>[1] = {},
  ) => {
    const { request } = await serve(new ToolSet([tool], options), {});
    return request({ name: tool.name, arguments: { prompt: "x" } });
  };

  it("is the content that the tool gave", async () => {
    expect(await answerOf(inner)).toMatchObject({
      content: [{ text: "canary-inner" }, image],
      _meta: { "com.example/a": 1 },
    });
  });

  it.each(["The picture is fine.", "canary-inner\n[image, image/png, 3 bytes]"])(
    "is a sub-agent's answer %j, not the content that a tool in it gave",
    async (text) => {
      const model = scriptedModel([{ toolCalls: [{ toolName: "inner", input: {} }] }, text]);
      const answer = await answerOf(new Agent({ name: "a", model, tools: [inner] }).asTool({ name: "ask" }));
      expect(answer.content).toEqual([{ type: "text", text }]);
      expect(JSON.stringify(answer)).not.toContain("com.example/a");
    },
  );

  it("is what a middleware put in its place", async () => {
    const redact: ToolMiddleware = async (call, next) => {
      const outcome = await next(call);
      return outcome.status === "completed" ? { ...outcome, output: "redacted" } : outcome;
    };
    const answer = await answerOf(inner, { middleware: [redact] });
    expect(answer.content).toEqual([{ type: "text", text: "redacted" }]);
    expect(JSON.stringify(answer)).not.toContain("canary-inner");
  });

  it("is data, also where the data looks like a question of the protocol", async () => {
    const data = { resultType: "input_required", inputRequests: { pin: { method: "elicitation/create" } } };
    const fetched = defineTool({ name: "fetched", input: {}, call: () => data });
    const answer = await answerOf(fetched);
    expect(answer).toMatchObject({ content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data });
    expect(answer).not.toHaveProperty("resultType", "input_required");
  });

  it("has an object whole, however long its text, and none where JSON cannot hold it", async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => ({ index }));
    const long = await answerOf(defineTool({ name: "long", input: {}, call: () => ({ rows }) }));
    expect(long.structuredContent).toEqual({ rows });
    expect(JSON.stringify(long.content).length).toBeLessThan(80_000);
    for (const value of [new Map([[1, 2]]), Number.NaN, 1n, new Uint8Array(2), new Error("x"), () => 1]) {
      const answer = await answerOf(defineTool({ name: "odd", input: {}, call: () => ({ value }) }));
      expect(answer).not.toHaveProperty("structuredContent");
      expect(answer.content).toMatchObject([{ type: "text" }]);
    }
  });

  it("that `once` gives again is the text of it", async () => {
    const tools = new ToolSet([inner], { middleware: [once({ store: memoryOnceStore() })] });
    const { request } = await serve(tools, {});
    const sent = { name: "inner", arguments: {}, _meta: { "tool-call-extensions/invocation-key": KEY } };
    expect((await request(sent)).content).toHaveLength(2);
    expect(await request(sent)).toMatchObject({
      content: [{ type: "text", text: "canary-inner\n[image, image/png, 3 bytes]" }],
    });
  });
});

describe.each([
  ["version 1", serve1],
  ["version 2", serve2],
] as const)("the faults of serveTools, %s", (_version, serve) => {
  it("a crash of a tool is told to the server, and a refusal is not", async () => {
    const crash = new Error("no connection");
    const crashes = defineTool({ name: "crashes", input: {}, call: () => Promise.reject(crash) });
    const refuses = defineTool({ name: "refuses", input: {}, call: () => Promise.reject(new ToolError("no")) });
    const { request, faults } = await serve(new ToolSet([crashes, refuses]), {});
    await request({ name: "crashes", arguments: {} });
    await request({ name: "refuses", arguments: {} });
    expect(faults).toEqual([crash]);
  });

  it("an extensions function that gives nothing fails the call: what was accepted does not stand in", async () => {
    const { request, faults } = await serve(new ToolSet([identity]), { extensions: (() => undefined) as never });
    await expect(request({ name: "identity", arguments: {} })).rejects.toMatchObject({ code: -32_603 });
    expect(String(faults[0])).toContain("the extensions of a call must be a ToolCallExtensions");
  });

  it("an async listener that rejects is told to the console", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { request } = await serve(new ToolSet([identity]), {
      listener: () => Promise.reject(new Error("listener")) as never,
    });
    expect((await request({ name: "identity", arguments: {} })).isError ?? false).toBe(false);
    await expect.poll(() => report.mock.calls.length).toBe(2);
    report.mockRestore();
  });

  it("a key is another one for each scope, and the same again for the same", async () => {
    const key = async (client: string | undefined) => {
      const { request } = await serve(new ToolSet([identity]), { keyScope: () => client });
      const { structuredContent } = await request({
        name: "identity",
        arguments: {},
        _meta: { "tool-call-extensions/invocation-key": KEY },
      });
      return Object(structuredContent).invocationKey;
    };
    const [first, second, again] = [await key("alice"), await key("mallory"), await key("alice")];
    expect(first).toMatch(/^ik1_[0-9a-v]{32}$/);
    expect(again).toBe(first);
    expect(new Set([KEY, first, second]).size).toBe(3);
    // Who has no scope could work out the key that another's scope gives, and send that.
    expect(await key(undefined)).toBeUndefined();
  });
});

describe("serveTools", () => {
  it("gives what the token verifier found out, over HTTP with version 2 and in memory with version 1", async () => {
    const authInfo = { token: "tok", clientId: "client-9", scopes: ["orders"] };
    const seen: unknown[] = [];
    const options = {
      extensions: (request: McpRequest) => {
        seen.push(request.authInfo);
        return request.accepted;
      },
    };
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await server1((target) => serveTools(target, new ToolSet([identity]), options)).connect(theirs);
    await ours.start();
    await ours.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "identity" } }, { authInfo });
    const handler = createMcpHandler(() => server2((target) => serveTools(target, new ToolSet([identity]), options)));
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "identity", arguments: {} } };
    await handler.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(call) }), {
      authInfo,
    });
    await expect.poll(() => seen).toEqual([authInfo, authInfo]);
  });

  it("refuses to ask a client that cannot be asked", async () => {
    const asks = defineTool({ name: "asks", input: {}, call: () => mcpResult(inputRequired({ requestState: "s" })) });
    const { request, faults } = await serve1(new ToolSet([asks]), {});
    await expect(request({ name: "asks", arguments: {} })).rejects.toMatchObject({ code: -32_603 });
    expect(String(faults[0])).toContain('tool "asks" asks its client for input, which takes version 2 of the SDK');
  });

  it.each([server1, server2])("refuses to take another set's place", (make) => {
    const twice = () =>
      make((target) => {
        serveTools(target, new ToolSet([identity]));
        serveTools(target, new ToolSet([whose]), { extensions: ({ accepted }) => accepted });
      });
    expect(twice).toThrow(/tools\/list/);
  });

  it.each([
    [{ accept: { "com.example/x": User } }, /"com.example\/x" in option accept must be a token with a schema/],
    [{ accept: "x" as never }, /option accept must be an object of tokens by _meta key; received a string/],
    [{ extensions: "x" as never }, /option extensions must be a function; received a string/],
    [{ keyScope: 7 as never }, /option keyScope must be a function; received 7/],
    [{ listener: {} as never }, /option listener must be a function; received an object/],
  ])("refuses %o", (options, message) => {
    expect(() => server2((server) => serveTools(server, new ToolSet([identity]), options))).toThrow(message);
  });

  it("takes the low-level server as well", async () => {
    const connector = connectors[0];
    const connection = await connector?.connect((server) =>
      serveTools("server" in server ? server.server : server, new ToolSet([identity])),
    );
    if (connection !== undefined) closers.push(connection.close);
    expect((await connection?.client.listTools())?.tools.map(({ name }) => name)).toEqual(["identity"]);
  });

  it("writes out the type that the protocol wants of an input schema", async () => {
    const tools = new ToolSet([defineTool({ name: "any", input: {}, call: () => 1 })]);
    const connection = await connectors[0]?.connect((server) => serveTools(server, tools));
    if (connection !== undefined) closers.push(connection.close);
    expect((await connection?.client.listTools())?.tools).toEqual([{ name: "any", inputSchema: { type: "object" } }]);
  });

  it("sends no result before its progress, over however slow a transport", async () => {
    const tick = defineTool({
      name: "tick",
      input: z.object({}),
      async *call() {
        yield "half";
        return "whole";
      },
    });
    const server = server1((target) => serveTools(target, new ToolSet([tick])));
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    const send = theirs.send.bind(theirs);
    theirs.send = async (message, options) => {
      if ("method" in message) await new Promise((resolve) => setTimeout(resolve, 20));
      await send(message, options);
    };
    const client = new Client1({ name: "client", version: "1.0.0" });
    await Promise.all([server.connect(theirs), client.connect(ours)]);
    closers.push(() => client.close());
    const told: unknown[] = [];
    const onprogress = (progress: unknown) => told.push(progress);
    await client.callTool({ name: "tick", arguments: {} }, undefined, { onprogress });
    expect(told).toEqual([{ progress: 1, message: "half" }]);
  });

  it("passes on the protocol's progress from its very beginning", async () => {
    const copies = defineTool({
      name: "copies",
      input: z.object({}),
      async *call() {
        for (const progress of [0, 50, 100]) yield { progress, total: 100 };
        // A notice that comes after the result is lost.
        await new Promise((resolve) => setTimeout(resolve, 10));
      },
    });
    const connection = await connectors[0]?.connect((server) => serveTools(server, new ToolSet([copies])));
    if (connection === undefined) throw new Error("no connector");
    closers.push(connection.close);
    const told: unknown[] = [];
    const listener = (event: ToolEvent): void => {
      if (event.type === "tool-progress") told.push(event.output);
    };
    await new ToolSet(await mcpTools(connection.client)).call("copies", {}, { listener });
    expect(told).toEqual([0, 50, 100].map((progress) => ({ progress, total: 100 })));
  });

  it("refuses to accept a key that the protocol does not allow", () => {
    const serve = (key: string) =>
      server2((server) => serveTools(server, new ToolSet([identity]), { accept: { [key]: Tenant } }));
    expect(() => serve("io.modelcontextprotocol/clientInfo")).toThrow(/reserved for the protocol/);
    expect(() => serve("progressToken")).toThrow(/"progressToken" must be a key of your own/);
  });

  it("does not compile where a tool needs what no option makes", () => {
    const check = () =>
      server2((server) => {
        // @ts-expect-error option extensions is missing
        serveTools(server, new ToolSet([whoAmI]));
        // @ts-expect-error option extensions is missing
        serveTools(server, new ToolSet([whoAmI]), { accept: {} });
        // @ts-expect-error option extensions is undefined
        serveTools(server, new ToolSet([whoAmI]), { extensions: undefined });
        // @ts-expect-error "user" is not in the map
        serveTools(server, new ToolSet([whoAmI]), { extensions: () => new ToolCallExtensions().with(Tenant, "t") });
      });
    expect(check).toBeTypeOf("function");
  });
});
