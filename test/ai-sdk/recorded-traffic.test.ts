import { createAlibaba } from "@ai-sdk/alibaba";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI as createOpenAIV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createOpenAIV4 } from "ai-sdk-openai-v4";
import { Agent, defineTool } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel, type LanguageModelOptions } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, test } from "vitest";
import {
  type Answer,
  hasTraffic,
  type ProviderServer,
  recordedEvents,
  recordedJson,
  recordedLines,
  startProvider,
} from "./provider-server.ts";
import { callsOf, type Mode, type Ran, resultIdsOf, runInMode } from "./run-in-mode.ts";

// The providers' own clients over HTTP, and responses as their servers once sent them.

if (!hasTraffic) console.info("Recorded responses are left out: there is no ../shared/provider-traffic");

type Connect = (url: string) => LanguageModel;

/** One file can hold the responses of several requests; each begins with the named event. */
function recordedRun(file: string, first: string): readonly Answer[] {
  const answers: string[][] = [];
  for (const line of recordedLines(file)) {
    if (JSON.parse(line).type === first) answers.push([]);
    answers.at(-1)?.push(line);
  }
  return answers.map((events) => ({ events }));
}

async function play(
  connect: Connect,
  answers: readonly Answer[],
  toolNames: readonly string[],
  { mode, ...options }: LanguageModelOptions & { readonly mode: Mode },
): Promise<Ran<string> & { readonly server: ProviderServer }> {
  const server = await startProvider(answers);
  const tools = toolNames.map((name) => recordingTool({ name, result: () => `result of ${name}` }));
  const agent = new Agent({ name: "a", model: fromLanguageModel(connect(server.url), options), tools });
  const ran = await runInMode(agent.prompt("Go").session("chat-7"), mode);
  expect(resultIdsOf(ran.result.messages)).toEqual(callsOf(ran.events).map(({ toolCallId }) => toolCallId));
  return { ...ran, server };
}

/** A last answer in the chat completions format, for recordings that end with a call. */
const CHAT_END: Readonly<Record<Mode, Answer>> = {
  blocking: {
    json: {
      object: "chat.completion",
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      choices: [{ index: 0, message: { role: "assistant", content: "Done." }, finish_reason: "stop" }],
    },
  },
  streaming: {
    events: [
      JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "Done." }, finish_reason: null }] }),
      JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
      "[DONE]",
    ],
  },
};
const GOOGLE_END: unknown = {
  candidates: [{ content: { role: "model", parts: [{ text: "Done." }] }, finishReason: "STOP" }],
};

describe.skipIf(!hasTraffic)("OpenAI Responses", () => {
  const settings = { providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } } };
  const file = "openai-reasoning-encrypted-content.1.chunks.txt";

  test.each<[string, Connect]>([
    ["2", (url) => createOpenAIV2({ baseURL: url, apiKey: "k" })("gpt-5.1-codex-max")],
    ["3", (url) => createOpenAI({ baseURL: url, apiKey: "k" })("gpt-5.1-codex-max")],
    ["4", (url) => createOpenAIV4({ baseURL: url, apiKey: "k" })("gpt-5.1-codex-max")],
  ])("completes the run of four responses under specification %s", async (_version, connect) => {
    const answers = recordedRun(file, "response.created");
    const { result, events, server } = await play(connect, answers, ["calculator"], { mode: "streaming", settings });
    expect(result).toMatchObject({ status: "completed", output: "The final result is **570**.", finishReason: "stop" });
    expect(result.usage).toEqual({ inputTokens: 914, outputTokens: 92 });
    expect(callsOf(events)).toMatchObject([
      { input: { a: 12, b: 7, op: "add" }, toolCallId: "call_AB6AaRZ1FYZB2RwS6A5vbdqn", turn: 1 },
      { input: { a: 19, b: 3, op: "multiply" }, toolCallId: "call_Q6pW65MUgW9vF59BmItYGos3", turn: 2 },
      { input: { a: 57, b: 10, op: "multiply" }, toolCallId: "call_Zl5vIMnD7dVAjgU6FkhmiCZh", turn: 3 },
    ]);
    const encrypted = recordedLines(file)
      .map((line) => JSON.parse(line))
      .find(({ type, item }) => type === "response.output_item.done" && item.type === "reasoning")
      .item.encrypted_content;
    for (const { body } of server.requests.slice(1)) {
      expect(body).toMatchObject({
        input: expect.arrayContaining([expect.objectContaining({ type: "reasoning", encrypted_content: encrypted })]),
      });
    }
    expect(encrypted.length).toBeGreaterThan(500);
    expect(server.requests).toHaveLength(4);
  });

  const mcp = { serverLabel: "zip1", serverUrl: "http://example.com" };
  const end = {
    json: {
      ...{ id: "resp_2", created_at: 1, model: "gpt-5-mini", usage: { input_tokens: 1, output_tokens: 1 } },
      output: [
        {
          type: "message",
          role: "assistant",
          id: "m",
          content: [{ type: "output_text", text: "Done.", annotations: [] }],
        },
      ],
    },
  };

  test("lets the provider run its own call once it is approved, in a resumed run, and tells it no otherwise", async () => {
    const shorten = defineTool({
      name: "mcp.create_short_url",
      input: { type: "object" },
      needsApproval: true,
      call: () => "approved",
    });
    for (const isApproved of [true, false]) {
      const first = recordedJson("openai-mcp-tool-approval.1.json");
      const server = await startProvider([first, end]);
      const openai = createOpenAI({ baseURL: server.url, apiKey: "k" });
      const providerTools = { mcp: openai.tools.mcp(mcp) };
      const model = fromLanguageModel(openai("gpt-5-mini"), { providerTools });
      const agent = new Agent({ name: "a", model, tools: [shorten] });
      const paused = await agent.prompt("Shorten it").run();
      if (paused.status !== "paused") throw new Error("did not pause");
      const [call] = paused.pending;
      expect(call).toMatchObject({ toolName: "mcp.create_short_url", input: { url: expect.any(String) } });
      expect(server.requests[0]?.body).toMatchObject({ tools: [{ type: "mcp", server_label: "zip1" }] });

      const resumed = agent.resume(JSON.parse(JSON.stringify(paused.state)));
      const id = call?.toolCallId ?? "";
      const result = await (isApproved ? resumed.approve(id) : resumed.reject(id, "too long")).run();
      expect(result.output).toBe("Done.");
      const approval = { type: "mcp_approval_response", approval_request_id: expect.stringMatching(/^mcpr_/) };
      expect(server.requests[1]?.body).toMatchObject({
        input: expect.arrayContaining([expect.objectContaining({ ...approval, approve: isApproved })]),
      });
      expect(JSON.stringify(server.requests[1]?.body)).not.toContain("function_call_output");
    }
  });

  test("tells the provider no where nobody decides on its call", async () => {
    const server = await startProvider([recordedJson("openai-mcp-tool-approval.1.json"), end]);
    const openai = createOpenAI({ baseURL: server.url, apiKey: "k" });
    await new Agent({ name: "a", model: fromLanguageModel(openai("gpt-5-mini")) }).prompt("Shorten it").run();
    expect(server.requests[1]?.body).toMatchObject({
      input: expect.arrayContaining([expect.objectContaining({ type: "mcp_approval_response", approve: false })]),
    });
  });
});

describe.skipIf(!hasTraffic)("Anthropic Messages", () => {
  const connect: Connect = (url) => createAnthropic({ baseURL: url, apiKey: "k" })("claude-sonnet-4-5");

  test("runs the calls of a server-side program, and sends back who made them", async () => {
    const answers = recordedRun("anthropic-programmatic-tool-calling.1.chunks.txt", "message_start");
    const { result, events, server } = await play(connect, answers, ["rollDie"], {
      mode: "streaming",
      settings: (_request, last) => {
        const { container } = Object(last?.["anthropic"]);
        return container ? { providerOptions: { anthropic: { container: { id: container.id } } } } : {};
      },
    });
    expect(result.output).toContain("Player 2 wins the game 3-2!");
    const calls = callsOf(events);
    expect(calls).toHaveLength(14);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(14);
    expect(calls.map(({ input }) => input)).toContainEqual({ player: "player2" });
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_01MzSrFWsmzBdcoQkGWLyRjK" };
    const sentBack = JSON.stringify(server.requests.at(-1)?.body).split(JSON.stringify(caller)).length - 1;
    expect(sentBack).toBe(14);
    // What the provider said of the whole answer decides on the next request's options.
    expect(server.requests[1]?.body).toMatchObject({ container: "container_011CWHPPTDTn1XufeRB9uHeH" });
  });

  test("runs the same calls when they come in one blocking response", async () => {
    const end = {
      json: {
        type: "message",
        id: "m",
        model: "c",
        role: "assistant",
        content: [{ type: "text", text: "Done." }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    };
    const answers = [recordedJson("anthropic-programmatic-tool-calling.1.json"), end];
    const { events, server } = await play(connect, answers, ["rollDie"], { mode: "blocking" });
    expect(callsOf(events).map(({ toolCallId }) => toolCallId)).toEqual([
      "toolu_01PMcE1JBKCeLjn83cgUCvR5",
      "toolu_01MZf5QJ1EQyd2yGyeLzBxAS",
      "toolu_01T7Upuuv8C71nq7DZ9ZPNQW",
      "toolu_016Da1tDet9Bf7dAdYTkF5Ar",
    ]);
    const caller = { type: "code_execution_20250825", tool_id: "srvtoolu_01CberhXc9TgYXrCZU8bQoks" };
    expect(JSON.stringify(server.requests[1]?.body).split(JSON.stringify(caller))).toHaveLength(5);
  });
});

describe.skipIf(!hasTraffic)("Gemini", () => {
  const file = "google-stream-no-args-tool-call.chunks.txt";
  const connect: Connect = (url) => createGoogleGenerativeAI({ baseURL: url, apiKey: "k" })("gemini-3-pro-preview");
  const tools = ["read_theme", "read_screen"];
  const end = { events: [JSON.stringify(GOOGLE_END)] };

  test("gives four calls without ids four ids, and sends the thought signature back", async () => {
    const { events, server } = await play(connect, [recordedEvents(file), end], tools, { mode: "streaming" });
    const calls = callsOf(events);
    expect(calls.map(({ toolName, input }) => [toolName, input])).toEqual([
      ["read_theme", {}],
      ["read_screen", { id: "A" }],
      ["read_screen", { id: "B" }],
      ["read_screen", { id: "C" }],
    ]);
    const ids = calls.map(({ toolCallId }) => toolCallId);
    expect(new Set(ids).size).toBe(4);
    expect(ids).not.toContain("");
    const [signature] = recordedLines(file).flatMap((line) => line.match(/"thoughtSignature":"([^"]+)"/)?.[1] ?? []);
    expect(signature?.length).toBeGreaterThan(100);
    expect(JSON.stringify(server.requests[1]?.body)).toContain(JSON.stringify(signature));
  });

  test("makes the same ids on every replay when the client is told to invent none", async () => {
    const withoutIds: Connect = (url) =>
      createGoogleGenerativeAI({ baseURL: url, apiKey: "k", generateId: () => "" })("gemini-3-pro-preview");
    const runs = [];
    for (let run = 0; run < 2; run++) {
      const { events } = await play(withoutIds, [recordedEvents(file), end], tools, { mode: "streaming" });
      runs.push(callsOf(events));
    }
    expect(runs[0]).toEqual(runs[1]);
    expect(new Set(runs[0]?.map(({ toolCallId }) => toolCallId)).size).toBe(4);
    expect(runs[0]?.map(({ providerToolCallId }) => providerToolCallId)).toEqual(["", "", "", ""]);
  });

  test("runs the call of a blocking response", async () => {
    const answers = [recordedJson("google-tool-call-gemini3.json"), { json: GOOGLE_END }];
    const { events, result } = await play(connect, answers, ["weather"], { mode: "blocking" });
    expect(callsOf(events)).toMatchObject([{ toolName: "weather", input: { location: "San Francisco" } }]);
    expect(result).toMatchObject({ output: "Done.", finishReason: "stop" });
  });
});

describe.skipIf(!hasTraffic)("chat completions", () => {
  const compatible: Connect = (url) => createOpenAICompatible({ name: "x", baseURL: url })("some-model");
  const alibaba: Connect = (url) => createAlibaba({ baseURL: url, apiKey: "k" })("qwen3-max");
  const deepSeek: Connect = (url) => createDeepSeek({ baseURL: url, apiKey: "k" })("deepseek-reasoner");
  const groq: Connect = (url) => createGroq({ baseURL: url, apiKey: "k" })("llama-3.3-70b-versatile");
  const mistral: Connect = (url) => createMistral({ baseURL: url, apiKey: "k" })("mistral-small-latest");

  test.each<[string, Connect, string, string, object]>([
    [
      "Alibaba: an id that is empty later",
      alibaba,
      "alibaba-tool-call.chunks.txt",
      "call_eee11723464a4b9eb8cee71d",
      { location: "San Francisco" },
    ],
    [
      "the same by the compatible client",
      compatible,
      "alibaba-tool-call.chunks.txt",
      "call_eee11723464a4b9eb8cee71d",
      { location: "San Francisco" },
    ],
    [
      "DeepSeek, blocking",
      deepSeek,
      "deepseek-tool-call.json",
      "call_00_9V0vrf86Pc9aelHCJMZqnJBo",
      { location: "San Francisco" },
    ],
    [
      "DeepSeek, streaming",
      deepSeek,
      "deepseek-tool-call.chunks.txt",
      "call_00_ioIn7yN9p1ZOMNpDLwd4MgAF",
      { location: "San Francisco" },
    ],
    ["Groq: the whole call in one piece", groq, "groq-tool-call.chunks.txt", "tk85n1k4m", {}],
    ["Mistral", mistral, "mistral-tool-call.json", "gSIMJiOkT", { location: "San Francisco" }],
  ])("%s", async (_title, connect, file, toolCallId, input) => {
    const mode = file.endsWith(".json") ? "blocking" : "streaming";
    const answer = mode === "blocking" ? recordedJson(file) : recordedEvents(file);
    const { events, result, server } = await play(connect, [answer, CHAT_END[mode]], ["weather"], { mode });
    expect(callsOf(events)).toMatchObject([{ toolName: "weather", input, toolCallId, providerToolCallId: toolCallId }]);
    expect(result.output).toBe("Done.");
    expect(server.requests[1]?.body).toMatchObject({
      messages: [
        { role: "user" },
        { role: "assistant", tool_calls: [{ id: toolCallId, function: { name: "weather" } }] },
        { role: "tool", tool_call_id: toolCallId, content: "result of weather" },
      ],
    });
  });
});
