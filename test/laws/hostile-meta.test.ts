import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import {
  decodeExtensions,
  defineTool,
  encodeExtensions,
  extensionToken,
  outcomeText,
  type ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { mcpTools, serveTools } from "tool-call-extensions/mcp";
import { expect, test } from "vitest";
import { z } from "zod";
import { Ends, guardPrototypes, json, names, replaced, text, tryAll } from "./hostile-values.ts";

guardPrototypes();

const Strict = extensionToken("toString").of(z.strictObject({ a: z.number() }));
const Any = extensionToken("__proto__").of(z.unknown());
const steps = fc.array(fc.nat(9), { maxLength: 5 });

test("portable extensions: what fits its schema, or a refusal that does not quote them", {
  timeout: 120_000,
}, async () => {
  const ends = new Ends();
  const inputs = fc.oneof(
    json,
    fc
      .array(fc.tuple(fc.oneof(fc.constantFrom("toString", "__proto__"), names), json))
      .map((entries) => Object.fromEntries(entries)),
    fc.record({ toString: fc.record({ a: fc.oneof(fc.integer(), json) }) }),
  );
  await tryAll("portable extensions", inputs, async (given) => {
    // What JSON.parse may give.
    const record = given as Record<string, unknown>;
    try {
      const extensions = await decodeExtensions(record, [Strict, Any]);
      ends.add("taken", ["taken"]);
      expect(extensions.size).toBeLessThanOrEqual(2);
      expect(extensions.has(Any)).toBe(Object.hasOwn(record, "__proto__"));
      const again = await encodeExtensions(extensions, [Strict, Any]);
      // By its entries, as "__proto__" is a key like any other there.
      const sent = Object.entries(record).filter(([key]) => key === "__proto__");
      expect(JSON.stringify(Object.entries(again).filter(([key]) => key === "__proto__"))).toBe(JSON.stringify(sent));
    } catch (error) {
      if (!ToolCallExtensionsError.is(error)) throw error;
      ends.add(error.code, ["not-portable", "invalid-argument"]);
    }
  });
  expect(Math.min(ends.of("taken"), ends.of("not-portable"), ends.of("invalid-argument"))).toBeGreaterThan(500);
});

/** A client of a server that answers what it is told to. */
async function connectTo(answers: { list: object; result: object }): Promise<Client> {
  const server = new Server({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => answers.list);
  server.setRequestHandler(CallToolRequestSchema, () => answers.result);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return client;
}

const listed = {
  name: "look",
  description: "x",
  inputSchema: { type: "object", properties: { a: { type: "string" } } },
};

test("names and schemas of an MCP server: tools, or a refusal of the list", { timeout: 120_000 }, async () => {
  const answers = { list: {}, result: { content: [] } };
  const client = await connectTo(answers);
  const ends = new Ends();
  const inputs = fc.tuple(fc.oneof(names, text), steps, json);
  await tryAll("names and schemas of an MCP server", inputs, async ([name, way, value]) => {
    const tools = replaced([{ ...listed, name }, listed], way, value);
    answers.list = { tools, ...(name === "a" && { nextCursor: "a" }) };
    try {
      const set = new ToolSet(await mcpTools(client));
      ends.add("tools", ["tools"]);
      expect(set.size).toBe(set.definitions.length);
      for (const { name: known } of set.definitions) expect((await set.call(known, {})).status).toBe("completed");
    } catch (error) {
      // What is no list of tools the SDK refuses, with a message that names the place.
      expect(error).toBeInstanceOf(Error);
      expect(String(error)).toMatch(/ToolCallExtensionsError|ZodError|\[\s*\{|has no end|invalid/i);
      ends.add("refused", ["refused"]);
    }
  });
  expect(Math.min(ends.of("tools"), ends.of("refused"))).toBeGreaterThan(200);
});

test("results of an MCP server: text for the model, or a failure", { timeout: 120_000 }, async () => {
  const whole = {
    content: [
      { type: "text", text: "x" },
      { type: "image", mimeType: "image/png", data: "AAEC" },
      { type: "resource", resource: { uri: "a:b", text: "x" } },
    ],
    structuredContent: { a: 1 },
    isError: false,
    _meta: { "com.example/a": 1, progressToken: 7 },
  };
  const answers = { list: { tools: [listed] }, result: {} };
  const client = await connectTo(answers);
  const tools = new ToolSet(await mcpTools(client));
  const ends = new Ends();
  await tryAll("results of an MCP server", fc.tuple(steps, json), async ([way, value]) => {
    answers.result = Object(replaced(whole, way, value));
    const outcome = await tools.call("look", {});
    ends.add(outcome.status, ["completed", "failed"]);
    if (outcome.status === "failed") expect(outcome.kind).toBe("error");
    expect(outcomeText(outcome, "look").length).toBeLessThanOrEqual(65_536);
  });
  expect(Math.min(ends.of("completed"), ends.of("failed"))).toBeGreaterThan(200);
});

test("_meta of an MCP client: the accepted keys alone, or a refusal before the tool is entered", {
  timeout: 120_000,
}, async () => {
  const seen: ToolCallExtensions<string>[] = [];
  const Traced = extensionToken("traced").of(z.string());
  const look = defineTool({
    name: "look",
    input: {},
    callWithExtensions: (_input, extensions) => void seen.push(extensions as ToolCallExtensions<string>),
  });
  const accept = { "com.example/strict": Strict, "com.example/any": Any, traceparent: Traced };
  const server = new Server({ name: "server", version: "1.0.0" });
  serveTools(server, new ToolSet([look]), { accept, keyScope: () => "scope" });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);

  const key = fc.oneof(
    names,
    fc.constantFrom(
      ...Object.keys(accept),
      "progressToken",
      "tool-call-extensions/tool-call-id",
      "tool-call-extensions/invocation-key",
    ),
  );
  const value = fc.oneof(
    json,
    fc.constant({ a: 1 }),
    fc.constant(`00-${"1".repeat(32)}-${"1".repeat(16)}-01`),
    fc.constant(`ik1_${"0".repeat(32)}`),
  );
  const meta = fc.array(fc.tuple(key, value), { maxLength: 4 });
  const ends = new Ends();
  await tryAll("_meta of an MCP client", meta, async (entries) => {
    seen.length = 0;
    // A token of another type makes a message that is none of the protocol's: the SDK drops it, and answers nothing.
    const isSent = ([key, value]: readonly [string, unknown]) =>
      key !== "progressToken" || typeof value === "string" || Number.isSafeInteger(value);
    const params = { name: "look", arguments: {}, _meta: Object.fromEntries(entries.filter(isSent)) };
    const end = await client.request({ method: "tools/call", params }, CallToolResultSchema).then(
      () => "entered",
      (error: unknown) => `refused ${(error as { readonly code?: unknown }).code}`,
    );
    ends.add(end, ["entered", "refused -32600", "refused -32602", "refused -32603"]);
    expect(seen).toHaveLength(end === "entered" ? 1 : 0);
    for (const extensions of seen) checkSeen(extensions);
  });
  expect(Math.min(ends.of("entered"), ends.of("refused -32600"))).toBeGreaterThan(500);
  expect(ends.of("refused -32603")).toBe(0);

  function checkSeen(extensions: ToolCallExtensions<string>): void {
    const known: readonly unknown[] = [Strict, Any, Traced, ToolInvocationContext];
    expect(extensions.tokens().filter((token) => !known.includes(token))).toEqual([]);
    const { toolCallId, invocationKey = `ik1_${"0".repeat(32)}` } = extensions.require(ToolInvocationContext);
    expect(toolCallId).toMatch(/^[\x21-\x7e]{1,256}$/);
    expect(invocationKey).toMatch(/^ik1_[0-9a-v]{32}$/);
  }
});
