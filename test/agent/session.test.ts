import { inspect } from "node:util";
import { Agent, defineTool, type Message, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { type RecordingTool, recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";

interface Prompt {
  readonly text?: string;
  readonly session?: string;
  readonly turnId?: string;
  readonly history?: readonly Message[];
}

const call = (toolCallId: string | undefined, toolName = "probe") => ({
  toolCalls: [{ toolName, input: { prompt: "x" }, toolCallId }],
});

/** Makes two calls, of which the first has no id that could be used, and gives what identifies them. */
async function identitiesOf({ text = "x", session = "chat-7", turnId, history = [] }: Prompt = {}) {
  const probe = recordingTool({ name: "probe" });
  const model = scriptedModel([call("call_0"), call("toolu_01A"), "Done."]);
  const request = new Agent({ name: "a", model, tools: [probe] }).prompt(text).history(history);
  const { runId, messages } = await request.session(session, { turnId }).run();
  const keys = probe.calls.map(({ invocation }) => invocation.invocationKey);
  expect(probe.calls.map(({ invocation }) => invocation.sessionKey)).toEqual([session, session]);
  return { runId, keys, ids: probe.calls.map(({ invocation }) => invocation.toolCallId), messages };
}

describe("a session", () => {
  it("gives each call a key of its own, made from the session's key and the call's id", async () => {
    const { ids, keys } = await identitiesOf();
    const direct = recordingTool();
    for (const toolCallId of ids) {
      await new ToolSet([direct]).call("recording", {}, { sessionKey: "chat-7", toolCallId });
    }
    expect(keys).toEqual(direct.calls.map(({ invocation }) => invocation.invocationKey));
    expect(new Set(keys).size).toBe(2);
  });

  it("gives the same run id, ids and keys when the same prompt is run again", async () => {
    expect(await identitiesOf()).toEqual(await identitiesOf());
    expect(await identitiesOf({ turnId: "m-1" })).toEqual(await identitiesOf({ turnId: "m-1" }));
  });

  it("gives the same ones for one turn id, although the prompt and the history came out otherwise", async () => {
    const { messages: history } = await identitiesOf({ text: "before" });
    const first = await identitiesOf({ turnId: "m-1", text: "Refund it." });
    const again = await identitiesOf({ turnId: "m-1", text: "Refund it!", history: history.slice(0, 1) });
    expect([again.runId, again.ids, again.keys]).toEqual([first.runId, first.ids, first.keys]);
  });

  it.each<[string, Prompt, Prompt]>([
    ["turn id", { turnId: "m-1" }, { turnId: "m-2" }],
    ["turn id, where there was none", {}, { turnId: "x" }],
    ["prompt", {}, { text: "y" }],
    ["place in the conversation", {}, { history: [{ role: "user", text: "before" }] }],
    ["session", { turnId: "m-1" }, { turnId: "m-1", session: "chat-8" }],
    ["session, whose key ends where the prompt begins", {}, { session: "chat-", text: "7x" }],
  ])("gives another run id, and another id and key where the id is made, for another %s", async (_what, one, other) => {
    const [first, second] = [await identitiesOf(one), await identitiesOf(other)];
    expect(second.runId).not.toBe(first.runId);
    expect(second.ids[0]).not.toBe(first.ids[0]);
    expect(second.keys[0]).not.toBe(first.keys[0]);
  });

  it("gives two agents that answer the same prompt of it run ids and made ids of their own", async () => {
    const runs = await Promise.all(
      ["triage", "support"].map(async (name) => {
        const probe = recordingTool({ name: "probe" });
        const agent = new Agent({ name, model: scriptedModel([call("call_0"), "Done."]), tools: [probe] });
        const { runId } = await agent.prompt("x").session("chat-7", { turnId: "m-1" }).run();
        return { runId, key: probe.calls[0]?.invocation.invocationKey };
      }),
    );
    expect(runs[0]?.runId).not.toBe(runs[1]?.runId);
    expect(runs[0]?.key).not.toBe(runs[1]?.key);
  });

  it("is the new request's alone: the one it was asked of has none", async () => {
    const probe = recordingTool({ name: "probe" });
    const agent = new Agent({ name: "a", model: scriptedModel([call("toolu_01A"), "Done."]), tools: [probe] });
    const request = agent.prompt("x");
    request.session("chat-7");
    await request.run();
    expect(probe.calls[0]?.invocation.invocationKey).toBeUndefined();
  });

  it.each([
    ["a key", "", {}],
    ["a key", 7, {}],
    ["a turn id", "chat-7", { turnId: "" }],
    ["a turn id", "chat-7", { turnId: 7 }],
  ])("refuses %s that is no text: those who leave theirs empty would share their keys", (_what, key, options) => {
    const { session } = new Agent({ name: "a", model: scriptedModel([]) }).prompt("x");
    const expected = expect.objectContaining({ code: "invalid-argument" });
    expect(() => Reflect.apply(session, undefined, [key, options])).toThrow(expected);
  });

  it("refuses an empty key for a call of a ToolSet too", async () => {
    const pending = new ToolSet([recordingTool()]).call("recording", {}, { sessionKey: "" });
    await expect(pending).rejects.toMatchObject({ code: "invalid-argument" });
  });
});

describe("the key of a call", () => {
  it("is the same over its attempts, and so are the ids and keys of the calls inside it", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const seen: unknown[] = [];
    const flaky = defineTool({
      name: "flaky",
      input: {},
      retries: { max: 2, minDelayMs: 0 },
      callWithExtensions: async (_input, extensions) => {
        const { attempt, toolCallId, invocationKey } = extensions.require(ToolInvocationContext);
        seen.push([attempt, toolCallId, invocationKey]);
        await leaves.callWithExtensions("leaf", {}, extensions);
        if (attempt < 3) throw new Error("socket closed");
      },
    });
    const outcome = await new ToolSet([flaky]).call("flaky", {}, { sessionKey: "chat-7", toolCallId: "toolu_01A" });
    expect(outcome.status).toBe("completed");
    const key = leaf.calls[0]?.invocation.sessionKey;
    expect(seen).toEqual([1, 2, 3].map((attempt) => [attempt, "toolu_01A", key]));
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.toolCallId)).size).toBe(1);
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.invocationKey)).size).toBe(1);
  });

  it("is never in what a model is asked, and neither is the session's", async () => {
    const charge = recordingTool({
      name: "charge",
      result: ({ invocation }) => {
        if (invocation.turn > 1) throw new Error(`declined ${invocation.invocationKey}`);
        return "charged";
      },
    });
    const innerModel = scriptedModel([call("toolu_01A", "charge"), call("toolu_02B", "charge"), "Done."]);
    const inner = new Agent({ name: "inner", model: innerModel, tools: [charge] });
    const model = scriptedModel([call("toolu_01A", "ask"), call("call_0", "charge"), "Done."]);
    const agent = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask" }), charge] });
    await agent.prompt("x").session("canary-9f3", { turnId: "canary-4c1" }).run();
    const asked = JSON.stringify([...model.requests, ...innerModel.requests]);
    expect(charge.calls).toHaveLength(3);
    for (const { invocation } of charge.calls) expect(asked).not.toContain(invocation.invocationKey);
    expect(asked).not.toMatch(/canary|ik1_/);
  });
});

/** Runs `outer`, which asks two sub-agents at once; each calls `leaf` under the id of the call it was asked by. */
async function delegated(leaf: RecordingTool<never>, session?: string) {
  const innerModel = scriptedModel(({ messages: [prompt, ...others] }) =>
    others.length > 0 || prompt?.role !== "user" ? "Done." : call(prompt.text, leaf.name),
  );
  const ask = new Agent({ name: "inner", model: innerModel, tools: [leaf] }).asTool({ name: "ask" });
  const toolCalls = ["toolu_a", "toolu_b"].map((id) => ({ toolName: "ask", input: { prompt: id }, toolCallId: id }));
  const model = scriptedModel([{ toolCalls }, "Done."]);
  const request = new Agent({ name: "outer", model, tools: [ask] }).prompt("x");
  return (session === undefined ? request : request.session(session)).run();
}

const identityOf = ({ runId, toolCallId, sessionKey, invocationKey }: ToolInvocationContext) => {
  return { runId, toolCallId, sessionKey, invocationKey };
};

describe("a sub-agent's call", () => {
  it("has its parent's key for a session, so that one under its parent's id has another key", async () => {
    const leaf = recordingTool({ name: "leaf" });
    await delegated(leaf, "chat-7");
    expect(leaf.calls).toHaveLength(2);
    for (const { invocation } of leaf.calls) {
      expect(invocation.toolCallId).toBe(invocation.parent?.toolCallId);
      expect(invocation.sessionKey).toBe(invocation.parent?.invocationKey);
      expect(invocation.invocationKey).not.toBe(invocation.parent?.invocationKey);
    }
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.invocationKey)).size).toBe(2);
  });

  it("is in a run whose id derives from the outer run's: another for each, and the same again on a replay", async () => {
    const [first, again] = [recordingTool({ name: "leaf" }), recordingTool({ name: "leaf" })];
    const { runId } = await delegated(first, "chat-7");
    await delegated(again, "chat-7");
    const identities = first.calls.map(({ invocation }) => identityOf(invocation));
    expect(again.calls.map(({ invocation }) => identityOf(invocation))).toEqual(identities);
    expect(new Set([runId, ...identities.map((identity) => identity.runId)]).size).toBe(3);
  });

  it("chains also where the sub-agent is given no extensions, or is run by hand", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const model = scriptedModel(({ messages }) => (messages.length === 1 ? call("toolu_01A", "leaf") : "Done."));
    const inner = new Agent({ name: "inner", model, tools: [leaf] });
    const byHand = defineTool({
      name: "by_hand",
      input: {},
      callWithExtensions: async (_input, extensions) => {
        await inner.prompt("x").toolExtensions(extensions).run();
        await inner.prompt("x").toolExtensions(extensions).run();
      },
    });
    const tools = [inner.asTool({ name: "ask", extensions: "none" }), byHand];
    const script = [call("toolu_01A", "ask"), call("toolu_02B", "by_hand"), "Done."];
    await new Agent({ name: "outer", model: scriptedModel(script), tools }).prompt("x").session("chat-7").run();
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.runId)).size).toBe(3);
    for (const { invocation } of leaf.calls) {
      expect(invocation.sessionKey).toMatch(/^ik1_/);
      expect(invocation.sessionKey).toBe(invocation.parent?.invocationKey);
    }
  });
});

/** Calls itself through a ToolSet, one level at a time, twice on each. */
async function nested(sessionKey: string | undefined) {
  const down = recordingTool({
    name: "down",
    result: async ({ input, extensions }) => {
      const depth = Number((input as { readonly depth: number }).depth) + 1;
      if (depth > 3) return;
      for (const _time of [1, 2]) await tools.callWithExtensions("down", { depth }, extensions);
    },
  });
  const tools: ToolSet = new ToolSet([down]);
  await tools.call("down", { depth: 1 }, { sessionKey, toolCallId: "toolu_01A" });
  return down.calls.map(({ invocation }) => invocation);
}

describe("a nested call of a ToolSet", () => {
  it("has its parent's key for a session, down to the third level", async () => {
    const calls = await nested("chat-7");
    expect(calls).toHaveLength(7);
    for (const { sessionKey, parent } of calls) expect(sessionKey).toBe(parent?.invocationKey ?? "chat-7");
    expect(new Set(calls.map(({ invocationKey }) => invocationKey)).size).toBe(7);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(7);
  });

  it("may be given a session key of its own", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const options = { sessionKey: "chat-8", toolCallId: "toolu_01A" };
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => new ToolSet([leaf]).callWithExtensions("leaf", {}, extensions, options),
    });
    await new ToolSet([outer]).call("outer", {}, { sessionKey: "chat-7" });
    await new ToolSet([leaf]).call("leaf", {}, options);
    expect(leaf.calls[0]?.invocation.invocationKey).toBe(leaf.calls[1]?.invocation.invocationKey);
  });
});

describe("without a session", () => {
  it("no call has a key, in a sub-agent or nested, and every call has an id", async () => {
    const leaf = recordingTool({ name: "leaf" });
    await delegated(leaf);
    const calls = [...leaf.calls.map(({ invocation }) => invocation), ...(await nested(undefined))];
    expect(calls).toHaveLength(9);
    for (const invocation of calls) {
      expect(invocation).toMatchObject({ invocationKey: undefined, sessionKey: undefined });
      expect(invocation.toolCallId).not.toBe("");
    }
  });
});

describe("a key is computed when it is first read", () => {
  /** How often the work turned the text into bytes, which hashing it begins with. */
  async function timesEncoded(text: string, work: () => Promise<unknown>): Promise<number> {
    const encode = vi.spyOn(TextEncoder.prototype, "encode");
    try {
      await work();
      return encode.mock.calls.filter(([encoded]) => encoded === text).length;
    } finally {
      encode.mockRestore();
    }
  }

  it.each<[number, string, (invocation: ToolInvocationContext) => unknown]>([
    [0, "never read", () => {}],
    [0, "not read when its invocation is printed", (invocation) => JSON.stringify(invocation) + inspect(invocation)],
    [1, "read once", (invocation) => invocation.invocationKey],
    [1, "read twice", (invocation) => [invocation.invocationKey, invocation.invocationKey]],
  ])("and then kept: hashed %i times where it is %s", async (times, _how, read) => {
    const tool = recordingTool({ result: ({ invocation }) => void read(invocation) });
    const work = () => new ToolSet([tool]).call("recording", {}, { sessionKey: "chat-7" });
    expect(await timesEncoded("chat-7", work)).toBe(times);
    expect(tool.calls).toHaveLength(1);
  });

  it("so that a run pays no more for twenty calls in a sub-agent, with a listener, than for none", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const run = (calls: number) => {
      const toolCalls = Array.from({ length: calls }, () => call(undefined, "leaf").toolCalls).flat();
      const inner = new Agent({ name: "inner", model: scriptedModel([{ toolCalls }, "Done."]), tools: [leaf] });
      const model = scriptedModel([call("toolu_01A", "ask"), "Done."]);
      const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask" })] });
      const request = outer.prompt("x").session("chat-7");
      return request.on((event) => JSON.stringify(event)).run();
    };
    const none = await timesEncoded("chat-7", () => run(0));
    expect(await timesEncoded("chat-7", () => run(20))).toBe(none);
    expect(leaf.calls).toHaveLength(20);
  });
});

// Saved keys follow from these ids. The literals were computed once from the recipe, with node:crypto.
it("the ids of a run that a turn id names, and of the runs inside its call, are what every version made of them", async () => {
  const inner = new Agent({ name: "inner", model: scriptedModel(["One.", "Two."]) });
  const ids: string[] = [];
  const outer = defineTool({
    name: "outer",
    input: {},
    callWithExtensions: async (_input, extensions) => {
      for (const text of ["1", "2"]) ids.push((await inner.prompt(text).toolExtensions(extensions).run()).runId);
      return "done";
    },
  });
  const model = scriptedModel([{ toolCalls: [{ toolName: "outer", toolCallId: "call_a", input: {} }] }, "Done."]);
  const agent = new Agent({ name: "a", model, tools: [outer] });
  const { runId } = await agent.prompt("x").session("chat-7", { turnId: "m-1" }).run();
  expect(runId).toBe("run_5pnm7qlb5bcgu2ov2tt1ib516a1tj33s");
  expect(ids).toEqual(["run_gtd6it2kuaptdjn2uuq2cplno646ibru", "run_9rev09ko14vs4vb1o4m219h78nfmvifi"]);
});
