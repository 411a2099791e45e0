import { Agent, extensionToken, type Message, ToolCallExtensions } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModelOptions } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { startProvider } from "./provider-server.ts";
import { callsOf, MODES, runInMode, textDeltasOf } from "./run-in-mode.ts";
import { WIRE_FORMATS, type WireCall } from "./wire-formats.ts";

const Tenant = extensionToken("tenant").of<string>();
const extensions = new ToolCallExtensions().with(Tenant, "canary-3b7");
const calls: readonly WireCall[] = [
  { id: "abcdefgh1", name: "lookup", input: { order: 42 } },
  { id: "abcdefgh2", name: "lookup", input: { order: 43 } },
];

function holds(value: unknown, pattern: object): boolean {
  if (isDeepMatch(value, pattern)) return true;
  return typeof value === "object" && value !== null && Object.values(value).some((item) => holds(item, pattern));
}

function isDeepMatch(value: unknown, pattern: unknown): boolean {
  if (typeof pattern !== "object" || pattern === null) return value === pattern;
  return Object.entries(pattern).every(([key, item]) => isDeepMatch(Object(value)[key], item));
}

/** Without what a provider says of a whole answer, which it words differently in a stream. */
const withoutNotes = (messages: readonly Message[]): readonly Message[] =>
  messages.map((message) => {
    if (message.role !== "assistant") return message;
    return { ...message, content: message.content.filter((part) => !holds(part, { type: "response" })) };
  });

describe.each(WIRE_FORMATS)("$name", ({ connect, answer, sentResult }) => {
  const lookup = () =>
    recordingTool({
      name: "lookup",
      input: z.object({ order: z.number() }),
      requires: [Tenant],
      result: ({ input, extensions: seen }) => `${JSON.stringify(input)} ${seen.require(Tenant).length}`,
    });

  test.each(MODES)("%s: runs parallel calls with their extensions, and sends the results back", async (mode) => {
    const server = await startProvider([answer(mode, "Let me look.", calls), answer(mode, "Both are lost.", [])]);
    const model = fromLanguageModel(connect(server.url));
    const agent = new Agent({ name: "a", model, instructions: "Be brief.", tools: [lookup()] });
    const { result, events } = await runInMode(agent.prompt("Where are they?").toolExtensions(extensions), mode);
    expect(result).toMatchObject({ status: "completed", output: "Both are lost.", finishReason: "stop", turns: 2 });
    expect(result.usage).toEqual({ inputTokens: 20, outputTokens: 10 });
    expect(callsOf(events)).toMatchObject(
      calls.map(({ id, input }, index) => ({ toolCallId: id, input, index, toolName: "lookup" })),
    );
    for (const call of calls) {
      const sent = sentResult(call, `${JSON.stringify(call.input)} 10`);
      expect(holds(server.requests[1]?.body, sent), JSON.stringify(sent)).toBe(true);
    }
    const sent = JSON.stringify(server.requests);
    expect(sent).toContain("Be brief.");
    // A provider that keeps its answers is sent their ids.
    expect(sent).toMatch(/Let me look\.|"item_reference","id":"msg_1"/);
    expect(sent).not.toContain("canary-3b7");
    expect(textDeltasOf(events).join("")).toBe("Let me look.Both are lost.");
    expect(textDeltasOf(events)).toHaveLength(mode === "blocking" ? 2 : 4);
  });

  test("makes the same conversation, and the same second request, blocking and streaming", async () => {
    const runs = [];
    for (const mode of MODES) {
      const server = await startProvider([answer(mode, "Let me look.", calls), answer(mode, "Both are lost.", [])]);
      const agent = new Agent({ name: "a", model: fromLanguageModel(connect(server.url)), tools: [lookup()] });
      const request = agent.prompt("Where are they?").session("chat-7").toolExtensions(extensions);
      const { result, events } = await runInMode(request, mode);
      const body = JSON.parse(JSON.stringify(server.requests[1]?.body), (key, value) =>
        ["stream", "stream_options", "eager_input_streaming"].includes(key) ? undefined : value,
      );
      runs.push({ messages: withoutNotes(result.messages), runId: result.runId, calls: callsOf(events), body });
    }
    expect(runs[0]).toEqual(runs[1]);
  });

  test.each(MODES)("%s: asks for the output schema, and reads its value", async (mode) => {
    const server = await startProvider([answer(mode, '{"degrees":21}', [])]);
    const agent = new Agent({ name: "a", model: fromLanguageModel(connect(server.url)) });
    const { result } = await runInMode(agent.prompt("How warm?").output(z.object({ degrees: z.number() })), mode);
    expect(result.output).toEqual({ degrees: 21 });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('"degrees":{"type":"number"}');
  });

  test.each(MODES)("%s: passes on settings, headers, tool choice and what is decided in each turn", async (mode) => {
    const server = await startProvider([answer(mode, "", calls), answer(mode, "Done.", [])]);
    const settings: LanguageModelOptions["settings"] = ({ messages }) => ({
      maxOutputTokens: 77,
      headers: { "x-turn": String(messages.length) },
      toolChoice: messages.length === 1 ? { type: "required" } : { type: "auto" },
    });
    const agent = new Agent({
      name: "a",
      model: fromLanguageModel(connect(server.url), { settings }),
      tools: [lookup()],
    });
    await runInMode(agent.prompt("Go").toolExtensions(extensions), mode);
    expect(server.requests.map(({ headers }) => headers["x-turn"])).toEqual(["1", "4"]);
    const [first, second] = server.requests.map(({ body }) => JSON.stringify(body));
    expect(first).toContain(":77");
    expect(first?.toLowerCase()).toMatch(/"required"|"any"/);
    expect(second?.toLowerCase().replaceAll('"required":[', "")).not.toMatch(/"(tool_choice|mode)":("required"|"any")/);
  });

  test.each(MODES)("%s: an HTTP error fails the run, with the provider's error as cause", async (mode) => {
    const server = await startProvider([{ status: 401, json: { error: { message: "no such key" } } }]);
    const request = new Agent({ name: "a", model: fromLanguageModel(connect(server.url)) }).prompt("Go");
    await expect(runInMode(request, mode)).rejects.toMatchObject({
      code: "model-failed",
      cause: { name: "AI_APICallError", statusCode: 401 },
    });
  });

  test.each(MODES)("%s: an abort reaches the request", async (mode) => {
    const server = await startProvider(["never"]);
    const controller = new AbortController();
    const agent = new Agent({ name: "a", model: fromLanguageModel(connect(server.url)) });
    const run = runInMode(agent.prompt("Go").signal(controller.signal), mode);
    await server.received(1);
    controller.abort(new Error("enough"));
    await expect(run).rejects.toThrow("enough");
    await server.aborted(1);
  });
});
