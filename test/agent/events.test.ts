import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  Runner,
  type Tool,
  ToolCallExtensions,
  type ToolEvent,
  type ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const nothing = { type: "object" };

/** Calls each tool once in one turn and then answers. */
function calling(name: string, tools: readonly Tool<never, unknown, never>[]) {
  const toolCalls = tools.map((tool) => ({ toolName: tool.name, input: { prompt: "x" } }));
  const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === "user" ? { toolCalls } : "Done."));
  return new Agent({ name, model, tools });
}

function isToolEvent(event: RunEvent): event is ToolEvent {
  return "invocation" in event;
}

async function failureOf(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (error) => error,
  );
}

describe("the events of a run", () => {
  it("tell the loop in order", async () => {
    const types: string[] = [];
    await calling("a", [recordingTool()])
      .prompt("x")
      .on(({ type }) => types.push(type))
      .run();
    expect(types).toEqual([
      "run-started",
      "turn-started",
      "tool-requested",
      "tool-completed",
      "turn-completed",
      "turn-started",
      "text-delta",
      "turn-completed",
      "run-completed",
    ]);
  });

  it("are the same objects for a listener and for the one who iterates", async () => {
    const heard: RunEvent[] = [];
    const seen: RunEvent[] = [];
    const request = calling("a", [recordingTool()]).prompt("x");
    for await (const event of request.on((e) => heard.push(e)).stream()) seen.push(event);
    expect(seen.length).toBeGreaterThan(8);
    expect(seen.every((event, index) => event === heard[index])).toBe(true);
    expect(heard).toHaveLength(seen.length);
  });

  it("carry the run's id and agent, the turn, the message and the result that .run() gives", async () => {
    const events: RunEvent[] = [];
    const result = await calling("a", [recordingTool()])
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    for (const event of events) {
      if (!isToolEvent(event)) expect(event).toMatchObject({ runId: result.runId, agentName: "a", parent: undefined });
      expect(Math.abs(event.at - Date.now())).toBeLessThan(10_000);
    }
    const turns = events.filter(({ type }) => type === "turn-completed");
    expect(turns).toMatchObject([
      { turn: 1, message: result.messages[1] },
      { turn: 2, message: result.messages[3] },
    ]);
    const last = events.at(-1);
    expect(last?.type === "run-completed" && last.result).toBe(result);
  });

  it("end with run-failed and the very error the run rejects with", async () => {
    const events: RunEvent[] = [];
    const request = calling("a", [recordingTool()])
      .prompt("x")
      .maxTurns(1)
      .on((event) => events.push(event));
    const error = await failureOf(request.run());
    const last = events.at(-1);
    expect(last?.type === "run-failed" && last.error).toBe(error);
    expect(events.filter(({ type }) => type === "run-failed" || type === "run-completed")).toHaveLength(1);
  });
});

describe("the events of a call", () => {
  const Session = extensionToken("session").of<string>();

  it("carry its arguments as the model sent them, its output by reference, and token ids, never values", async () => {
    const output = { hits: 3 };
    const tool = recordingTool({ name: "search", requires: [Session], result: () => output });
    const toolCalls = [{ toolName: "search", input: '{"query":"x"}', toolCallId: "call_a" }];
    const agent = new Agent({ name: "a", model: scriptedModel([{ toolCalls }, "Done."]), tools: [tool] });
    const events: RunEvent[] = [];
    const request = agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Session, "canary"));
    await request.on((event) => events.push(event)).run();
    const [requested, completed] = events.filter(isToolEvent);
    const invocation = tool.calls[0]?.invocation;
    expect(requested).toMatchObject({ type: "tool-requested", input: '{"query":"x"}' });
    expect(requested).toMatchObject({ tokenIds: ["session", "tool-invocation"] });
    expect(completed?.type === "tool-completed" && completed.output).toBe(output);
    expect([requested?.invocation, completed?.invocation]).toEqual([invocation, invocation]);
    expect(JSON.stringify(events)).not.toContain("canary");
  });

  it("are one tool-requested and one end with its toolCallId, however the call ends", async () => {
    const fine = recordingTool({ name: "fine" });
    const throwing = defineTool({ name: "throwing", input: nothing, call: () => Promise.reject(new Error("no")) });
    const slow = defineTool({ name: "slow", input: nothing, call: () => sleep(5) });
    const names = ["fine", "throwing", "slow", "unknown", "fine", "slow"];
    const toolCalls = [...names.map((toolName) => ({ toolName, input: {} })), { toolName: "fine", input: "{" }];
    const tools = [fine, throwing, slow];
    const agent = new Agent({ name: "a", model: scriptedModel([{ toolCalls }, { toolCalls }, "Done."]), tools });
    const events: RunEvent[] = [];
    await agent
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const calls = new Map<string, string[]>();
    for (const { type, invocation } of events.filter(isToolEvent)) {
      calls.set(invocation.toolCallId, [...(calls.get(invocation.toolCallId) ?? []), type]);
    }
    const failed = ["tool-requested", "tool-failed"];
    const completed = ["tool-requested", "tool-completed"];
    const turn = [completed, failed, completed, failed, completed, completed, failed];
    expect([...calls.values()]).toEqual([...turn, ...turn]);
  });

  it("have ids of their own in the run, nested calls included, whatever the provider sent", async () => {
    const nested = new ToolSet([recordingTool({ name: "leaf" })]);
    const nesting = defineTool({
      name: "nesting",
      input: nothing,
      callWithExtensions: (_input, extensions) => nested.callWithExtensions("leaf", {}, extensions),
    });
    const toolCalls = ["a", "a.1", "a"].map((toolCallId) => ({ toolName: "nesting", input: {}, toolCallId }));
    const agent = new Agent({ name: "a", model: scriptedModel([{ toolCalls }, "Done."]), tools: [nesting] });
    const ids: string[] = [];
    const collect = (event: RunEvent) => event.type === "tool-requested" && ids.push(event.invocation.toolCallId);
    await agent.prompt("x").on(collect).run();
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });

  it("hold the progress of a generator between the request and the end", async () => {
    const counter = defineTool({
      name: "counter",
      input: nothing,
      async *call() {
        yield 1;
        yield 2;
      },
    });
    const events: RunEvent[] = [];
    await calling("a", [counter])
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    expect(events.filter(isToolEvent)).toMatchObject([
      { type: "tool-requested" },
      { type: "tool-progress", output: 1 },
      { type: "tool-progress", output: 2 },
      { type: "tool-completed", output: 2 },
    ]);
  });

  it("hold no progress after the call's end, although a middleware gave up on the tool", async () => {
    const ticking = defineTool({
      name: "ticking",
      input: nothing,
      async *call() {
        for (let n = 1; n <= 3; n++) {
          yield n;
          await sleep(3);
        }
      },
    });
    const other = defineTool({ name: "other", input: nothing, call: () => sleep(20) });
    const giveUp = new Runner({
      middleware: [
        (call, next) => {
          const gone = { status: "failed", kind: "error", error: new Error("too slow") } as const;
          return call.tool.name === "ticking" ? Promise.race([next(call), sleep(1, gone)]) : next(call);
        },
      ],
    });
    const types: string[] = [];
    const collect = (event: RunEvent) =>
      isToolEvent(event) && event.invocation.toolName === "ticking" && types.push(event.type);
    await giveUp.run(calling("a", [ticking, other]).prompt("x").on(collect));
    expect(types.at(-1)).toBe("tool-failed");
  });
});

describe("after a run's end", () => {
  it("no event comes, although a tool that did not heed the abort goes on", async () => {
    const controller = new AbortController();
    const progress: number[] = [];
    const ticking = defineTool({
      name: "ticking",
      input: nothing,
      async *callWithExtensions(_input, extensions) {
        const nested = new ToolSet([recordingTool({ name: "leaf" })]);
        for (let n = 1; n <= 2; n++) {
          yield n;
          progress.push(n);
          await sleep(4);
          await nested.callWithExtensions("leaf", {}, extensions);
        }
      },
    });
    const types: string[] = [];
    const request = calling("a", [ticking]).prompt("x").signal(controller.signal);
    setTimeout(() => controller.abort(), 2);
    await failureOf(request.on(({ type }) => types.push(type)).run());
    expect(progress).toEqual([1]);
    await sleep(15);
    expect(types.at(-1)).toBe("run-failed");
    expect(types.filter((type) => type === "run-failed" || type === "tool-failed")).toEqual([
      "tool-failed",
      "run-failed",
    ]);
  });

  it("no event of a sub-agent comes that a tool started and did not wait for", async () => {
    const inner = calling("inner", [defineTool({ name: "slow", input: nothing, call: () => sleep(5) })]);
    const careless = defineTool({
      name: "careless",
      input: nothing,
      callWithExtensions: (_input, extensions) => {
        inner
          .prompt("y")
          .toolExtensions(extensions)
          .run()
          .catch(() => undefined);
      },
    });
    const types: string[] = [];
    await calling("outer", [careless])
      .prompt("x")
      .on(({ type }) => types.push(type))
      .run();
    await sleep(15);
    expect(types.at(-1)).toBe("run-completed");
  });
});

// anthropics/claude-code #16184 (H22): with several sub-agents at once, an event's owner could only be guessed from time.
describe("the tree of a run", () => {
  it("is rebuilt from invocation.parent alone, depth 3, parents before their children", async () => {
    const pause = (name: string, ms: number) => defineTool({ name, input: nothing, call: () => sleep(ms) });
    const a2 = calling("A2", [pause("read", 1)]).asTool({ name: "A2" });
    const a = calling("A", [pause("grep", 4), a2]).asTool({ name: "A" });
    const b = calling("B", [pause("grep", 2)]).asTool({ name: "B" });
    const seen = new Set<ToolInvocationContext>();
    const orphans: string[] = [];
    const paths: string[] = [];
    const pathOf = ({ parent, toolName }: ToolInvocationContext): string =>
      `${parent ? `${pathOf(parent)} > ` : ""}${toolName}`;
    const collect = (event: RunEvent): void => {
      if (event.type !== "tool-requested") return;
      const { invocation } = event;
      if (invocation.parent !== undefined && !seen.has(invocation.parent)) orphans.push(invocation.toolName);
      seen.add(invocation);
      paths.push(pathOf(invocation));
    };
    await calling("outer", [a, b]).prompt("x").on(collect).run();
    expect(orphans).toEqual([]);
    expect(paths.sort()).toEqual(["A", "A > A2", "A > A2 > read", "A > grep", "B", "B > grep"]);
  });

  it("is rebuilt too where a tool calls a tool", async () => {
    const nested = new ToolSet([recordingTool({ name: "leaf" })]);
    const nesting = defineTool({
      name: "nesting",
      input: nothing,
      callWithExtensions: async (_input, extensions) => {
        await nested.callWithExtensions("leaf", {}, extensions);
      },
    });
    const calls: ToolInvocationContext[] = [];
    const collect = (event: RunEvent) => event.type === "tool-requested" && calls.push(event.invocation);
    await calling("outer", [nesting]).prompt("x").on(collect).run();
    expect(calls.map(({ toolName }) => toolName)).toEqual(["nesting", "leaf"]);
    expect(calls[1]?.parent).toBe(calls[0]);
  });
});
