import { inspect } from "node:util";
import fc from "fast-check";
import {
  Agent,
  defineTool,
  extensionToken,
  type PendingCall,
  type RunState,
  ToolCallExtensions,
  ToolCallExtensionsError,
  toolResult,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const call = (toolName: string, toolCallId: string, input: unknown = {}) => ({ toolName, toolCallId, input });

/** An agent whose run has calls that are done, begun, waiting and inside a sub-agent, in its second turn. */
function support() {
  const ping = recordingTool({ name: "ping" });
  const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
  const innerModel = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [call("ping", "in_a"), call("pay", "in_b")] } : "Inner done.",
  );
  const inner = new Agent({ name: "inner", model: innerModel, tools: [ping, pay] });
  const model = scriptedModel(({ messages }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    if (turn === 0)
      return { text: "Looking.", toolCalls: [call("ping", "out_a")], usage: { inputTokens: 7, outputTokens: 2 } };
    if (turn > 1) return "Done.";
    return { toolCalls: [call("ask", "out_b", { prompt: "y" }), call("ping", ""), call("pay", "out_c", { cents: 5 })] };
  });
  const agent = new Agent({ name: "support", model, tools: [inner.asTool({ name: "ask" }), ping, pay] });
  return { agent, ping, pay };
}

async function pausedState(extensions = new ToolCallExtensions<string>()): Promise<RunState> {
  const result = await support().agent.prompt("x").session("chat-7").toolExtensions(extensions).run();
  if (result.status !== "paused") throw new Error("did not pause");
  return result.state;
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Path = readonly (string | number)[];

const copyOf = (state: RunState): Json => JSON.parse(JSON.stringify(state));

/** Every place in a JSON value, itself first. */
function places(value: Json, path: Path = []): Path[] {
  const inside = typeof value === "object" && value !== null ? Object.entries(value) : [];
  const keyOf = (key: string) => (Array.isArray(value) ? Number(key) : key);
  return [path, ...inside.flatMap(([key, item]) => places(item, [...path, keyOf(key)]))];
}

/** Puts a value at a place of a copy, or takes the place out. */
function changed(state: Json, path: Path, put: { readonly value: unknown } | undefined): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return put?.value;
  const copy: Record<string | number, unknown> = Array.isArray(state)
    ? ([...state] as never)
    : { ...(state as object) };
  if (rest.length > 0) copy[key] = changed(copy[key] as Json, rest, put);
  else if (put === undefined) delete copy[key];
  else Object.defineProperty(copy, key, { value: put.value, enumerable: true, configurable: true, writable: true });
  return copy;
}

const nameOf = (path: Path): string =>
  path.reduce<string>((name, key) => (typeof key === "number" ? `${name}[${key}]` : `${name}.${key}`), "the state");

/** The ids of the calls that a state says are done. */
function doneIn({ calls }: RunState): readonly string[] {
  return calls.flatMap(({ toolCallId, status, run }) => [
    ...(status === "done" ? [toolCallId] : []),
    ...(run === undefined ? [] : doneIn(run)),
  ]);
}

function refusal(value: unknown): ToolCallExtensionsError | undefined {
  try {
    support().agent.resume(value);
    return undefined;
  } catch (error) {
    if (ToolCallExtensionsError.is(error) && error.code === "invalid-state") return error;
    throw error;
  }
}

describe("a run's state", () => {
  it("is JSON: what is read back is what was written", async () => {
    const state = await pausedState();
    expect(copyOf(state)).toStrictEqual(state);
    expect(refusal(copyOf(state))).toBeUndefined();
  });

  it("says where the run stands, and where a sub-agent's run stands, whose keys come from its call", async () => {
    const state = await pausedState();
    expect(state.calls[0]?.run).not.toHaveProperty("sessionKey");
    expect(state).toMatchObject({
      version: 1,
      agentName: "support",
      runId: expect.stringMatching(/^run_/),
      sessionKey: "chat-7",
      turn: 2,
      messages: [{ role: "user" }, { role: "assistant" }, { role: "tool" }, { role: "assistant" }],
      usage: { inputTokens: 7, outputTokens: 2 },
      calls: [
        { toolCallId: "out_b", status: "started", run: { agentName: "inner", calls: [{}, { status: "waiting" }] } },
        { providerToolCallId: "", status: "done", result: { text: "recorded", isError: false } },
        { toolCallId: "out_c", status: "waiting", input: { cents: 5 } },
      ],
    });
  });

  it("says of a call nothing that is not known of it, as JSON does not either", async () => {
    const content = [{ type: "tool-call", toolName: "pay", input: {} }] as const;
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const agent = new Agent({ name: "a", model: { generate: async () => ({ content }) }, tools: [pay] });
    const result = await agent.prompt("x").run();
    if (result.status !== "paused") throw new Error("did not pause");
    expect(copyOf(result.state)).toStrictEqual(result.state);
  });

  it("may be of before the first turn, and of a hundred runs in each other, but of no more", async () => {
    const { calls: _calls, ...rest } = await pausedState();
    const nested = (depth: number): object => {
      const inside = { toolCallId: "a", wireId: "a", toolName: "ask", input: {}, status: "started" };
      return { ...rest, turn: 0, calls: depth === 0 ? [] : [{ ...inside, run: nested(depth - 1) }] };
    };
    const refusalOf = (depth: number) => refusal(nested(depth))?.details;
    expect(refusal(nested(0))).toBeUndefined();
    expect(refusalOf(100)).toMatchObject({ field: "the state.calls[0].run.agentName" });
    const field = `the state${".calls[0].run".repeat(101)}`;
    expect(refusalOf(101)).toEqual({ field, received: "a deeper one", expected: "at most 100 runs deep" });
  });

  it("goes on over JSON as it does without", async () => {
    const state = await pausedState();
    const finish = (given: unknown) => support().agent.resume(given).approve("in_b").reject("out_c", "No.").run();
    const [direct, read] = [await finish(state), await finish(copyOf(state))];
    expect(read.status).toBe("completed");
    expect({ ...read, resultExtensions: undefined }).toEqual({ ...direct, resultExtensions: undefined });
  });

  it("may hold a part that only its provider reads", async () => {
    const state = changed(copyOf(await pausedState()), ["messages", 1, "content", 0], {
      value: { type: "provider", providerData: { signature: "s" } },
    });
    expect(refusal(state)).toBeUndefined();
  });

  it("is not changed by the run that goes on from it", async () => {
    const state = await pausedState();
    const before = JSON.stringify(state);
    await support().agent.resume(state).approve("in_b").approve("out_c").run();
    expect(JSON.stringify(state)).toBe(before);
  });

  it("can be read when the model named no tool in a call", async () => {
    const model = scriptedModel([{ toolCalls: [call("", "call_a")] }, new Error("HTTP 500"), "Done."]);
    const agent = new Agent({ name: "a", model });
    const error: unknown = await agent
      .prompt("x")
      .run()
      .catch((e) => e);
    if (!ToolCallExtensionsError.is(error) || error.code !== "model-failed") throw error;
    expect(await agent.resume(JSON.parse(JSON.stringify(error.details.state))).run()).toMatchObject({
      output: "Done.",
    });
  });
});

describe("no value of the map", () => {
  it("is in a state, whatever kind it is of and whatever happened", async () => {
    const objects = [new Map([["canary", "canary"]]), new Set(["canary"]), new Error("canary"), Buffer.from("canary")];
    const others = ["canary", { secret: "canary" }, ["canary"], () => "canary", { toJSON: () => "canary" }, 8_675_309n];
    const kinds: unknown[] = [...objects, ...others, Symbol("canary"), new URL("https://canary.example")];
    const extensions = new ToolCallExtensions<string>();
    for (const [index, kind] of kinds.entries()) extensions.insert(extensionToken(`kind-${index}`).of<unknown>(), kind);
    const Cost = extensionToken("cost").of<string>();
    const failing = recordingTool({ name: "failing", result: () => Promise.reject(new Error("canary-failure")) });
    const paying = defineTool({
      name: "paying",
      input: { type: "object" },
      call: () => toolResult("paid", new ToolCallExtensions().with(Cost, "canary-result")),
    });
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const calls = [call("failing", "a"), call("paying", "b"), call("pay", "c")];
    const model = scriptedModel([{ toolCalls: calls }]);
    const texts: string[] = [];
    const keep = (state: unknown) =>
      void texts.push(JSON.stringify(state), inspect(state, { depth: 20, showHidden: true }));
    const agent = new Agent({ name: "a", model, tools: [failing, paying, pay] });
    const result = await agent.prompt("x").session("chat-7").toolExtensions(extensions).onCheckpoint(keep).run();
    if (result.status !== "paused") throw new Error("did not pause");
    keep(result.state);
    keep(await pausedState(extensions));
    expect(failing.calls[0]?.extensions.size).toBe(kinds.length + 1);
    expect(texts.length).toBeGreaterThan(6);
    expect(texts.filter((text) => /canary|8675309/.test(text))).toEqual([]);
  });
});

describe("a state that is not as a run wrote it", () => {
  const bad: [string, string, unknown[]][] = [
    ["version", "1, the version this package writes", [0, 2, "1", null, undefined]],
    ["agentName", "a non-empty string", ["", 5, null, undefined]],
    ["agentName", `"support", the agent's name`, ["other"]],
    ["runId", "a non-empty string", ["", 5, null, undefined]],
    ["sessionKey", "a non-empty string", ["", 5, null]],
    ["turn", "a whole number from 0", [-1, 1.5, "2", null, undefined]],
    ["usage", "an object", [null, 5, [], undefined]],
    ["usage.inputTokens", "a number from 0", [-1, "7", null, undefined]],
    ["usage.outputTokens", "a number from 0", [-1, Number.NaN, undefined]],
    ["messages", "an array", [null, {}, undefined]],
    ["messages.0", "an object", [null, "x", []]],
    ["messages.0.role", "user, assistant or tool", ["system", null, undefined]],
    ["messages.0.text", "a string", [5, null, undefined]],
    ["messages.1.content", "an array", ["x", null, undefined]],
    ["messages.1.content.0", "an object", [null, "text", []]],
    ["messages.1.content.0.type", "text, tool-call or provider", [5, null, undefined]],
    ["messages.1.content.0.text", "a string", [5, null, undefined]],
    ["messages.1.content.1.toolName", "a string", [5, null, undefined]],
    ["messages.1.content.1.toolCallId", "a non-empty string", [5, null, "", undefined]],
    ["messages.2.toolCallId", "a non-empty string", ["", 5, null, undefined]],
    ["messages.2.toolName", "a string", [5, null, undefined]],
    ["messages.2.text", "a string", [5, null, undefined]],
    ["messages.2.isError", "a boolean", ["no", null, undefined]],
    ["calls", "an array", [null, {}, undefined]],
    ["calls.1", "an object", [null, "x", []]],
    ["calls.1.toolCallId", "a non-empty string", ["", 5, null, undefined]],
    ["calls.1.toolCallId", "one that no other call has", ["out_b"]],
    ["calls.1.providerToolCallId", "a string", [5, null]],
    ["calls.1.wireId", "a non-empty string", ["", 5, null, undefined]],
    ["calls.1.toolName", "a string", [5, null, undefined]],
    ["calls.1.status", "new, waiting, started or done", ["old", 5, null, undefined]],
    ["calls.1.result", "an object", [null, "recorded", []]],
    ["calls.1.result", "a result, as the call is done", [undefined]],
    ["calls.1.result.text", "a string", [5, null, undefined]],
    ["calls.1.result.isError", "a boolean", [0, null, undefined]],
    ["calls.2.decision", "an object", [null, true, []]],
    ["calls.2.decision.isApproved", "a boolean", ["yes", 1, null, undefined]],
    ["calls.2.decision.reason", "a string", [5, null, {}]],
    ["calls.0.run", "an object", [null, "x", []]],
    ["calls.0.run.version", "1, the version this package writes", [2]],
    ["calls.0.run.calls.1.status", "new, waiting, started or done", ["gone"]],
    ["calls.0.toolName", "the name of a sub-agent's tool, as it has a run", ["ping"]],
  ];

  it.each(bad)("is refused by the field %s, which must be %s", async (dotted, expected, values) => {
    const { agent } = support();
    const state = copyOf(agent.resume(await pausedState()).reject("out_c", "No.")["~settings"].state as RunState);
    const path = dotted.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key));
    for (const value of values) {
      const error = refusal(changed(state, path, value === undefined ? undefined : { value }));
      const field = nameOf(path);
      expect([value, error?.details]).toEqual([value, expect.objectContaining({ field, expected })]);
      expect(error?.message).toMatch(`[invalid-state] ${field} must be ${expected}; received `);
      if (typeof value === "number" || value === null) expect(error?.message).toMatch(`; received ${value}`);
    }
  });

  it.each([undefined, null, 5, "{}", [], () => ({})])("is refused where it is no object: %s", (value) => {
    expect(refusal(value)?.details).toMatchObject({ field: "the state", expected: "an object" });
  });

  it("is refused by both names or versions where it is another agent's, or older or newer", async () => {
    const state = await pausedState();
    const messageOf = (changes: object) => refusal({ ...state, ...changes })?.message;
    expect(messageOf({ agentName: "billing" })).toBe(
      '[invalid-state] the state.agentName must be "support", the agent\'s name; received "billing"',
    );
    for (const version of [0, 2]) expect(messageOf({ version })).toMatch(`version must be 1, the version`);
    expect(messageOf({ version: 2 })).toMatch(/received 2$/);
  });

  it("is refused, and nothing runs, where a sub-agent inside it is another agent now", async () => {
    const { agent, ping, pay } = support();
    const state = changed(copyOf(await pausedState()), ["calls", 0, "run", "agentName"], { value: "renamed" });
    const attempt = async () => agent.resume(state).approve("in_b").run();
    await expect(attempt()).rejects.toMatchObject({
      code: "invalid-state",
      details: { field: "the state.calls[0].run.agentName" },
    });
    expect([ping.calls, pay.calls]).toEqual([[], []]);
  });

  it("does not show a value it refuses", async () => {
    const error = refusal({ ...(await pausedState()), runId: { secret: "canary" }, version: "canary" });
    expect(inspect(error, { depth: 20 })).not.toContain("canary");
  });

  it("pollutes no prototype", async () => {
    const poison = '{"__proto__":{"isPolluted":true},"constructor":{"prototype":{"isPolluted":true}}}';
    const state = copyOf(await pausedState());
    for (const path of places(state)) {
      const at = changed(state, path, { value: JSON.parse(poison) });
      const merged = changed(state, [...path, "__proto__"], { value: { isPolluted: true } });
      for (const value of [at, merged]) if (refusal(value) === undefined) await support().agent.resume(value).run();
    }
    expect(({} as { isPolluted?: unknown }).isPolluted).toBeUndefined();
  });

  it("is refused by a field, or behaves, wherever it was cut or changed", async () => {
    const state = copyOf(await pausedState());
    const cut = fc.record({
      path: fc.constantFrom(...places(state)),
      put: fc.option(fc.record({ value: fc.jsonValue() }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(cut, fc.boolean(), async ({ path, put }, isApproved) => {
        const value = changed(state, path, put);
        const error = refusal(value);
        if (error !== undefined) {
          const { field } = error.details as { field: string };
          expect(field.startsWith(nameOf(path)) || nameOf(path).startsWith(field)).toBe(true);
          return;
        }
        const { agent, ping, pay } = support();
        const given = agent.resume(value);
        const finished = doneIn(value as RunState);
        try {
          const result = await given.run();
          const decide = (request: typeof given, entry: PendingCall) =>
            isApproved ? request.approve(entry) : request.reject(entry);
          if (result.status === "paused") await result.pending.reduce(decide, agent.resume(result.state)).run();
        } catch (refused) {
          expect(refused).toMatchObject({ code: expect.stringMatching(/^(invalid-state|max-turns)$/) });
        }
        expect(ping.calls.filter(({ invocation }) => finished.includes(invocation.toolCallId))).toEqual([]);
        if (!isApproved) expect(pay.calls).toEqual([]);
      }),
      { numRuns: 1_500, seed: 20_261_130 },
    );
  });
});
