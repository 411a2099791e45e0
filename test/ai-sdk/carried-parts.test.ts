import { Agent, type AssistantPart, type Message } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, test, vi } from "vitest";
import { type Answer, writtenModel } from "./written-model.ts";

type Version = LanguageModel["specificationVersion"];
const done: Answer = { content: [{ type: "text", text: "Done." }] };
const signed = (signature: string) => ({ anthropic: { signature } });

/** Has a model of one version answer, and another continue; gives the prompt that the other was sent. */
async function sentBack(
  content: Answer["content"],
  from: Version = "v3",
  to: Version = from,
): Promise<readonly object[]> {
  const first = fromLanguageModel(writtenModel([{ content }, done, done], from));
  const tools = [recordingTool({ name: "probe" })];
  const { messages } = await new Agent({ name: "a", model: first, tools }).prompt("Go").run();
  const second = writtenModel([done], to);
  const saved: readonly Message[] = JSON.parse(JSON.stringify(messages));
  await new Agent({ name: "a", model: fromLanguageModel(second) }).prompt("And?").history(saved).run();
  return second.requests[0]?.prompt ?? [];
}

test("an empty text goes back only where its provider said something beside it", async () => {
  const empty = { type: "text", text: "" } as const;
  const call = { type: "tool-call", toolCallId: "call_abc", toolName: "probe", input: "{}" } as const;
  const [, message] = await sentBack([empty, { ...empty, providerMetadata: signed("t") }, call]);
  expect(message).toMatchObject({
    content: [{ type: "text", text: "", providerOptions: signed("t") }, { type: "tool-call" }],
  });
});

describe("what a provider adds goes back with its part, from a saved conversation too", () => {
  test("of text, reasoning, calls and their results", async () => {
    const prompt = await sentBack([
      { type: "reasoning", text: "hm", providerMetadata: signed("r") },
      { type: "text", text: "Let me.", providerMetadata: signed("t") },
      { type: "tool-call", toolCallId: "call_abc", toolName: "probe", input: '{"n":1}', providerMetadata: signed("c") },
    ]);
    expect(prompt.slice(1, 3)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm", providerOptions: signed("r") },
          { type: "text", text: "Let me.", providerOptions: signed("t") },
          {
            type: "tool-call",
            toolCallId: "call_abc",
            toolName: "probe",
            input: { n: 1 },
            providerOptions: signed("c"),
          },
        ],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call_abc",
            toolName: "probe",
            output: { type: "text", value: "recorded" },
            providerOptions: signed("c"),
          },
        ],
      },
    ]);
  });

  test("of calls that the provider ran itself, which no tool here sees", async () => {
    const run = { toolCallId: "srv_1", toolName: "web_search" };
    const prompt = await sentBack([
      { type: "tool-call", ...run, input: '{"q":"x"}', providerExecuted: true, providerMetadata: signed("c") },
      { type: "tool-result", ...run, result: { partial: true }, preliminary: true },
      { type: "tool-result", ...run, result: { hits: 3 }, providerMetadata: signed("h") },
      { type: "tool-result", ...run, result: "no", isError: true },
      { type: "source", id: "s", providerMetadata: signed("s") },
      { type: "text", text: "Three." },
    ]);
    expect(prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "tool-call", ...run, input: { q: "x" }, providerExecuted: true, providerOptions: signed("c") },
        { type: "tool-result", ...run, output: { type: "json", value: { hits: 3 } }, providerOptions: signed("h") },
        { type: "tool-result", ...run, output: { type: "error-json", value: "no" } },
        { type: "text", text: "Three." },
      ],
    });
  });

  test.each<[string, Version, Version, unknown, unknown]>([
    ["base64 text", "v3", "v3", "AAE=", "AAE="],
    ["bytes", "v2", "v3", new Uint8Array([0, 1]), "AAE="],
    ["bytes in version 4", "v4", "v4", { type: "data", data: new Uint8Array([0, 1]) }, { type: "data", data: "AAE=" }],
    ["from version 3 to 4", "v3", "v4", "AAE=", { type: "data", data: "AAE=" }],
    ["from version 4 to 3", "v4", "v3", { type: "data", data: "AAE=" }, "AAE="],
    ["a link", "v4", "v4", { type: "url", url: new URL("http://x/y") }, { type: "url", url: new URL("http://x/y") }],
    ["a link from version 4 to 2", "v4", "v2", { type: "url", url: new URL("http://x/y") }, new URL("http://x/y")],
  ])("of a file: %s", async (_title, from, to, data, expected) => {
    // Typed by the table above.
    const file = { type: "file", mediaType: "image/png", data } as Answer["content"][number];
    const prompt = await sentBack([file], from, to);
    expect(prompt[1]).toEqual({
      role: "assistant",
      content: [{ type: "file", mediaType: "image/png", data: expected }],
    });
  });

  test("of parts that only version 4 knows", async () => {
    const custom = { type: "custom", kind: "x.y", providerMetadata: signed("k") } as const;
    const file = { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AAE=" } } as const;
    const [, message] = await sentBack([custom, file, { type: "text", text: "So." }], "v4");
    expect(message).toMatchObject({
      content: [{ type: "custom", kind: "x.y", providerOptions: signed("k") }, file, { type: "text" }],
    });
    await expect(sentBack([custom], "v4", "v3")).rejects.toThrow(/part of type "custom", which specification v3/);
    await expect(sentBack([file], "v4", "v2")).rejects.toThrow(/part of type "reasoning-file", which specification v2/);
  });
});

describe("what cannot be represented fails", () => {
  test("a part of a type that is not known", async () => {
    const part = JSON.parse('{ "type": "hologram" }');
    await expect(sentBack([part])).rejects.toThrow(/a part of type "hologram", which this version of the adapter/);
  });

  test("a provider part that another kind of model made", async () => {
    const foreign: AssistantPart = { type: "provider", providerData: { other: 1 } };
    const model = fromLanguageModel(writtenModel([done]));
    const request = new Agent({ name: "a", model }).prompt("Go").history([{ role: "assistant", content: [foreign] }]);
    await expect(request.run()).rejects.toThrow(/a provider part that no AI SDK model made/);
  });

  test("a call without an id in the history", async () => {
    const call: AssistantPart = { type: "tool-call", toolName: "probe", input: {} };
    const model = fromLanguageModel(writtenModel([done]));
    const request = new Agent({ name: "a", model }).prompt("Go").history([{ role: "assistant", content: [call] }]);
    await expect(request.run()).rejects.toThrow(/a call of tool "probe" without an id/);
  });

  test.each<[unknown, RegExp]>([
    ["openai/gpt-5", /received a string/],
    [undefined, /received undefined/],
    [{ specificationVersion: "v1", doGenerate() {}, doStream() {} }, /received specification v1/],
  ])("a model that is none: %o", (model, message) => {
    // What JavaScript may pass.
    expect(() => fromLanguageModel(model as LanguageModel)).toThrow(message);
  });
});

describe("what a model is asked", () => {
  test.each<[Version, string]>([
    ["v2", "provider-defined"],
    ["v3", "provider"],
    ["v4", "provider"],
  ])("under specification %s, tools that the provider defines are named as %s", async (version, type) => {
    const model = writtenModel([done], version);
    const search = { id: "x.search", args: { max: 3 } };
    const adapted = fromLanguageModel(model, {
      providerTools: { search },
      toolOptions: { probe: { anthropic: { allowedCallers: ["code_execution_20250825"] } } },
    });
    const tools = ["probe", "search", "search.deep"].map((name) => recordingTool({ name }));
    await new Agent({ name: "a", model: adapted, tools }).prompt("Go").run();
    expect(model.requests[0]?.tools).toEqual([
      {
        type: "function",
        name: "probe",
        inputSchema: { type: "object" },
        providerOptions: { anthropic: { allowedCallers: ["code_execution_20250825"] } },
      },
      { type, name: "search", ...search },
    ]);
  });

  test("a tool of the agent runs a call of a tool that the provider defines and leaves to the client", async () => {
    const call = { type: "tool-call", toolCallId: "call_abc", toolName: "bash", input: '{"command":"ls"}' } as const;
    const model = writtenModel([{ content: [call], finishReason: { unified: "tool-calls", raw: "tool_use" } }, done]);
    const bash = recordingTool({ name: "bash" });
    const adapted = fromLanguageModel(model, { providerTools: { bash: { id: "anthropic.bash", args: {} } } });
    await new Agent({ name: "a", model: adapted, tools: [bash] }).prompt("Go").run();
    expect(bash.calls[0]?.input).toEqual({ command: "ls" });
  });

  test("warnings reach their listener, and the console once where there is none", async () => {
    const warnings = [
      { type: "unsupported", feature: "temperature", details: "not here" },
      { type: "other", message: "slow today" },
      { type: "unsupported-setting", setting: "seed" },
    ];
    const answers = [
      { ...done, warnings },
      { ...done, warnings },
    ];
    const heard: string[] = [];
    const onWarning = (warning: string): void => void heard.push(warning);
    const heeded = new Agent({ name: "a", model: fromLanguageModel(writtenModel(answers), { onWarning }) });
    await heeded.prompt("Go").run();
    expect(heard).toEqual(["unsupported: temperature: not here", "other: slow today", "unsupported-setting: seed"]);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const agent = new Agent({ name: "a", model: fromLanguageModel(writtenModel(answers)) });
    await agent.prompt("Go").run();
    await agent.prompt("Go").run();
    expect(warn.mock.calls.map(([line]) => line)).toContain("tool-call-extensions: written m: other: slow today");
    expect(warn).toHaveBeenCalledTimes(3);
    warn.mockRestore();
  });

  test("a warning listener that fails does not fail the run, and the console hears of it", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const error = new Error("no disk");
    const onWarning = (): never => {
      throw error;
    };
    const model = writtenModel([{ ...done, warnings: [{ type: "other", message: "slow today" }] }]);
    const result = await new Agent({ name: "a", model: fromLanguageModel(model, { onWarning }) }).prompt("Go").run();
    expect(result.status).toBe("completed");
    expect(report.mock.calls).toEqual([["tool-call-extensions: onWarning failed:", error]]);
    report.mockRestore();
  });

  test.each<[unknown, RegExp]>([
    [null, /the options of the model must be an object; received null/],
    [{ onWarning: "x" }, /option onWarning must be a function; received a string/],
    [{ providerTools: { search: null } }, /option providerTools.search must be .*; received null/],
    [
      { providerTools: { search: { execute: () => 1 } } },
      /option providerTools.search must be a tool that its provider/,
    ],
  ])("options that are none are refused at once: %o", (given, message) => {
    // What JavaScript may pass.
    expect(() => fromLanguageModel(writtenModel([]), given as object)).toThrow(message);
  });

  test("a tool that is named like a method of every object has no options of its own", async () => {
    const model = writtenModel([done]);
    const tools = [recordingTool({ name: "constructor" })];
    await new Agent({ name: "a", model: fromLanguageModel(model, { toolOptions: {} }), tools }).prompt("Go").run();
    expect(model.requests[0]?.tools).toEqual([
      { type: "function", name: "constructor", inputSchema: { type: "object" } },
    ]);
  });

  test("tokens that a provider does not count are left out", async () => {
    const usage = { inputTokens: { total: undefined }, outputTokens: { total: Number.NaN } };
    const model = fromLanguageModel(
      writtenModel([
        { ...done, usage },
        { ...done, usage: { inputTokens: 4, outputTokens: undefined } },
      ]),
    );
    const agent = new Agent({ name: "a", model });
    expect((await agent.prompt("Go").run()).usage).toEqual({ inputTokens: 0, outputTokens: 0 });
    expect((await agent.prompt("Go").run()).usage).toEqual({ inputTokens: 4, outputTokens: 0 });
  });
});
