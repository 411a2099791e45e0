import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  type RunState,
  type Tool,
  type ToolCallExtensions,
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
    expect(states.length).toBeGreaterThan(0);
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
    const ends = events.flatMap((event) =>
      event.type === "tool-failed" ? [[event.invocation.toolCallId, event.kind, event.error]] : [],
    );
    expect(ends).toEqual([
      ["call_b", "missing-extension", error],
      ["call_a", "aborted", error],
    ]);
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
