import { createAnthropic } from "@ai-sdk/anthropic";
import { Agent } from "tool-call-extensions";
import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
import { expect, test } from "vitest";
import { type Answer, events, startProvider } from "./provider-server.ts";
import { MODES, type Mode, runInMode, textDeltasOf } from "./run-in-mode.ts";
import { writtenModel } from "./written-model.ts";

// Anthropic pauses a long turn with tools of its own, and goes on when it is sent what it has said so far.

const base = { type: "message", id: "m", model: "m", role: "assistant", stop_sequence: null };
const search = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } };
const found = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] };

function answer(
  mode: Mode,
  stop_reason: string,
  blocks: readonly { readonly type: string; readonly text?: string }[],
): Answer {
  const usage = { input_tokens: 10, output_tokens: 5 };
  if (mode === "blocking") return { json: { ...base, stop_reason, usage, content: blocks } };
  return events(
    { type: "message_start", message: { ...base, content: [], stop_reason: null, usage } },
    ...blocks.flatMap(({ text, ...block }, index) => [
      { type: "content_block_start", index, content_block: text === undefined ? block : { ...block, text: "" } },
      ...(text === undefined ? [] : [{ type: "content_block_delta", index, delta: { type: "text_delta", text } }]),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  );
}

test.each(MODES)("%s: a paused turn goes on, and is one turn of the run", async (mode) => {
  const text = (words: string) => ({ type: "text", text: words });
  const server = await startProvider([
    answer(mode, "pause_turn", [text("Let me search."), search]),
    answer(mode, "end_turn", [found, text("Nothing.")]),
    answer(mode, "end_turn", [text("Bye.")]),
  ]);
  const anthropic = createAnthropic({ baseURL: server.url, apiKey: "k" });
  const providerTools = { web_search: anthropic.tools.webSearch_20250305({}) };
  const agent = new Agent({ name: "a", model: fromLanguageModel(anthropic("claude-sonnet-4-5"), { providerTools }) });
  const { result, events: seen } = await runInMode(agent.prompt("Go"), mode);
  expect(result).toMatchObject({ status: "completed", turns: 1, usage: { inputTokens: 20, outputTokens: 10 } });
  expect(result.output).toContain("Nothing.");
  expect(textDeltasOf(seen)).toEqual(["Let me search.", "Nothing."]);
  expect(server.requests[1]?.body).toMatchObject({
    messages: [
      { role: "user" },
      { role: "assistant", content: expect.arrayContaining([expect.objectContaining({ type: "server_tool_use" })]) },
    ],
  });
  await runInMode(agent.prompt("Thanks").history(result.messages), mode);
  const [, said] = Object(server.requests[2]?.body).messages;
  expect(said.content.map(({ type }: { readonly type: string }) => type)).toEqual(
    expect.arrayContaining(["server_tool_use", "web_search_tool_result"]),
  );
});

const pause = { unified: "stop", raw: "pause_turn" };

test("a call for a tool of the agent is made, also where the provider has paused", async () => {
  const call = { type: "tool-call", toolCallId: "call_abc", toolName: "gone", input: "{}" } as const;
  const done = { content: [{ type: "text", text: "Done." }] } as const;
  const model = writtenModel([{ content: [call], finishReason: pause }, done]);
  const result = await new Agent({ name: "a", model: fromLanguageModel(model) }).prompt("Go").run();
  expect(result).toMatchObject({ turns: 2, output: "Done." });
});

test("a provider that never goes on fails the turn", async () => {
  const paused = { content: [{ type: "text", text: "Well." }], finishReason: pause } as const;
  const model = writtenModel(Array.from({ length: 99 }, () => paused));
  const run = new Agent({ name: "a", model: fromLanguageModel(model) }).prompt("Go").run();
  await expect(run).rejects.toThrow(/paused its turn \("pause_turn"\) 33 times and gave no answer/);
  expect(model.requests).toHaveLength(33);
});
