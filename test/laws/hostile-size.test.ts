import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import {
  Agent,
  type AssistantPart,
  decodeExtensions,
  defineTool,
  extensionToken,
  type Model,
  ToolSet,
} from "tool-call-extensions";
import { mcpResult, mcpTools } from "tool-call-extensions/mcp";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const done = scriptedModel(() => "done");
const tool = (name: string) => ({ name, inputSchema: { type: "object" as const } });

describe("what has no bound", () => {
  /** States inside one another, as no agents are; made from the inside, as JSON cannot say how deep it is. */
  const nested = (depth: number) => {
    const base = {
      version: 1,
      agentName: "a",
      runId: "r",
      turn: 1,
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
    };
    let state: object = { ...base, calls: [] };
    for (let level = 0; level < depth; level++) {
      state = {
        ...base,
        calls: [{ toolCallId: "c", wireId: "c", toolName: "t", input: {}, status: "started", run: state }],
      };
    }
    return state;
  };

  it.each([101, 20_000])("states %i deep in one another are refused by field", (depth) => {
    const agent = new Agent({ name: "a", model: done });
    expect(() => agent.resume(nested(depth))).toThrow(
      expect.objectContaining({ code: "invalid-state", message: expect.stringContaining("at most 100 runs deep") }),
    );
  });

  it("a server that always has another page of tools is left", async () => {
    let asked = 0;
    const client = await connectTo(() => ({ tools: [], nextCursor: String(++asked) }));
    await expect(mcpTools(client)).rejects.toThrow(/list of tools has no end: 1000 pages/);
    expect(asked).toBe(1_000);
  });
});

describe("more than a function takes arguments", () => {
  const MANY = 200_000;

  it("of calls in one answer each has its result, in call order", { timeout: 120_000 }, async () => {
    const parts = Array.from({ length: MANY }, (_, n): AssistantPart => {
      return { type: "tool-call", toolCallId: `call_n${n}x`, toolName: "probe", input: {} };
    });
    const answers: (readonly AssistantPart[])[] = [parts, [{ type: "text", text: "done" }]];
    const model: Model = { generate: async () => ({ content: answers.shift() ?? [] }) };
    const probe = defineTool({ name: "probe", input: {}, call: () => "ok" });
    const { messages } = await new Agent({ name: "a", model, tools: [probe] }).prompt("x").run();
    expect(messages).toHaveLength(MANY + 3);
    expect(messages[MANY + 1]).toMatchObject({ role: "tool", toolCallId: `call_n${MANY - 1}x`, text: "ok" });
  });

  it("of tools in one page of a server are all there", { timeout: 120_000 }, async () => {
    const client = await connectTo(() => ({ tools: Array.from({ length: MANY }, (_, n) => tool(`t${n}`)) }));
    expect(await mcpTools(client)).toHaveLength(MANY);
  });
});

/** Text that takes the longest where a reader goes back over what it has read. */
const GROWING: readonly (readonly [string, number, (size: number) => unknown])[] = [
  [
    "base64 that is all padding",
    40_000,
    (size) => mcpResult({ content: [{ type: "image", mimeType: "i", data: `${"=".repeat(size)}x` }] }),
  ],
  ["a provider's id of separators", 200_000, (size) => askOnce("-".repeat(size), "probe")],
  ["a provider's id of digits", 200_000, (size) => askOnce("1".repeat(size), "probe")],
  ["a provider's id of half characters", 20_000, (size) => askOnce("\ud800".repeat(size), "probe")],
  ["the name of no tool", 200_000, (size) => askOnce("call_abc", "x".repeat(size))],
  ["arguments with one key many times", 20_000, (size) => call(`{${'"a":1,'.repeat(size)}"a":1}`)],
  ["arguments with many keys", 5_000, (size) => call(JSON.stringify(Object.fromEntries(numbers(size))))],
  ["arguments that end in the middle", 100_000, (size) => call(`{"a":[${"[".repeat(size)}`)],
  ["a value from outside", 4_000, (size) => decodeExtensions({ t: "x".repeat(size) }, [Text])],
  ["calls of one answer", 500, (size) => askMany(size)],
  ["messages of a conversation", 4_000, (size) => resumeAfter(size)],
];

const Text = extensionToken("t").of(z.string());
const tools = new ToolSet([defineTool({ name: "probe", input: { type: "object" }, call: () => "ok" })]);
const call = (input: unknown) => tools.call("probe", input);
const numbers = (size: number) => Array.from({ length: size }, (_, n): [string, number] => [`k${n}`, n]);

const agentThatAsks = (content: readonly AssistantPart[]) => {
  let asked = 0;
  const model: Model = {
    generate: async () => ({ content: asked++ === 0 ? content : [{ type: "text", text: "done" }] }),
  };
  return new Agent({ name: "a", model, tools });
};
const askOnce = (toolCallId: string, toolName: string) =>
  agentThatAsks([{ type: "tool-call", toolCallId, toolName, input: {} }])
    .prompt("x")
    .run();
const askMany = (size: number) =>
  agentThatAsks(numbers(size).map(([key]) => ({ type: "tool-call", toolCallId: key, toolName: "probe", input: {} })))
    .prompt("x")
    .session("s")
    .run();
const resumeAfter = (size: number) => {
  const state = {
    version: 1,
    agentName: "a",
    runId: "r",
    turn: 1,
    messages: Array.from({ length: size }, () => ({ role: "user", text: "x" })),
    usage: { inputTokens: 0, outputTokens: 0 },
    calls: [],
  };
  return new Agent({ name: "a", model: done, tools }).resume(state).run();
};

it.each(GROWING)(
  "four times as much of %s takes no sixteen times as long",
  { timeout: 120_000 },
  async (_what, size, work) => {
    await work(size);
    const [one, four] = [await medianMs(() => work(size)), await medianMs(() => work(4 * size))];
    // Linear is four, quadratic sixteen. What takes less than five milliseconds is noise: quadratic, four times of it takes seconds.
    expect(four / Math.max(one, 5)).toBeLessThan(10);
  },
);

async function medianMs(work: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 7; round++) {
    const begun = performance.now();
    await work();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[3] ?? 0;
}

async function connectTo(
  page: () => { readonly tools: ReturnType<typeof tool>[]; readonly nextCursor?: string },
): Promise<Client> {
  const server = new Server({ name: "server", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => page());
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: "client", version: "1.0.0" });
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return client;
}
