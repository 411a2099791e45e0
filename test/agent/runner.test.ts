import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  type AssistantPart,
  defineTool,
  extensionToken,
  type Message,
  type Model,
  type PromptRequest,
  Runner,
  type RunResult,
  ToolCallExtensions,
  ToolInvocationContext,
  toolResult,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

type Request = PromptRequest<never, unknown>;

async function drain(runner: Runner, request: Request): Promise<RunResult<unknown>> {
  let result: RunResult<unknown> | undefined;
  for await (const event of runner.stream(request)) {
    if (event.type === "run-completed" && event.parent === undefined) result = event.result;
  }
  if (result === undefined) throw new Error("the stream ended without a result");
  return result;
}

const ways: [string, (request: Request, runner?: Runner) => Promise<RunResult<unknown>>][] = [
  ["blocking", (request, runner = new Runner()) => runner.run(request)],
  ["streaming", (request, runner = new Runner()) => drain(runner, request)],
];

/** One turn that calls `tool` once for each input, then the answer. */
function callingModel(toolName: string, inputs: readonly object[]) {
  return scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: inputs.map((input) => ({ toolName, input })) } : "Done.",
  );
}

describe.each(ways)("a %s run", (_way, drive) => {
  it("ends with the answer, the turns taken and the model's finish reason", async () => {
    const model = callingModel("probe", [{}]);
    const result = await drive(new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] }).prompt("x"));
    expect(result).toMatchObject({ status: "completed", output: "Done.", turns: 2, finishReason: "stop" });
    expect(model.requests).toHaveLength(2);
  });

  it("gives the model the results in call order although the calls finish out of order", async () => {
    const finished: string[] = [];
    const finish = new Map<string, () => void>();
    const order = defineTool({
      name: "order",
      input: { type: "object" },
      call: async ({ name, after }) => {
        // Each waits for the one it is to follow, so that the order does not hang on a clock.
        if (after !== undefined) await new Promise<void>((resolve) => finish.set(String(after), resolve));
        finished.push(String(name));
        setTimeout(() => finish.get(String(name))?.(), 0);
        return name;
      },
    });
    const model = callingModel("order", [{ name: "a", after: "c" }, { name: "b" }, { name: "c", after: "b" }]);
    const result = await drive(new Agent({ name: "a", model, tools: [order] }).prompt("x"));
    expect(finished).toEqual(["b", "c", "a"]);
    expect(result.messages.flatMap((message) => (message.role === "tool" ? message.text : []))).toEqual([
      "a",
      "b",
      "c",
    ]);
  });

  it("answers each call under the id by which the model knows it", async () => {
    const toolCalls = ["call_a", "call_b", "call_a", ""].map((toolCallId) => ({
      toolName: "probe",
      input: {},
      toolCallId,
    }));
    const model = scriptedModel([{ toolCalls }, "Done."]);
    await drive(new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] }).prompt("x"));
    const [, call, ...results] = model.requests[1]?.messages ?? [];
    const asked =
      call?.role === "assistant"
        ? call.content.flatMap((part) => (part.type === "tool-call" ? part.toolCallId : []))
        : [];
    expect(results.map((message) => message.role === "tool" && message.toolCallId)).toEqual(asked);
    expect(asked.slice(0, 2)).toEqual(["call_a", "call_b"]);
    expect(new Set(asked).size).toBe(4);
    expect(asked).not.toContain("");
  });

  it("asks with the agent's instructions and tools, and with the conversation so far", async () => {
    const model = callingModel("probe", [{}]);
    const tools = [recordingTool({ name: "probe", input: { type: "object", properties: { n: { type: "number" } } } })];
    const result = await drive(new Agent({ name: "a", instructions: "Be brief.", model, tools }).prompt("x"));
    expect(model.requests).toMatchObject([{ instructions: "Be brief." }, { instructions: "Be brief." }]);
    const inputSchema = { type: "object", properties: { n: { type: "number" } } };
    expect(model.requests[1]?.tools).toEqual([{ name: "probe", description: undefined, inputSchema }]);
    expect(model.requests.map(({ messages }) => messages)).toEqual([
      result.messages.slice(0, 1),
      result.messages.slice(0, 3),
    ]);
  });

  it("tells each call its place in the run", async () => {
    const probe = recordingTool({ name: "probe" });
    const call = (toolCallId?: string) => ({ toolName: "probe", input: {}, toolCallId });
    const model = scriptedModel([{ toolCalls: [call("call_a"), call("")] }, { toolCalls: [call()] }, "Done."]);
    const { runId } = await drive(new Agent({ name: "a", model, tools: [probe] }).prompt("x"));
    const place = { runId, agentName: "a", toolName: "probe", attempt: 1, parent: undefined };
    expect(probe.calls.map(({ invocation }) => invocation)).toMatchObject([
      { ...place, turn: 1, index: 0, batchSize: 2, providerToolCallId: "call_a", toolCallId: "call_a" },
      { ...place, turn: 1, index: 1, batchSize: 2, providerToolCallId: "" },
      { ...place, turn: 2, index: 0, batchSize: 1, providerToolCallId: undefined },
    ]);
  });

  it("gathers result extensions in call order, the later call winning", async () => {
    const Cost = extensionToken("cost").of<number>();
    const pay = defineTool({
      name: "pay",
      input: { type: "object" },
      call: async ({ cost, ms }) => {
        await sleep(Number(ms));
        return toolResult("paid", new ToolCallExtensions().with(Cost, Number(cost)));
      },
    });
    const model = callingModel("pay", [
      { cost: 1, ms: 1 },
      { cost: 2, ms: 10 },
      { cost: 3, ms: 1 },
    ]);
    const { resultExtensions } = await drive(new Agent({ name: "a", model, tools: [pay] }).prompt("x"));
    expect(resultExtensions.get(Cost)).toBe(3);
    expect(resultExtensions.isReadOnly).toBe(true);
  });

  it("shares the values of result extensions by reference, whichever map the tool built them on", async () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const [tags, moreTags] = [["a"], ["b"]];
    const seen: unknown[] = [];
    const tagged = defineTool({
      name: "tagged",
      input: { type: "object" },
      callWithExtensions: ({ isOnCall }, extensions) =>
        isOnCall === true
          ? toolResult("ok", extensions.with(Tags, tags))
          : toolResult("ok", new ToolCallExtensions().with(Tags, moreTags)),
    });
    for (const isOnCall of [true, false]) {
      const agent = new Agent({ name: "a", model: callingModel("tagged", [{ isOnCall }]), tools: [tagged] });
      seen.push((await drive(agent.prompt("x"))).resultExtensions.get(Tags));
    }
    expect(seen[0]).toBe(tags);
    expect(seen[1]).toBe(moreTags);
  });

  it("keeps a call's invocation out of the result extensions, so that the next prompt is no child of it", async () => {
    const Cost = extensionToken("cost").of<number>();
    const pay = defineTool({
      name: "pay",
      input: { type: "object" },
      callWithExtensions: (_input, extensions) => toolResult("paid", extensions.with(Cost, 2)),
    });
    const agent = new Agent({ name: "a", model: callingModel("pay", [{}]), tools: [pay] });
    const { resultExtensions } = await drive(agent.prompt("x"));
    expect(resultExtensions.get(Cost)).toBe(2);
    expect(resultExtensions.has(ToolInvocationContext)).toBe(false);
  });

  it("carries a provider's own data back untouched", async () => {
    const reasoning: AssistantPart = { type: "provider", providerData: { signature: "sig-1" } };
    const call: AssistantPart = { type: "tool-call", toolName: "probe", input: {}, toolCallId: "a", providerData: [1] };
    const seen: (readonly Message[])[] = [];
    const model: Model = {
      generate: async ({ messages }) => {
        seen.push(messages);
        return { content: seen.length === 1 ? [reasoning, call] : [{ type: "text", text: "Done." }] };
      },
    };
    await drive(new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] }).prompt("x"));
    expect(seen[1]?.[1]).toEqual({ role: "assistant", content: [reasoning, call] });
  });

  it("rejects with max-turns when the model still calls tools in the last turn", async () => {
    const probe = recordingTool({ name: "probe" });
    const model = scriptedModel(() => ({ toolCalls: [{ toolName: "probe", input: {} }] }));
    const run = drive(new Agent({ name: "looper", model, tools: [probe] }).prompt("x").maxTurns(3));
    await expect(run).rejects.toMatchObject({ code: "max-turns", details: { maxTurns: 3 } });
    await expect(run).rejects.toThrow('[max-turns] agent "looper" still called tools after 3 turns; raise .maxTurns()');
    expect(model.requests).toHaveLength(3);
    expect(probe.calls).toHaveLength(3);
  });

  it("lets the model answer in the last turn", async () => {
    const agent = new Agent({
      name: "a",
      model: callingModel("probe", [{}]),
      tools: [recordingTool({ name: "probe" })],
    });
    expect((await drive(agent.prompt("x").maxTurns(2))).turns).toBe(2);
  });

  it("sums the usage of its turns, those that tell none included", async () => {
    const toolCalls = [{ toolName: "probe", input: {} }];
    const script = [
      { toolCalls, usage: { inputTokens: 10, outputTokens: 1 } },
      { toolCalls },
      { text: "Done.", usage: { inputTokens: 300, outputTokens: 20 } },
    ];
    const agent = new Agent({ name: "a", model: scriptedModel(script), tools: [recordingTool({ name: "probe" })] });
    expect((await drive(agent.prompt("x"))).usage).toEqual({ inputTokens: 310, outputTokens: 21 });
  });
});
