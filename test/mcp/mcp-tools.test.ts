import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Agent, extensionToken, outcomeText, type RunEvent, ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { mcpTools } from "tool-call-extensions/mcp";
import { scriptedModel } from "tool-call-extensions/testing";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of(z.string());
const Secret = extensionToken("secret").of(z.string());
const Live = extensionToken("live").of<string>();

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

interface Wire {
  readonly client: Client;
  /** Every JSON-RPC message the server received. */
  readonly received: readonly unknown[];
  readonly cancelled: () => boolean;
}

async function connect(): Promise<Wire> {
  const server = new McpServer({ name: "server", version: "1.0.0" });
  server.registerTool("meta", { inputSchema: { n: z.number() } }, ({ n }, { _meta }) => {
    return { content: [{ type: "text", text: JSON.stringify({ n, meta: _meta ?? null }) }] };
  });
  server.registerTool("structured", { outputSchema: { degrees: z.number() } }, () => {
    return { content: [{ type: "text", text: "{}" }], structuredContent: { degrees: 21 } };
  });
  server.registerTool("picture", {}, () => ({ content: [{ type: "image", mimeType: "image/png", data: "AA==" }] }));
  server.registerTool("refuses", {}, () => ({ isError: true, content: [{ type: "text", text: "no such order" }] }));
  let isCancelled = false;
  server.registerTool("waits", {}, (_extra) => {
    return new Promise(() => {
      _extra.signal.addEventListener("abort", () => {
        isCancelled = true;
      });
    });
  });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await server.connect(theirs);
  const received: unknown[] = [];
  const deliver = theirs.onmessage;
  theirs.onmessage = (message, extra) => {
    received.push(message);
    deliver?.(message, extra);
  };
  await client.connect(ours);
  closers.push(() => client.close());
  return { client, received, cancelled: () => isCancelled };
}

async function textOf(tools: ToolSet<never>, name: string, extensions = new ToolCallExtensions()): Promise<string> {
  return outcomeText(await tools.callWithExtensions(name, name === "meta" ? { n: 1 } : {}, extensions), name);
}

describe("forwarding", () => {
  const extensions = new ToolCallExtensions().with(Tenant, "t-7").with(Secret, "canary-5f1").with(Live, "canary-77c");

  test("sends the tokens that were named, under the names they were given", async () => {
    const { client } = await connect();
    const tools = new ToolSet(await mcpTools(client, { forward: { "com.example/tenant": Tenant } }));
    expect(JSON.parse(await textOf(tools, "meta", extensions))).toEqual({
      n: 1,
      meta: { "com.example/tenant": "t-7" },
    });
  });

  test("sends nothing by default", async () => {
    const { client } = await connect();
    expect(JSON.parse(await textOf(new ToolSet(await mcpTools(client)), "meta", extensions))).toEqual({
      n: 1,
      meta: null,
    });
  });

  test("keeps every other value off the wire, out of events and out of what the model sees", async () => {
    const { client, received } = await connect();
    const model = scriptedModel([{ toolCalls: [{ toolName: "meta", input: { n: 1 } }] }, "done"]);
    const agent = new Agent({
      name: "a",
      model,
      tools: await mcpTools(client, { forward: { "com.example/t": Tenant } }),
    });
    const events: RunEvent[] = [];
    for await (const event of agent.prompt("x").toolExtensions(extensions).stream()) events.push(event);
    expect(JSON.stringify(received)).toContain("t-7");
    for (const text of [received, model.requests, events].flatMap((all) => [
      JSON.stringify(all),
      inspect(all, { depth: 20 }),
    ])) {
      expect(text).not.toContain("canary");
    }
  });

  test("leaves a token out that the caller does not have", async () => {
    const { client } = await connect();
    const tools = new ToolSet(await mcpTools(client, { forward: { "com.example/tenant": Tenant } }));
    expect(JSON.parse(await textOf(tools, "meta"))).toEqual({ n: 1, meta: null });
  });

  test("fails the call before anything is sent when a token has no schema", async () => {
    const { client, received } = await connect();
    const tools = new ToolSet(await mcpTools(client, { forward: { "com.example/live": Live } }));
    const before = received.length;
    const outcome = await tools.callWithExtensions("meta", { n: 1 }, extensions);
    expect(outcome).toMatchObject({ status: "failed", kind: "error", error: { code: "not-portable" } });
    expect(String(outcome.status === "failed" && outcome.error)).not.toContain("canary");
    expect(received.length).toBe(before);
  });

  test.each([
    "progressToken",
    "tenant",
    "mcp.dev/x",
    "io.modelcontextprotocol/x",
    "1com/x",
    "com.example/",
    "com..x/y",
    "com.example/-a",
  ])("refuses the key %s", async (key) => {
    const { client } = await connect();
    await expect(mcpTools(client, { forward: { [key]: Tenant } })).rejects.toMatchObject({ code: "invalid-argument" });
  });
});

describe("results", () => {
  test("gives structured content as the output", async () => {
    const { client } = await connect();
    const outcome = await new ToolSet(await mcpTools(client)).callWithExtensions(
      "structured",
      {},
      new ToolCallExtensions(),
    );
    expect(outcome).toMatchObject({ status: "completed", output: { degrees: 21 } });
  });

  test("keeps content that is not text", async () => {
    const { client } = await connect();
    const outcome = await new ToolSet(await mcpTools(client)).callWithExtensions(
      "picture",
      {},
      new ToolCallExtensions(),
    );
    expect(outcome).toMatchObject({ output: [{ type: "image", mimeType: "image/png", data: "AA==" }] });
  });

  test("shows the model what the server says of a failure", async () => {
    const { client } = await connect();
    expect(await textOf(new ToolSet(await mcpTools(client)), "refuses")).toBe("no such order");
  });
});

test("keeps names as the server states them, and puts a prefix before them when asked", async () => {
  // The SDK's own McpServer cannot register such a name; its low-level Server can offer it.
  const server = new Server({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } });
  const tools = [{ name: "__proto__", inputSchema: { type: "object" as const } }];
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => ({ content: [{ type: "text", text: params.name }] }));
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  closers.push(() => client.close());
  expect((await mcpTools(client)).map(({ name }) => name)).toEqual(["__proto__"]);
  const prefixed = new ToolSet(await mcpTools(client, { prefix: "shop_" }));
  expect(await textOf(prefixed, "shop___proto__")).toBe("__proto__");
});

test("an abort ends the call and sends the server a cancel notice", async () => {
  const { client, cancelled, received } = await connect();
  const tools = new ToolSet(await mcpTools(client));
  const abort = new AbortController();
  const call = tools.callWithExtensions("waits", {}, new ToolCallExtensions(), { signal: abort.signal });
  setTimeout(() => abort.abort(new Error("stop")), 20);
  expect(await call).toMatchObject({ status: "failed", kind: "aborted", error: { message: "stop" } });
  await expect.poll(cancelled).toBe(true);
  expect(JSON.stringify(received)).toContain("notifications/cancelled");
});

test("reads every page of the list", async () => {
  const { client } = await connect();
  const page = (name: string) => ({ name, inputSchema: { type: "object" } });
  const pages = [{ tools: [page("a")], nextCursor: "2" }, { tools: [page("b")] }];
  const listTools = async (params?: { cursor?: string }) => pages[params?.cursor === "2" ? 1 : 0] ?? { tools: [] };
  const tools = await mcpTools({ listTools, callTool: client.callTool.bind(client) });
  expect(tools.map(({ name }) => name)).toEqual(["a", "b"]);
});

test("calls a real server over stdio", async () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-"));
  writeFileSync(join(folder, "note.txt"), "hello from a file");
  const path = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
  const client = new Client({ name: "client", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [path, folder], stderr: "ignore" }));
  closers.push(async () => {
    await client.close();
    rmSync(folder, { recursive: true });
  });
  const tools = new ToolSet(await mcpTools(client, { forward: { "com.example/tenant": Tenant } }));
  const read = await tools.callWithExtensions(
    "read_text_file",
    { path: join(folder, "note.txt") },
    new ToolCallExtensions().with(Tenant, "t-7"),
  );
  expect(outcomeText(read, "read_text_file")).toContain("hello from a file");
  const outside = await tools.callWithExtensions("read_text_file", { path: "/etc/hostname" }, new ToolCallExtensions());
  expect(outside).toMatchObject({ status: "failed", kind: "error" });
});
