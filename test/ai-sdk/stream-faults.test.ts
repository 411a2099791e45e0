import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, type RunEvent } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, test, vi } from "vitest";
import { events, startProvider } from "./provider-server.ts";
import { callsOf, runInMode, textDeltasOf } from "./run-in-mode.ts";
import { CALLS, type Part, STOP, USAGE, writtenModel } from "./written-model.ts";

const call = (toolCallId: string, input: string): Part => ({ type: "tool-call", toolCallId, toolName: "probe", input });
const finish = (unified: string, raw?: string): Part => ({
  type: "finish",
  finishReason: { unified, raw },
  usage: USAGE,
});
const text = (...deltas: readonly string[]): readonly Part[] => [
  { type: "text-start", id: "1" },
  ...deltas.map((delta): Part => ({ type: "text-delta", id: "1", delta })),
  { type: "text-end", id: "1" },
];
const answer = [...text("Done."), STOP];

/** Streams a run, also one that fails, and gives what happened in it. */
async function stream(model: LanguageModel) {
  const tool = recordingTool({ name: "probe" });
  const seen: RunEvent[] = [];
  let error: unknown;
  try {
    for await (const event of new Agent({ name: "a", model: fromLanguageModel(model), tools: [tool] })
      .prompt("Go")
      .stream()) {
      seen.push(event);
    }
  } catch (thrown) {
    error = thrown;
  }
  return {
    events: seen,
    error,
    calls: tool.calls.map(({ input, invocation }) => ({ input, id: invocation.toolCallId })),
  };
}

describe("a stream that is whole", () => {
  test("text and arguments in pieces, pings and raw parts between them", async () => {
    const model = writtenModel([
      [
        { type: "stream-start", warnings: [] },
        { type: "response-metadata" },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "Let " },
        { type: "ping" },
        { type: "tool-input-start", id: "call_abc", toolName: "probe" },
        { type: "tool-input-delta", id: "call_abc", delta: '{"n"' },
        { type: "text-delta", id: "1", delta: "me." },
        { type: "text-end", id: "1" },
        { type: "raw" },
        { type: "tool-input-delta", id: "call_abc", delta: ":1}" },
        { type: "tool-input-end", id: "call_abc" },
        call("call_abc", '{"n":1}'),
        CALLS,
      ],
      answer,
    ]);
    const { events: seen, calls } = await stream(model);
    expect(textDeltasOf(seen)).toEqual(["Let ", "me.", "Done."]);
    expect(calls).toEqual([{ input: { n: 1 }, id: "call_abc" }]);
    expect(model.requests[1]?.prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "text", text: "Let me." },
        { type: "tool-call", toolCallId: "call_abc", toolName: "probe", input: { n: 1 } },
      ],
    });
  });

  test("interleaved blocks stand where they began, with the last word that was said beside them", async () => {
    const openai = (key: string) => ({ openai: { itemId: "i", key } });
    const model = writtenModel([
      [
        { type: "reasoning-start", id: "1", providerMetadata: openai("begun") },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "A" },
        { type: "reasoning-delta", id: "1", delta: "think" },
        { type: "text-start", id: "2" },
        { type: "text-delta", id: "2", delta: "B" },
        { type: "text-delta", id: "1", delta: "a" },
        { type: "reasoning-end", id: "1", providerMetadata: openai("done") },
        { type: "text-end", id: "1" },
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "C" },
        call("call_abc", "{}"),
        CALLS,
      ],
      answer,
    ]);
    await stream(model);
    expect(model.requests[1]?.prompt[1]).toMatchObject({
      content: [
        { type: "reasoning", text: "think", providerOptions: openai("done") },
        { type: "text", text: "Aa" },
        { type: "text", text: "B" },
        { type: "text", text: "C" },
        { type: "tool-call" },
      ],
    });
  });

  test("calls without ids, with one id, and without arguments each run once", async () => {
    const model = writtenModel([
      [call("", ""), call("", '{"n":2}'), call("same", '{"n":3}'), call("same", '{"n":4}'), CALLS],
      answer,
    ]);
    const { calls } = await stream(model);
    expect(calls.map(({ input }) => input)).toEqual([{}, { n: 2 }, { n: 3 }, { n: 4 }]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(4);
    const result = { type: "tool-result", toolName: "probe" };
    expect(model.requests[1]?.prompt[2]).toMatchObject({
      role: "tool",
      content: calls.map(({ id }) => ({ ...result, toolCallId: id })),
    });
  });

  test("arguments that are no JSON become a result for the model, which sees its own slip", async () => {
    const model = writtenModel([[call("call_abc", '{"n":'), CALLS], answer]);
    const { calls, error } = await stream(model);
    expect(error).toBeUndefined();
    expect(calls).toEqual([]);
    expect(model.requests[1]?.prompt).toMatchObject([
      {},
      { content: [{ type: "tool-call", input: { invalidArguments: '{"n":' } }] },
      { content: [{ output: { type: "error-text", value: expect.stringContaining("not valid JSON") } }] },
    ]);
  });
});

describe("a stream that is not", () => {
  const begun: Part = { type: "tool-input-start", id: "call_abc", toolName: "probe" };
  const whole = call("call_whole", "{}");

  test.each<[string, readonly Part[], RegExp]>([
    ["ends in the middle of a call", [whole, begun, CALLS], /ended in the middle of a call of tool "probe"/],
    ["ends before a finish", [whole], /ended before the provider had finished/],
    [
      "gives half the arguments, and no reason",
      [call("call_abc", '{"n":'), finish("other")],
      /without a finish reason/,
    ],
    [
      "gives half the arguments at the output limit",
      [whole, call("call_abc", '{"n":'), finish("length", "length")],
      /cut off \("length"\) in a call of tool "probe"/,
    ],
    [
      "gives no arguments at the output limit",
      [call("call_abc", ""), finish("length", "max_tokens")],
      /cut off \("max_tokens"\)/,
    ],
    [
      "has the last call's arguments made up by a client at the output limit",
      [whole, call("call_abc", " { } "), finish("length", "max_tokens")],
      /cut off \("max_tokens"\) in a call/,
    ],
    ["says that it was interrupted", [whole, finish("interrupted")], /cut off \("interrupted"\)/],
    [
      "ends with an error as its reason",
      [whole, finish("error", "MALFORMED_FUNCTION_CALL")],
      /error \("MALFORMED_FUNCTION_CALL"\)/,
    ],
    ["holds an error", [...text("Well"), { type: "error", error: "overloaded" }, whole, STOP], /overloaded/],
    ["holds an error object", [{ type: "error", error: { type: "x", message: "too busy" } }], /too busy/],
  ])("runs no call when it %s", async (_title, parts, message) => {
    const { calls, error, events: seen } = await stream(writtenModel([parts]));
    expect(calls).toEqual([]);
    expect(error).toMatchObject({ code: "model-failed", message: expect.stringMatching(message) });
    expect(seen.at(-1)?.type).toBe("run-failed");
  });

  test("says nothing of why it ended, under specification 2, is no answer; a blocking one came whole", async () => {
    const unsaid = { finishReason: "unknown", usage: { inputTokens: 1, outputTokens: 1 } };
    const { calls, error } = await stream(
      writtenModel([[...text("Half"), whole, { type: "finish", ...unsaid }]], "v2"),
    );
    expect(calls).toEqual([]);
    expect(error).toMatchObject({ code: "model-failed", message: expect.stringContaining("without a finish reason") });
    const blocking = writtenModel([{ content: [{ type: "text", text: "Whole" }], ...unsaid }], "v2");
    const result = await new Agent({ name: "a", model: fromLanguageModel(blocking) }).prompt("Go").run();
    expect(result.output).toBe("Whole");
  });

  test.each(["while it is read", "before it came"])("is left when the run is aborted %s", async (when) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    let isLeft = false;
    const silent = new ReadableStream<Part>({
      pull: () => new Promise(() => setTimeout(() => controller.abort(reason), 5)),
      cancel: () => {
        isLeft = true;
      },
    });
    const model: LanguageModel = {
      ...writtenModel([]),
      doStream: async () => {
        if (when === "before it came") controller.abort(reason);
        return { stream: silent };
      },
    };
    const request = new Agent({ name: "a", model: fromLanguageModel(model) }).prompt("Go").signal(controller.signal);
    await expect(runInMode(request, "streaming")).rejects.toBe(reason);
    await vi.waitFor(() => expect(isLeft).toBe(true));
  });

  test("keeps the provider's error as the cause, and leaves the stream", async () => {
    const cause = new Error("HTTP 529");
    const model = writtenModel([[...text("Well"), { type: "error", error: cause }, ...answer]]);
    const { error, events: seen } = await stream(model);
    expect(error).toMatchObject({ cause });
    expect(textDeltasOf(seen)).toEqual(["Well"]);
    expect(model.wasLeft()).toBe(true);
  });

  test("an answer that was cut off says so in a blocking request, too", async () => {
    const cut = { type: "tool-call", toolCallId: "c", toolName: "probe", input: '{"n":' } as const;
    const model = writtenModel([{ content: [cut], finishReason: { unified: "length", raw: "length" } }]);
    const run = new Agent({ name: "a", model: fromLanguageModel(model) }).prompt("Go").run();
    await expect(run).rejects.toThrow(/cut off \("length"\) in a call of tool "probe"/);
  });

  test("a text that was cut off at the output limit is an answer, which says so", async () => {
    const model = writtenModel([[...text("Half an ans"), finish("length", "length")]]);
    const { result } = await runInMode(
      new Agent({ name: "a", model: fromLanguageModel(model) }).prompt("Go"),
      "streaming",
    );
    expect(result).toMatchObject({ output: "Half an ans", finishReason: "length" });
  });

  test("goes on from the failed turn when it is resumed, without repeating a call", async () => {
    const model = writtenModel([[whole, CALLS], [...text("We"), { type: "error", error: "overloaded" }], answer]);
    const tool = recordingTool({ name: "probe" });
    const agent = new Agent({ name: "a", model: fromLanguageModel(model), tools: [tool] });
    const error = await runInMode(agent.prompt("Go"), "streaming").catch((thrown: unknown) => thrown);
    const { result } = await runInMode(agent.resume(Object(error).details.state), "streaming");
    expect(result.output).toBe("Done.");
    expect(tool.calls).toHaveLength(1);
  });
});

describe("on the wire", () => {
  const chunk = (delta: object): string => JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] });
  const half = chunk({ tool_calls: [{ index: 0, id: "call_abc", function: { name: "probe", arguments: '{"n":' } }] });

  test.each([false, true])(
    "a server that stops in the middle of a call runs none (connection lost: %s)",
    async (isCut) => {
      const server = await startProvider([{ events: [chunk({ content: "Let me." }), half], isCut }]);
      const {
        calls,
        error,
        events: seen,
      } = await stream(createOpenAICompatible({ name: "x", baseURL: server.url })("m"));
      expect(calls).toEqual([]);
      expect(error).toMatchObject({ code: "model-failed" });
      expect(callsOf(seen)).toEqual([]);
    },
  );

  test("a call that Anthropic's limit cut off before its arguments runs neither streamed nor blocking", async () => {
    const message = {
      id: "m",
      type: "message",
      role: "assistant",
      model: "m",
      usage: { input_tokens: 1, output_tokens: 9 },
    };
    const block = { type: "tool_use", id: "toolu_0", name: "probe", input: {} };
    const server = await startProvider([
      events(
        { type: "message_start", message: { ...message, content: [], stop_reason: null } },
        { type: "content_block_start", index: 0, content_block: block },
        { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: "" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "max_tokens" }, usage: { output_tokens: 9 } },
        { type: "message_stop" },
      ),
      { json: { ...message, content: [block], stop_reason: "max_tokens" } },
    ]);
    const tool = recordingTool({ name: "probe" });
    const model = fromLanguageModel(createAnthropic({ baseURL: server.url, apiKey: "k" })("claude-sonnet-4-5"));
    for (const mode of ["streaming", "blocking"] as const) {
      const run = runInMode(new Agent({ name: "a", model, tools: [tool] }).prompt("Go"), mode);
      await expect(run).rejects.toThrow(/cut off \("max_tokens"\) in a call of tool "probe"/);
    }
    expect(tool.calls).toEqual([]);
  });

  test("Anthropic's pings are no parts, and its error after text is the run's", async () => {
    const server = await startProvider([
      events(
        {
          type: "message_start",
          message: {
            id: "m",
            type: "message",
            role: "assistant",
            model: "m",
            content: [],
            stop_reason: null,
            usage: { input_tokens: 1, output_tokens: 0 },
          },
        },
        { type: "ping" },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Well" } },
        { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
      ),
    ]);
    const { error, events: seen } = await stream(
      createAnthropic({ baseURL: server.url, apiKey: "k" })("claude-sonnet-4-5"),
    );
    expect(textDeltasOf(seen)).toEqual(["Well"]);
    expect(error).toMatchObject({ code: "model-failed", message: expect.stringContaining("Overloaded") });
  });
});
