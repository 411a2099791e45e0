import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type PendingCall,
  type PromptRequest,
  type RunEvent,
  type RunState,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  toolResult,
  wrapTool,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Role = extensionToken("role").of<string>();
const Cost = extensionToken("cost").of<number>();

interface Driven {
  readonly status: "completed" | "paused";
  readonly output: unknown;
  readonly pending: readonly PendingCall[];
  readonly state: RunState;
  readonly events: readonly RunEvent[];
}

type Drive = (request: PromptRequest<never, unknown>) => Promise<Driven>;

/** The state of a paused run is on its result and, where it is streamed, in the last checkpoint. */
async function blocking(request: PromptRequest<never, unknown>): Promise<Driven> {
  const events: RunEvent[] = [];
  const result = await request.on((event) => events.push(event)).run();
  if (result.status === "paused") return { ...result, events };
  return { ...result, events, pending: [], state: { calls: [] } as unknown as RunState };
}

async function streaming(request: PromptRequest<never, unknown>): Promise<Driven> {
  const events: RunEvent[] = [];
  const states: RunState[] = [];
  for await (const event of request.onCheckpoint((saved) => void states.push(saved)).stream()) events.push(event);
  const [last, state] = [events.at(-1), states.at(-1)];
  if (last?.type === "run-paused" && state !== undefined) {
    return { status: "paused", output: undefined, pending: last.pending, state, events };
  }
  if (last?.type !== "run-completed") throw new Error(`ended in ${last?.type}`);
  return { ...last.result, events, pending: [], state: { calls: [] } as unknown as RunState };
}

const ways: [string, Drive][] = [
  ["blocking", blocking],
  ["streaming", streaming],
];

const overJson = (state: RunState): unknown => JSON.parse(JSON.stringify(state));
const call = (toolName: string, toolCallId: string, input: unknown = {}) => ({ toolName, toolCallId, input });

/** Makes the calls in its first turn, and then says what it was told of them. */
function calling(name: string, tools: readonly Tool<never, unknown, never>[], calls: readonly object[]) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user"
      ? { toolCalls: calls as ReturnType<typeof call>[] }
      : messages.flatMap((message) => (message.role === "tool" ? message.text : [])).join(" | "),
  );
  return new Agent({ name, model, tools });
}

const approvable = (name = "pay") => ({
  ...recordingTool({ name, result: ({ input }) => `${name} ${JSON.stringify(input)}` }),
  needsApproval: true,
});

describe.each(ways)("approval in a %s run", (_way, drive) => {
  it("pauses with the pending call, its input, id, key and agent", async () => {
    const pay = approvable();
    const agent = calling("support", [pay], [call("pay", "call_a", { cents: 5 })]);
    const { status, pending, output } = await drive(agent.prompt("x").session("chat-7"));
    expect([status, output]).toEqual(["paused", undefined]);
    const place = { toolCallId: "call_a", toolName: "pay", agentName: "support", path: [] };
    const invocationKey = expect.stringMatching(/^ik1_/);
    expect(pending).toEqual([{ ...place, input: { cents: 5 }, invocationKey }]);
    expect(pay.calls).toEqual([]);
  });

  it("ends a paused run with run-paused, and has no event for a call that waits", async () => {
    const agent = calling("a", [approvable()], [call("pay", "call_a")]);
    const { events, pending } = await drive(agent.prompt("x"));
    expect(events.map(({ type }) => type)).toEqual(["run-started", "turn-started", "run-paused"]);
    expect(events.at(-1)).toMatchObject({ type: "run-paused", agentName: "a", pending });
  });

  it("lets the siblings finish, and never runs them again", async () => {
    const pay = approvable();
    const slow = recordingTool({ name: "slow", result: () => sleep(5, "slow done") });
    const calls = [call("slow", "call_a"), call("pay", "call_b"), call("slow", "call_c")];
    const agent = calling("a", [pay, slow], calls);
    const paused = await drive(agent.prompt("x"));
    expect(slow.calls).toHaveLength(2);
    expect(paused.state.calls).toMatchObject([
      { toolCallId: "call_a", status: "done", result: { text: "slow done", isError: false } },
      { toolCallId: "call_b", status: "waiting" },
      { toolCallId: "call_c", status: "done" },
    ]);
    const resumed = await drive(agent.resume(overJson(paused.state)).approve("call_b"));
    expect(resumed.output).toBe("slow done | pay {} | slow done");
    expect(slow.calls).toHaveLength(2);
    expect(resumed.events.flatMap((event) => ("invocation" in event ? event.invocation.toolCallId : []))).toEqual([
      "call_b",
      "call_b",
    ]);
  });

  it("runs an approved call once, under the id and key of its pending entry", async () => {
    const pay = approvable();
    const agent = calling("a", [pay], [call("pay", ""), call("pay", "")]);
    const { state, pending } = await drive(agent.prompt("x").session("chat-7"));
    const request = pending.reduce((next, entry) => next.approve(entry), agent.resume(overJson(state)));
    expect(await drive(request)).toMatchObject({ status: "completed" });
    expect(pay.calls.map(({ invocation }) => [invocation.toolCallId, invocation.invocationKey])).toEqual(
      pending.map(({ toolCallId, invocationKey }) => [toolCallId, invocationKey]),
    );
    expect(pay.calls.map(({ invocation }) => invocation.attempt)).toEqual([1, 1]);
  });

  it("tells the model the reason of a rejection, and does not enter the tool", async () => {
    const pay = approvable();
    const agent = calling("a", [pay], [call("pay", "call_a"), call("pay", "call_b")]);
    const { state } = await drive(agent.prompt("x"));
    const resumed = await drive(agent.resume(state).reject("call_a", "Too much.").reject("call_b"));
    expect(resumed.output).toBe("Too much. | The call was rejected.");
    expect(pay.calls).toEqual([]);
    expect(resumed.events.filter(({ type }) => type === "tool-requested")).toHaveLength(2);
    expect(resumed.events.filter(({ type }) => type === "tool-failed")).toMatchObject([
      { kind: "rejected", invocation: { toolCallId: "call_a" } },
      { kind: "rejected", invocation: { toolCallId: "call_b" } },
    ]);
  });

  it("pauses again for what is undecided, and does not ask again for what was decided", async () => {
    const pay = approvable();
    const agent = calling("a", [pay], [call("pay", "call_a"), call("pay", "call_b"), call("pay", "call_c")]);
    const first = await drive(agent.prompt("x"));
    const second = await drive(agent.resume(overJson(first.state)).approve("call_b"));
    expect(second.pending.map(({ toolCallId }) => toolCallId)).toEqual(["call_a", "call_c"]);
    const third = await drive(agent.resume(overJson(second.state)).reject("call_a", "No."));
    expect(third.pending.map(({ toolCallId }) => toolCallId)).toEqual(["call_c"]);
    const undecided = await drive(agent.resume(overJson(third.state)));
    expect(undecided).toMatchObject({ status: "paused", pending: third.pending });
    const last = await drive(agent.resume(overJson(undecided.state)).approve("call_c"));
    expect(last.output).toBe("No. | pay {} | pay {}");
    expect(pay.calls.map(({ invocation }) => invocation.toolCallId)).toEqual(["call_b", "call_c"]);
  });

  it("asks a predicate with the validated input and the extensions, for each call", async () => {
    const pay = defineTool({
      name: "pay",
      input: z.object({ cents: z.coerce.number() }),
      requires: [Role],
      needsApproval: async ({ cents }, extensions) =>
        cents > 1_000 &&
        extensions.require(Role) !== "owner" &&
        extensions.require(ToolInvocationContext).agentName === "a",
      callWithExtensions: ({ cents }) => `paid ${cents}`,
    });
    const calls = [call("pay", "call_a", { cents: "1" }), call("pay", "call_b", { cents: "1001" })];
    const agent = new Agent({ name: "a", model: scriptedModel(() => ({ toolCalls: calls })), tools: [pay] });
    const as = (role: string) => agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Role, role));
    const { status, pending } = await drive(as("clerk"));
    expect([status, pending.map(({ toolCallId }) => toolCallId)]).toEqual(["paused", ["call_b"]]);
    await expect(drive(as("owner").maxTurns(1))).rejects.toMatchObject({ code: "max-turns" });
  });

  it("fails the call whose predicate fails, without entering its tool, and the run goes on", async () => {
    const pay = { ...approvable(), needsApproval: () => Promise.reject(new Error("canary")) };
    const ping = recordingTool({ name: "ping" });
    const agent = calling("a", [pay, ping], [call("pay", "call_a"), call("ping", "call_b")]);
    const { output, events } = await drive(agent.prompt("x"));
    expect(output).toBe('Tool "pay" failed. | recorded');
    expect(pay.calls).toEqual([]);
    expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([
      { kind: "error", error: { message: "canary" } },
    ]);
  });

  it("is aborted while a predicate is open", async () => {
    const controller = new AbortController();
    const pay = { ...approvable(), needsApproval: () => new Promise<boolean>(() => {}) };
    const agent = calling("a", [pay], [call("pay", "call_a")]);
    const run = drive(agent.prompt("x").signal(controller.signal));
    setTimeout(() => controller.abort(), 2);
    await expect(Promise.race([run, sleep(500, "still open")])).rejects.toHaveProperty("name", "AbortError");
  });
});

/** Nests agents, `depth` calls deep, that all call under one id; the innermost's call needs approval. */
function nested(depth: number, pay: Tool<never, unknown, never>, ping: Tool<never, unknown, never>): Agent {
  const inner = depth === 0 ? pay : nested(depth - 1, pay, ping).asTool({ name: "ask" });
  const input = depth === 0 ? {} : { prompt: "x" };
  return calling(`level-${depth}`, [inner, ping], [call(inner.name, "call_a", input), call("ping", "call_p")]);
}

describe.each(ways)("approval inside sub-agents in a %s run", (_way, drive) => {
  it.each([1, 3])("at depth %i pauses with the path, and goes on where it was", async (depth) => {
    const [pay, ping] = [approvable(), recordingTool({ name: "ping" })];
    const agent = nested(depth, pay, ping);
    const { status, pending, state, events } = await drive(agent.prompt("x").session("chat-7"));
    const path = Array.from({ length: depth }, () => "call_a");
    expect(status).toBe("paused");
    expect(pending).toMatchObject([{ toolCallId: "call_a", toolName: "pay", agentName: "level-0", path }]);
    expect(events.filter(({ type }) => type === "run-paused")).toHaveLength(depth + 1);
    const resumed = await drive(agent.resume(overJson(state)).approve("call_a"));
    expect(resumed.output).toBe(`pay {}${" | recorded".repeat(depth + 1)}`);
    expect(pay.calls.map(({ invocation }) => invocation.invocationKey)).toEqual([pending[0]?.invocationKey]);
    expect(ping.calls).toHaveLength(depth + 1);
  });

  it("needs the pending entry where calls at several depths share an id", async () => {
    const pay = approvable();
    const inner = () => calling("inner", [pay], [call("pay", "call_a")]).asTool({ name: "ask" });
    const calls = [
      call("pay", "call_a"),
      call("ask", "call_b", { prompt: "x" }),
      call("ask", "call_c", { prompt: "x" }),
    ];
    const agent = calling("outer", [pay, inner()], calls);
    const { pending, state } = await drive(agent.prompt("x").session("chat-7"));
    expect(pending.map(({ path }) => path)).toEqual([[], ["call_b"], ["call_c"]]);
    expect(() => agent.resume(state).approve("call_a")).toThrow(
      /^\[unknown-call\] several calls wait under the id "call_a"; pass the entry of result.pending instead of its id$/,
    );
    const [top, , last] = pending as [PendingCall, PendingCall, PendingCall];
    const next = await drive(agent.resume(overJson(state)).reject(top, "Not this one.").approve(last));
    expect(next.pending.map(({ path }) => path)).toEqual([["call_b"]]);
    expect(pay.calls.map(({ invocation }) => invocation.invocationKey)).toEqual([last.invocationKey]);
    const end = await drive(agent.resume(overJson(next.state)).reject("call_a", "Nor this."));
    expect(end.output).toBe("Not this one. | Nor this. | pay {}");
  });

  it("is decided by its pending entry at any depth; without a session it has no key", async () => {
    const pay = approvable();
    const inner = calling("inner", [pay], [call("pay", "call_a")]).asTool({ name: "ask" });
    const middle = calling("middle", [inner], [call("ask", "call_b", { prompt: "x" })]).asTool({ name: "ask" });
    const agent = calling("outer", [middle], [call("ask", "call_c", { prompt: "x" })]);
    const { pending, state } = await drive(agent.prompt("x"));
    expect(pending).toMatchObject([{ path: ["call_c", "call_b"], agentName: "inner", invocationKey: undefined }]);
    const [entry] = pending as [PendingCall];
    expect((await drive(agent.resume(overJson(state)).approve(entry))).output).toBe("pay {}");
  });

  it("pauses also where the sub-agent's tool is wrapped by one that changes its result", async () => {
    const pay = approvable();
    const ask = wrapTool(calling("inner", [pay], [call("pay", "call_a")]).asTool({ name: "ask" }), {
      callWithExtensions: async (input, extensions, next) =>
        `${((await next(input, extensions)) as { output: string }).output}!`,
    });
    const agent = calling("outer", [ask], [call("ask", "call_b", { prompt: "x" })]);
    const { pending, state } = await drive(agent.prompt("x"));
    expect(pending).toMatchObject([{ toolCallId: "call_a", path: ["call_b"] }]);
    expect((await drive(agent.resume(overJson(state)).approve("call_a"))).output).toBe("pay {}!");
  });
});

describe("the result of a paused run", () => {
  it("has what the finished siblings gave back for the caller", async () => {
    const search = defineTool({
      name: "search",
      input: { type: "object" },
      call: () => toolResult("3 hits", new ToolCallExtensions().with(Cost, 2)),
    });
    const agent = calling("a", [approvable(), search], [call("search", "call_a"), call("pay", "call_b")]);
    const { status, resultExtensions } = await agent.prompt("x").run();
    expect([status, resultExtensions.get(Cost)]).toEqual(["paused", 2]);
  });
});

describe("a decision", () => {
  const calls = [call("pay", "call_a"), call("ping", "call_b")];
  const agent = calling("a", [approvable(), recordingTool({ name: "ping" })], calls);

  it("on a call that does not wait is refused with the ids that do", async () => {
    const { state } = await blocking(agent.prompt("x"));
    const request = agent.resume(state);
    const details = { toolCallId: "call_b", pending: ["call_a"] };
    expect(() => request.approve("call_b")).toThrow(expect.objectContaining({ code: "unknown-call", details }));
    expect(() => request.reject("call_x")).toThrow(
      /^\[unknown-call\] no call waits for approval under the id "call_x"; waiting: call_a$/,
    );
    expect(() => request.approve("call_a").approve("call_a")).toThrow(
      /^\[unknown-call\] no call waits for approval under the id "call_a"; waiting: none$/,
    );
    expect(() => request.approve("call_a").reject("call_a")).toThrow(/^\[unknown-call\]/);
  });

  it("on none of several calls that wait is refused with all of them", async () => {
    const both = calling("a", [approvable()], [call("pay", "call_a"), call("pay", "call_b")]);
    const { state } = await blocking(both.prompt("x"));
    expect(() => both.resume(state).approve("call_x")).toThrow(/; waiting: call_a, call_b$/);
  });

  it("on a request that is not a resumed one is refused", () => {
    expect(() => agent.prompt("x").approve("call_a")).toThrow(/^\[invalid-argument\] .*agent\.resume\(state\)/);
  });

  it("changes neither the state nor the request it was made on", async () => {
    const { state } = await blocking(agent.prompt("x"));
    const before = JSON.stringify(state);
    const request = agent.resume(state);
    request.approve("call_a");
    expect(await request.run()).toMatchObject({ status: "paused" });
    expect(JSON.stringify(state)).toBe(before);
  });
});
