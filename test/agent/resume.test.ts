import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  type ModelRequest,
  type PromptRequest,
  type RunEvent,
  Runner,
  type RunState,
  type Tool,
  ToolCallExtensionsError,
} from "tool-call-extensions";
import { recordingTool, type ScriptedTurn, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const UNKNOWN = /may or may not have happened/;

const call = (toolName: string, toolCallId: string, input: unknown = {}) => ({ toolName, toolCallId, input });
const overJson = (state: unknown): RunState => JSON.parse(JSON.stringify(state));
const readTexts = ({ messages }: { readonly messages: RunState["messages"] }) =>
  messages.flatMap((message) => (message.role === "tool" ? message.text : []));

/** Answers by the turn, so that a second process can go on with the same script; at its end says that it is done. */
function turns(...script: readonly ScriptedTurn[]) {
  return scriptedModel(({ messages }) => script[messages.filter(({ role }) => role === "assistant").length] ?? "Done.");
}

/** Two tools of one process, which write down what they are entered with. */
function processTools() {
  const once = recordingTool({ name: "once", result: () => sleep(1, "once done") });
  const again = { ...recordingTool({ name: "again", result: () => sleep(3, "again done") }), idempotent: true };
  const keys = () => [...once.calls, ...again.calls].map(({ invocation }) => invocation.invocationKey);
  const ids = () => [once, again].map((tool) => tool.calls.map(({ invocation }) => invocation.toolCallId));
  return { once, again, tools: [once, again], keys, ids };
}

const ask = call("ask", "out_a", { prompt: "y" });
const SCRIPT = [
  {
    toolCalls: [call("once", "a1"), call("again", "a2"), call("once", "")],
    usage: { inputTokens: 10, outputTokens: 1 },
  },
  { toolCalls: [call("again", "b1"), call("once", "b2")], usage: { inputTokens: 20, outputTokens: 2 } },
  { text: "Done.", usage: { inputTokens: 30, outputTokens: 3 } },
];

const scripted = (tools: readonly Tool<never, unknown, never>[]) =>
  new Agent({ name: "a", model: turns(...SCRIPT), tools });

/** Delegates to a sub-agent that makes these calls, and makes others itself. */
function delegating(tools: readonly Tool<never, unknown, never>[], inner: object[], outer: object[] = []) {
  const modelOf = (calls: object[]) => turns({ toolCalls: calls as (typeof ask)[] });
  const sub = new Agent({ name: "inner", model: modelOf(inner), tools }).asTool({ name: "ask" });
  return new Agent({ name: "outer", model: modelOf([ask, ...outer]), tools: [...tools, sub] });
}

/** Runs until the checkpoint in which the process dies, and gives what was saved before. */
async function runUntil(request: PromptRequest<never, unknown>, dyingIn: number): Promise<RunState | undefined> {
  const saved: RunState[] = [];
  const killed = new Error("killed");
  const run = request.onCheckpoint((state) => {
    if (saved.length + 1 >= dyingIn) throw killed;
    saved.push(overJson(state));
  });
  await run.run().catch((error: unknown) => expect(error).toBe(killed));
  return saved.at(-1);
}

describe("a checkpoint", () => {
  it("is awaited before tools run and after each result, one at a time", async () => {
    const log: string[] = [];
    const entering = (name: string, ms: number) => {
      const result = async () => {
        log.push(`enter ${name}`);
        await sleep(ms);
        log.push(`leave ${name}`);
      };
      return recordingTool({ name, result });
    };
    const script = [{ toolCalls: [call("a", "a1"), call("b", "b1")] }, { toolCalls: [call("a", "a2")] }, "Done."];
    const model = scriptedModel(() => {
      log.push("ask");
      return script.shift() ?? "";
    });
    await new Agent({ name: "a", model, tools: [entering("a", 1), entering("b", 20)] })
      .prompt("x")
      .onCheckpoint(async ({ calls }) => {
        log.push("saving");
        await sleep(2);
        log.push(`saved ${calls.map(({ status }) => status)}`);
      })
      .run();
    expect(log.join("; ")).toBe(
      "ask; saving; saved started,started; enter a; enter b; leave a; saving; saved done,started; " +
        "leave b; saving; saved done,done; ask; saving; saved started; enter a; leave a; saving; saved done; ask",
    );
  });

  it("of a sub-agent's run is one of the outer run, with the inner state in it", async () => {
    const { tools, once } = processTools();
    const shapes: string[] = [];
    await delegating(tools, [call("once", "in_a")])
      .prompt("x")
      .onCheckpoint(({ calls: [outer] }) => {
        shapes.push(`${once.calls.length} ${outer?.status} ${outer?.run?.calls.map(({ status }) => status)}`);
      })
      .run();
    expect(shapes).toEqual(["0 started undefined", "0 started started", "1 started done", "1 done undefined"]);
  });
});

it("a checkpoint while a sub-agent's model thinks has its results once: in the calls, not in the conversation too", async () => {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [call("ping", "in_a")] } : "Done.",
  );
  const slowModel = {
    generate: async (request: ModelRequest) => {
      if (request.messages.length > 1) await sleep(30);
      return model.generate(request);
    },
  };
  const ping = recordingTool({ name: "ping" });
  const sub = new Agent({ name: "inner", model: slowModel, tools: [ping] }).asTool({ name: "ask" });
  const slow = recordingTool({ name: "slow", result: () => sleep(15) });
  const outer = turns({ toolCalls: [ask, call("slow", "out_b")] });
  const states: RunState[] = [];
  const request = new Agent({ name: "outer", model: outer, tools: [sub, slow] }).prompt("x");
  await request.onCheckpoint((state) => void states.push(overJson(state))).run();
  const thinking = states.find(({ calls: [first, second] }) => first?.run !== undefined && second?.status === "done");
  expect(thinking?.calls[0]?.run?.calls).toMatchObject([{ toolName: "ping", status: "done" }]);
  expect(thinking?.calls[0]?.run?.messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
});

describe("a process that dies in a checkpoint", () => {
  it.each([1, 2, 3, 4, 5, 6, 7, 8])("number %i is followed by one that repeats only what it may", async (dyingIn) => {
    const [first, second, whole] = [processTools(), processTools(), processTools()];
    const state = await runUntil(scripted(first.tools).prompt("x").session("chat-7"), dyingIn);
    if (state === undefined) return expect([dyingIn, first.keys()]).toEqual([1, []]);
    const result = await scripted(second.tools).resume(state).run();
    const open = state.calls.filter(({ status }) => status === "started");
    const openIds = open.filter(({ toolName }) => toolName === "again").map(({ toolCallId }) => toolCallId);
    expect(second.ids()).toEqual(dyingIn > 5 ? [[], openIds] : [["b2"], [...openIds, "b1"]]);
    expect(readTexts(result).filter((text) => UNKNOWN.test(text))).toHaveLength(open.length - openIds.length);
    expect(result).toMatchObject({ output: "Done.", turns: 3, usage: { inputTokens: 60, outputTokens: 6 } });
    const asked = ({ messages }: typeof result) => messages.filter(({ role }) => role === "assistant");
    expect(asked(result)).toEqual(asked(await scripted(whole.tools).prompt("x").session("chat-7").run()));
    expect(whole.keys()).toEqual(expect.arrayContaining([...first.keys(), ...second.keys()]));
  });

  it.each([1, 2, 3, 4, 5, 6, 7])("number %i of a sub-agent's run goes on inside it", async (dyingIn) => {
    const agentOf = ({ tools }: ReturnType<typeof processTools>) =>
      delegating(tools, [call("once", "in_a"), call("again", "in_b")], [call("once", "out_b")]);
    const [first, second] = [processTools(), processTools()];
    const state = await runUntil(agentOf(first).prompt("x").session("chat-7"), dyingIn);
    if (state === undefined) return expect([dyingIn, first.keys()]).toEqual([1, []]);
    const result = await agentOf(second).resume(state).run();
    expect([result.output, readTexts(result)[0]]).toEqual(["Done.", "Done."]);
    const [{ status, run } = { status: "done", run: undefined }] = state.calls;
    const isOpen = status !== "done" && run?.calls[1]?.status !== "done";
    const isUnbegun = status !== "done" && run === undefined;
    expect(second.ids()).toEqual([isUnbegun ? ["in_a"] : [], isOpen ? ["in_b"] : []]);
    const again = [...first.again.calls, ...second.again.calls];
    expect(new Set(again.map(({ invocation }) => invocation.invocationKey)).size).toBe(1);
  });

  it.each([true, false])("does not let a rejected call run later (idempotent: %s)", async (idempotent) => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true, idempotent };
    const model = turns({ toolCalls: [call("pay", "a"), call("slow", "b")] });
    const agent = new Agent({ name: "a", model, tools: [pay, recordingTool({ name: "slow" })] });
    const paused = await agent.prompt("x").run();
    if (paused.status !== "paused") throw new Error("did not pause");
    const state = await runUntil(agent.resume(paused.state).reject("a", "Too much."), 2);
    const result = await agent.resume(state).run();
    expect([pay.calls, readTexts(result)]).toEqual([[], ["Too much.", "recorded"]]);
  });

  it("does not let a call run later whose approval could not be asked for", async () => {
    const failing = () => Promise.reject(new Error("the policy service is down"));
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: failing, idempotent: true };
    const agent = new Agent({ name: "a", model: turns({ toolCalls: [call("pay", "a")] }), tools: [pay] });
    await agent.resume(await runUntil(agent.prompt("x"), 2)).run();
    expect(pay.calls).toEqual([]);
  });

  it("is told of in the stream of the next: the open calls are requested again, the finished one is not", async () => {
    const state = await runUntil(scripted(processTools().tools).prompt("x"), 3);
    const events: RunEvent[] = [];
    for await (const event of scripted(processTools().tools).resume(state).stream()) events.push(event);
    const inTurn = events.slice(
      0,
      events.findIndex(({ type }) => type === "turn-completed"),
    );
    expect(inTurn.flatMap((event) => ("invocation" in event ? `${event.type} ${event.invocation.index}` : []))).toEqual(
      ["tool-requested 1", "tool-requested 2", "tool-failed 2", "tool-completed 1"],
    );
    expect(events.find(({ type }) => type === "tool-failed")).toMatchObject({ kind: "outcome-unknown" });
    expect(events.at(-1)).toMatchObject({ type: "run-completed", result: { output: "Done." } });
  });
});

describe("a save that fails", () => {
  it.each([1, 3, 16])(
    "ends the run with its error, and each open call once (%i at a time)",
    async (toolConcurrency) => {
      const waiting = recordingTool({ name: "waiting", result: () => new Promise(() => {}) });
      const quick = recordingTool({ name: "quick", result: () => sleep(5) });
      const many = (name: string) => Array.from({ length: 6 }, (_, n) => call("waiting", `${name}_${n}`));
      const agent = delegating([waiting, quick], [call("quick", "in"), ...many("in")], many("out"));
      const open = new Map<string, number>();
      const saves: string[] = [];
      const full = new Error("disk full");
      const request = agent
        .prompt("x")
        .on((event) => {
          if (event.type !== "tool-requested" && event.type !== "tool-failed" && event.type !== "tool-completed")
            return;
          const { toolCallId } = event.invocation;
          open.set(toolCallId, (open.get(toolCallId) ?? 0) + (event.type === "tool-requested" ? 1 : -1));
        })
        .onCheckpoint(async ({ calls }) => {
          saves.push(JSON.stringify(calls));
          if (saves.at(-1)?.includes("done")) throw full;
        });
      await expect(new Runner({ toolConcurrency }).run(request)).rejects.toBe(full);
      expect(new Set(open.values())).toEqual(new Set([0]));
      expect(saves.filter((state) => state.includes("done"))).toHaveLength(1);
      for (const { invocation } of waiting.calls) expect(invocation.signal.reason).toBe(full);
    },
  );

  it("when a sub-agent has paused ends that call too, as the run does not come to its pause", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const events: string[] = [];
    let saves = 0;
    const run = delegating([pay], [call("pay", "in_a")])
      .prompt("x")
      .on((event) => "invocation" in event && events.push(event.type))
      .onCheckpoint(() => (++saves === 3 ? Promise.reject(new Error("disk full")) : undefined));
    await expect(run.run()).rejects.toThrow("disk full");
    expect(events).toEqual(["tool-requested", "tool-failed"]);
  });

  it("before the tools run lets none of them run", async () => {
    const { tools, keys } = processTools();
    const events: string[] = [];
    const request = scripted(tools)
      .prompt("x")
      .on(({ type }) => events.push(type));
    await expect(request.onCheckpoint(() => Promise.reject(new Error("disk full"))).run()).rejects.toThrow("disk full");
    expect([events, keys()]).toEqual([["run-started", "turn-started", "run-failed"], []]);
  });
});

describe("a run that was aborted", () => {
  it("has ended only when nothing of it is being saved any more: a late save could undo a resumed run's", async () => {
    const controller = new AbortController();
    const log: string[] = [];
    const request = delegating(processTools().tools, [call("again", "in_a"), call("again", "in_b")])
      .prompt("x")
      .signal(controller.signal)
      .onCheckpoint(async () => {
        if (log.push("saving") === 5) setTimeout(() => controller.abort(), 5);
        await sleep(15);
        log.push("saved");
      });
    await expect(request.run()).rejects.toHaveProperty("name", "AbortError");
    const before = log.length;
    await sleep(60);
    expect([log.length, log.at(-1)]).toEqual([before, "saved"]);
  });

  it("by leaving its stream goes on from its last checkpoint", async () => {
    const second = processTools();
    const states: RunState[] = [];
    const request = scripted(processTools().tools).prompt("x");
    const stream = request.onCheckpoint((state) => void states.push(overJson(state))).stream();
    for await (const event of stream) if (event.type === "turn-completed") break;
    expect(await scripted(second.tools).resume(states.at(-1)).run()).toMatchObject({ output: "Done.", turns: 3 });
    expect(second.ids()).toEqual([["b2"], ["b1"]]);
  });
});

describe("a run that failed", () => {
  async function stateOf(run: Promise<unknown>, code: string): Promise<RunState> {
    const error: unknown = await run.catch((e) => e);
    if (!ToolCallExtensionsError.is(error) || error.code !== code) throw error;
    return overJson((error.details as { state: object }).state);
  }

  it("for its model goes on from details.state, and asks that turn's question again", async () => {
    const { tools, ids } = processTools();
    const down = turns(...SCRIPT.slice(0, 2), new Error("HTTP 500"));
    const failed = new Agent({ name: "a", model: down, tools }).prompt("x").session("chat-7").run();
    const state = await stateOf(failed, "model-failed");
    expect(state).toMatchObject({ turn: 2, calls: [], usage: { inputTokens: 30, outputTokens: 3 } });
    const model = turns(...SCRIPT);
    const result = await new Agent({ name: "a", model, tools }).resume(state).run();
    expect(result).toMatchObject({ output: "Done.", turns: 3, usage: { inputTokens: 60, outputTokens: 6 } });
    expect(model.requests.map(({ messages }) => messages)).toEqual([down.requests[2]?.messages]);
    expect(ids()).toEqual([
      ["a1", expect.any(String), "b2"],
      ["a2", "b1"],
    ]);
  });

  it("at its last turn goes on from details.state with more turns", async () => {
    const { tools, ids } = processTools();
    const agent = scripted(tools);
    const state = await stateOf(agent.prompt("x").maxTurns(2).run(), "max-turns");
    await expect(agent.resume(state).maxTurns(2).run()).rejects.toMatchObject({ code: "max-turns" });
    expect(await agent.resume(state).maxTurns(3).run()).toMatchObject({ output: "Done.", turns: 3 });
    expect(ids()[1]).toEqual(["a2", "b1"]);
  });

  it("has its conversation in details.state, and in nothing that a log writes out of the error", async () => {
    const model = turns({ toolCalls: [call("again", "a1")] }, new Error("HTTP 500"));
    const asked = new Agent({ name: "a", model, tools: processTools().tools }).prompt("where is my order?");
    const errors: unknown[] = [await asked.run().catch((e) => e)];
    errors.push(
      await scripted(processTools().tools)
        .prompt("where is my order?")
        .maxTurns(1)
        .run()
        .catch((e) => e),
    );
    for (const error of errors) {
      if (!ToolCallExtensionsError.is(error)) throw error;
      expect(JSON.stringify((error.details as { state: object }).state)).toContain("where is my order?");
      expect(JSON.stringify({ ...error })).not.toContain("where is my order?");
    }
    expect(errors.map((error) => Object(error).code)).toEqual(["model-failed", "max-turns"]);
  });
});

describe("a resumed run", () => {
  it("gives the value of the schema that it is asked for", async () => {
    const model = turns({ toolCalls: [call("again", "a1")] }, '{"celsius":21}');
    const agent = new Agent({ name: "a", model, tools: processTools().tools });
    const resumed = agent.resume(await runUntil(agent.prompt("x"), 2));
    expect((await resumed.output(z.object({ celsius: z.number() })).run()).output).toEqual({ celsius: 21 });
  });
});
