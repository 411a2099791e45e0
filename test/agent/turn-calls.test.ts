import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  type RunState,
  type Tool,
  type ToolCallExtensions,
  ToolSet,
  wrapTool,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const call = (toolName: string, toolCallId: string, input: unknown = {}) => ({ toolName, toolCallId, input });
const usage = { inputTokens: 0, outputTokens: 0 };

/** A saved state in whose turn one call stands so. */
function stateWith(saved: { readonly toolName: string; readonly status: string }): unknown {
  const calls = [{ toolCallId: "call_a", wireId: "call_a", input: {}, ...saved }];
  return { version: 1, agentName: "a", runId: "run_a", turn: 1, messages: [], usage, calls };
}

function scripted(tools: readonly Tool<never, unknown, never>[], calls: readonly ReturnType<typeof call>[] = []) {
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === "user" ? { toolCalls: calls } : "Done."));
  return { model, agent: new Agent({ name: "a", model, tools }) };
}

describe("a call that ends the run", () => {
  const Absent = extensionToken("absent").of<string>();

  it.each<[string, (controller: AbortController, extensions: ToolCallExtensions<string>) => void]>([
    ["by the run's abort", (controller) => controller.abort(new Error("enough"))],
    ["by an extension that it asked for in vain", (_controller, extensions) => void extensions.require(Absent)],
  ])("%s is saved as begun, so that a resumed run does not take it for done", async (_how, end) => {
    const controller = new AbortController();
    const tool = recordingTool({ name: "probe", result: ({ extensions }) => end(controller, extensions) });
    const states: RunState[] = [];
    const request = scripted([tool], [call("probe", "call_a")])
      .agent.prompt("x")
      .signal(controller.signal)
      .onCheckpoint((state) => void states.push(structuredClone(state)));
    await expect(request.run()).rejects.toThrow(/enough|absent/);
    // After an abort nothing more is saved of what has not ended.
    expect(states).toHaveLength(controller.signal.aborted ? 1 : 2);
    for (const { calls } of states) {
      expect(calls).toEqual([expect.objectContaining({ toolCallId: "call_a", status: "started" })]);
      expect(calls[0]).not.toHaveProperty("result");
    }
  });

  it("ends the calls that wait inside as aborted, with its own error", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const ask = scripted([pay], [call("pay", "in_a")]).agent.asTool({ name: "ask" });
    const fail = recordingTool({ name: "fail", result: ({ extensions }) => extensions.require(Absent as never) });
    const events: RunEvent[] = [];
    const calls = [call("ask", "call_a", { prompt: "y" }), call("fail", "call_b")];
    const request = scripted([ask, fail], calls).agent.prompt("x");
    const error: unknown = await request
      .on((event) => events.push(event))
      .run()
      .catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "missing-extension" });
    await expect(request.run()).rejects.toMatchObject({ code: "missing-extension" });
    const ends = events.flatMap((event) =>
      event.type === "tool-failed" ? [[event.invocation.toolCallId, event.kind, event.error]] : [],
    );
    expect(ends).toEqual([
      ["call_b", "missing-extension", error],
      ["call_a", "aborted", error],
    ]);
  });
});

describe("a call that has ended", () => {
  it("is saved as done, also where whoever hears of its end aborts the run", async () => {
    const controller = new AbortController();
    const states: RunState[] = [];
    const request = scripted([recordingTool({ name: "probe" })], [call("probe", "call_a")])
      .agent.prompt("x")
      .signal(controller.signal)
      .onCheckpoint((state) => void states.push(structuredClone(state)))
      .on(({ type }) => {
        if (type === "tool-completed") controller.abort(new Error("enough"));
      });
    await expect(request.run()).rejects.toThrow("enough");
    expect(states.at(-1)?.calls).toMatchObject([{ status: "done", result: { text: "recorded" } }]);
  });
});

describe("a call of a tool that there is not", () => {
  it("is never begun, and the model reads which tools there are", async () => {
    const states: RunState[] = [];
    const { agent } = scripted([recordingTool({ name: "probe" })], [call("prob", "call_a")]);
    const { messages } = await agent
      .prompt("x")
      .onCheckpoint((state) => void states.push(structuredClone(state)))
      .run();
    const text = 'There is no tool "prob". Available: probe.';
    expect(messages[2]).toEqual({ role: "tool", toolCallId: "call_a", toolName: "prob", text, isError: true });
    expect(states.flatMap(({ calls }) => calls.map(({ status }) => status))).toEqual(["new", "done"]);
  });
});

describe("a call that nobody waits for", () => {
  it("ends with the run, which says why, and is told of before the run's end", async () => {
    const deaf = defineTool({ name: "deaf", input: {}, call: () => new Promise<string>(() => {}) });
    const inner = new ToolSet([deaf]);
    const hasty = defineTool({
      name: "hasty",
      input: {},
      callWithExtensions: (_input, extensions) => {
        void inner.callWithExtensions("deaf", {}, extensions);
        return "gone ahead";
      },
    });
    const events: RunEvent[] = [];
    const request = scripted([hasty], [call("hasty", "call_a")]).agent.prompt("x");
    await request.on((event) => events.push(event)).run();
    expect(events.slice(-2)).toMatchObject([
      {
        type: "tool-failed",
        kind: "aborted",
        invocation: { toolName: "deaf" },
        error: { name: "AbortError", message: "the run has ended" },
      },
      { type: "run-completed" },
    ]);
  });

  it.each([
    ["a run", undefined],
    ["a run inside a call with a listener", () => {}],
  ])("is waited for, where it is %s, until what is being saved of it has been", async (_what, listener) => {
    const inner = scripted([recordingTool({ name: "probe" })], [call("probe", "in_a")]).agent;
    const begin = defineTool({
      name: "begin",
      input: {},
      callWithExtensions: (_input, extensions) => {
        const request = inner.prompt("y").toolExtensions(extensions);
        request
          .onCheckpoint(() => sleep(10))
          .run()
          .catch(() => undefined);
        return "gone ahead";
      },
    });
    const tools = new ToolSet([begin]);
    const hasty = defineTool({
      name: "hasty",
      input: {},
      callWithExtensions: (_input, extensions) => tools.callWithExtensions("begin", {}, extensions, { listener }),
    });
    const events: string[] = [];
    const request = scripted([hasty], [call("hasty", "call_a")]).agent.prompt("x");
    await request.on(({ type }) => events.push(type)).run();
    expect(events.slice(-2)).toEqual(["run-failed", "run-completed"]);
  });
});

describe("the end of a turn", () => {
  it("is told of with the answer that began it", async () => {
    const calls = ["call_a", "call_b"].map((id) => ({ text: id, toolCalls: [call("probe", id)] }));
    const agent = new Agent({
      name: "a",
      model: scriptedModel([...calls, "Done."]),
      tools: [recordingTool({ name: "probe" })],
    });
    const texts: unknown[] = [];
    await agent
      .prompt("x")
      .on((event) => {
        if (event.type === "turn-completed") texts.push([event.turn, event.message.content[0]]);
      })
      .run();
    expect(texts).toMatchObject([
      [1, { text: "call_a" }],
      [2, { text: "call_b" }],
      [3, { text: "Done." }],
    ]);
  });

  it("is not told of where a resumed run does not know its answer", async () => {
    const types: string[] = [];
    const request = scripted([]).agent.resume(stateWith({ toolName: "gone", status: "started" }));
    await request.on(({ type }) => types.push(type)).run();
    expect(types.filter((type) => type === "turn-completed")).toHaveLength(1);
  });
});

describe("a resumed call", () => {
  it("whose tool is gone is told of as one whose outcome is unknown", async () => {
    const { agent, model } = scripted([]);
    expect(await agent.resume(stateWith({ toolName: "gone", status: "started" })).run()).toMatchObject({
      output: "Done.",
    });
    expect(model.requests[0]?.messages).toEqual([
      {
        role: "tool",
        toolCallId: "call_a",
        toolName: "gone",
        text: "The run was interrupted while this call was open: it may or may not have happened. Check before calling again.",
        isError: true,
      },
    ]);
  });

  it("that waits for approval goes on waiting, also where its tool asks for none any more", async () => {
    const pay = recordingTool({ name: "pay" });
    const paused = await scripted([pay])
      .agent.resume(stateWith({ toolName: "pay", status: "waiting" }))
      .run();
    expect(paused).toMatchObject({ status: "paused", pending: [{ toolCallId: "call_a" }] });
    expect(pay.calls).toEqual([]);
  });

  it("with a sub-agent's run inside goes on there, whatever its tool says of running again", async () => {
    const pay = { ...recordingTool({ name: "pay", result: () => "paid" }), needsApproval: true };
    const ask = { ...scripted([pay], [call("pay", "in_a")]).agent.asTool({ name: "ask" }), idempotent: false };
    const { agent, model } = scripted([ask], [call("ask", "call_a", { prompt: "y" })]);
    const paused = await agent.prompt("x").run();
    if (paused.status !== "paused") throw new Error("did not pause");
    await agent.resume(paused.state).approve("in_a").run();
    expect(pay.calls).toHaveLength(1);
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ text: "Done.", isError: false });
  });
});

describe("a tool that pauses with what is no state", () => {
  it("ends the run only when what is being saved has been", async () => {
    const log: string[] = [];
    const pause = Object.assign(new Error("paused"), { [Symbol.for("tool-call-extensions/pause")]: {} });
    const broken = recordingTool({ name: "broken", result: () => sleep(5).then(() => Promise.reject(pause)) });
    const calls = [call("quick", "call_a"), call("broken", "call_b")];
    const { agent } = scripted([recordingTool({ name: "quick" }), broken], calls);
    const request = agent.prompt("x").onCheckpoint(async ({ calls: [quick] }) => {
      await sleep(quick?.status === "done" ? 20 : 0);
      log.push(`saved ${quick?.status}`);
    });
    await expect(request.run()).rejects.toMatchObject({ code: "invalid-state" });
    expect(log).toEqual(["saved started", "saved done"]);
  });

  it("rejects the run, naming the field", async () => {
    const pause = Object.assign(new Error("paused"), { [Symbol.for("tool-call-extensions/pause")]: { version: 2 } });
    const tool = defineTool({ name: "ask", input: {}, call: () => Promise.reject(pause) });
    await expect(
      scripted([tool], [call("ask", "call_a")])
        .agent.prompt("x")
        .run(),
    ).rejects.toThrow(
      "[invalid-state] the state of a sub-agent.version must be 1, the version this package writes; received 2",
    );
  });
});

describe("a sub-agent that goes on after its call has ended", () => {
  /** Asks a sub-agent, after a delay, and does not wait for it. */
  function hasty(delay: number, tools: readonly Tool<never, unknown, never>[]) {
    const inner = scripted(tools, [call(tools[0]?.name ?? "", "in_a")]);
    const ask = wrapTool(inner.agent.asTool({ name: "ask" }), {
      callWithExtensions: (input, extensions, next) => {
        void sleep(delay).then(() => next(input, extensions));
        return "gone ahead";
      },
    });
    return { ask, inner };
  }

  it("is not in the state any more: the call is done, and nothing in it waits", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const slow = recordingTool({ name: "slow", result: () => sleep(20) });
    const { ask, inner } = hasty(0, [slow]);
    const calls = [call("ask", "call_a", { prompt: "y" }), call("slow", "call_b"), call("pay", "call_c")];
    const result = await scripted([ask, slow, pay], calls).agent.prompt("x").run();
    expect(inner.model.requests.length).toBeGreaterThan(0);
    expect(result.status === "paused" && result.state.calls[0]).toMatchObject({ status: "done" });
    expect(result.status === "paused" && result.state.calls[0]).not.toHaveProperty("run");
  });

  it("does not bring back the run it was in, which has ended, although the call of that one goes on", async () => {
    const { ask } = hasty(10, [recordingTool({ name: "probe" })]);
    const inner = scripted([ask], [call("ask", "in_a", { prompt: "z" })]).agent.asTool({ name: "delegate" });
    const delegate = wrapTool(inner, {
      callWithExtensions: async (input, extensions, next) => sleep(60, await next(input, extensions)),
    });
    const slow = recordingTool({ name: "slow", result: () => sleep(40) });
    const calls = [call("delegate", "call_a", { prompt: "y" }), call("slow", "call_b")];
    const kept: unknown[] = [];
    const request = scripted([delegate, slow], calls).agent.prompt("x");
    await request.onCheckpoint(({ calls: [first] }) => void (first?.run && kept.push(first.run.calls.length))).run();
    expect(new Set(kept)).toEqual(new Set([1]));
  });

  it("and after the outer run has nothing saved", async () => {
    const { ask, inner } = hasty(10, [recordingTool({ name: "probe" })]);
    let saves = 0;
    const { agent } = scripted([ask], [call("ask", "call_a", { prompt: "y" })]);
    await agent
      .prompt("x")
      .onCheckpoint(() => void saves++)
      .run();
    const before = saves;
    await sleep(40);
    expect([inner.model.requests.length, saves]).toEqual([2, before]);
  });
});
