import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  type Tool,
  ToolCallExtensions,
  type ToolInvocationContext,
  toolResult,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<{ readonly id: string }>();
const Cost = extensionToken("cost").of<number>();
const usage = { inputTokens: 10, outputTokens: 1 };
const nothing = { type: "object" };

/** Calls the tool once and then answers, using 20 input tokens. */
function calling<Needs extends string>(name: string, tool: Tool<never, unknown, Needs>) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user"
      ? { toolCalls: [{ toolName: tool.name, input: { prompt: "x" } }], usage }
      : { text: `${name} done.`, usage },
  );
  return new Agent({ name, model, tools: [tool] });
}

describe("three sub-agents in each other", () => {
  const session = { id: "s-1" };
  const given = new ToolCallExtensions().with(Session, session);

  /** `outer` → `ask_1` → `ask_2` → `ask_3` → leaf. */
  function nest(leaf: Tool<never, unknown, never>) {
    const asks = [3, 2, 1].reduce<Tool<never, unknown, never>>(
      (tool, depth) => calling(`inner ${depth}`, tool).asTool({ name: `ask_${depth}` }),
      leaf,
    );
    return calling("outer", asks);
  }

  it("see the caller's values by identity at each depth", async () => {
    const seen: unknown[] = [];
    let tool: Tool<never, unknown, never> = recordingTool({
      name: "leaf",
      result: (call) => seen.push(call.extensions.get(Session)),
    });
    for (const depth of [3, 2, 1]) {
      const probe = recordingTool({ name: "probe", result: (call) => seen.push(call.extensions.get(Session)) });
      const script = ["probe", tool.name].map((toolName) => ({ toolCalls: [{ toolName, input: { prompt: "x" } }] }));
      const inner = new Agent({
        name: `inner ${depth}`,
        model: scriptedModel([...script, "Done."]),
        tools: [probe, tool],
      });
      tool = inner.asTool({ name: `ask_${depth}` });
    }
    await calling("outer", tool).prompt("x").toolExtensions(given).run();
    expect(seen).toHaveLength(4);
    expect(seen.every((value) => value === session)).toBe(true);
  });

  it("are linked by the parents of their calls up to the first, which has none", async () => {
    const leaf = recordingTool({ name: "leaf" });
    await nest(leaf).prompt("x").run();
    const chain: ToolInvocationContext[] = [];
    for (let call = leaf.calls[0]?.invocation; call !== undefined; call = call.parent) chain.push(call);
    expect(chain.map(({ toolName }) => toolName)).toEqual(["leaf", "ask_3", "ask_2", "ask_1"]);
    expect(chain.map(({ agentName }) => agentName)).toEqual(["inner 3", "inner 2", "inner 1", "outer"]);
  });

  it("run under ids that derive from the outer run's", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const run = async (session: string): Promise<readonly string[]> => {
      const { runId } = await nest(leaf).prompt("x").session(session).run();
      const ids: string[] = [];
      for (let call = leaf.calls.at(-1)?.invocation; call !== undefined; call = call.parent) ids.unshift(call.runId);
      expect(ids[0]).toBe(runId);
      return ids;
    };
    const [first, again, other] = [await run("s-1"), await run("s-1"), await run("s-2")];
    expect(again).toEqual(first);
    expect(new Set([...first, ...other]).size).toBe(8);
  });

  it("add their usage to the outer run's", async () => {
    const { usage: sum } = await nest(recordingTool({ name: "leaf" }))
      .prompt("x")
      .run();
    expect(sum).toEqual({ inputTokens: 80, outputTokens: 8 });
  });

  it("bring result extensions back to the outer run", async () => {
    const leaf = defineTool({
      name: "leaf",
      input: nothing,
      call: () => toolResult("3 hits", new ToolCallExtensions().with(Cost, 2)),
    });
    const events: RunEvent[] = [];
    const { resultExtensions } = await nest(leaf)
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    expect(resultExtensions.get(Cost)).toBe(2);
    const costs = events.flatMap((event) => (event.type === "tool-completed" ? event.resultExtensions?.get(Cost) : []));
    expect(costs).toEqual([2, 2, 2, 2]);
  });

  it("tell the outer run's listeners their events, each with the call it happened in", async () => {
    const events: RunEvent[] = [];
    await nest(recordingTool({ name: "leaf" }))
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const starts = events.flatMap((event) =>
      event.type === "run-started" ? [[event.agentName, event.parent?.toolName]] : [],
    );
    expect(starts).toEqual([
      ["outer", undefined],
      ["inner 1", "ask_1"],
      ["inner 2", "ask_2"],
      ["inner 3", "ask_3"],
    ]);
    expect(events.filter(({ type }) => type === "run-completed")).toHaveLength(4);
    expect(events.at(-1)).toMatchObject({ type: "run-completed", agentName: "outer" });
  });

  it("stream their texts, in pieces, into the outer run's stream", async () => {
    const pieces = new Map<string, string[]>();
    for await (const event of nest(recordingTool({ name: "leaf" }))
      .prompt("x")
      .stream()) {
      if (event.type === "text-delta")
        pieces.set(event.agentName, [...(pieces.get(event.agentName) ?? []), event.text]);
    }
    expect([...pieces].map(([agentName, texts]) => [agentName, texts.join("")])).toEqual([
      ["inner 3", "inner 3 done."],
      ["inner 2", "inner 2 done."],
      ["inner 1", "inner 1 done."],
      ["outer", "outer done."],
    ]);
    expect([...pieces.values()].every((texts) => texts.length > 1)).toBe(true);
  });

  it.each(["blocking", "streaming"])("are all aborted with a %s outer run", async (way) => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const leaf = recordingTool({
      name: "leaf",
      result: ({ invocation }) => {
        for (let call: ToolInvocationContext | undefined = invocation; call; call = call.parent)
          signals.push(call.signal);
        setTimeout(() => controller.abort(), 2);
        return new Promise(() => {});
      },
    });
    const events: RunEvent[] = [];
    const request = nest(leaf)
      .prompt("x")
      .signal(controller.signal)
      .on((event) => events.push(event));
    const run =
      way === "blocking"
        ? request.run()
        : (async () => {
            for await (const _ of request.stream());
          })();
    await expect(run).rejects.toHaveProperty("name", "AbortError");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true]);
    const failures = events.flatMap((event) =>
      event.type === "tool-failed" ? [[event.invocation.toolName, event.kind]] : [],
    );
    expect(failures.sort()).toEqual(["ask_1", "ask_2", "ask_3", "leaf"].map((toolName) => [toolName, "aborted"]));
    expect(events.filter(({ type }) => type === "run-failed")).toHaveLength(4);
  });
});

describe("a sub-agent whose run fails", () => {
  const failing = async (inner: Agent) => {
    const events: RunEvent[] = [];
    const outer = calling("outer", inner.asTool({ name: "ask" }));
    const result = await outer
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    return { result, failure: events.find(({ type }) => type === "tool-failed"), events };
  };
  const callForEver = scriptedModel(() => ({ toolCalls: [{ toolName: "recording", input: {} }], usage }));

  it("by taking too many turns fails the outer run's call, and the outer run goes on", async () => {
    const inner = new Agent({ name: "inner", model: callForEver, tools: [recordingTool()], maxTurns: 2 });
    const { result, failure } = await failing(inner);
    expect(failure).toMatchObject({ kind: "error", error: { code: "max-turns", details: { maxTurns: 2 } } });
    expect(result.messages[2]).toMatchObject({ isError: true, text: 'Tool "ask" failed.' });
    expect(result.output).toBe("outer done.");
  });

  it("by its model's fault fails the outer run's call, and the outer model does not read why", async () => {
    const inner = new Agent({ name: "inner", model: scriptedModel([new Error("canary")]) });
    const { result, failure } = await failing(inner);
    expect(failure).toMatchObject({ kind: "error", error: { code: "model-failed" } });
    expect(JSON.stringify(result.messages)).not.toContain("canary");
  });

  it("still counts its usage", async () => {
    const inner = new Agent({ name: "inner", model: callForEver, tools: [recordingTool()], maxTurns: 2 });
    expect((await failing(inner)).result.usage).toEqual({ inputTokens: 40, outputTokens: 4 });
  });

  it("by a missing extension rejects the outer run with that error", async () => {
    const leaf = recordingTool({ name: "leaf", result: ({ extensions }) => extensions.require(Session) });
    const events: RunEvent[] = [];
    const outer = calling("outer", calling("inner", leaf).asTool({ name: "ask" }));
    const run = outer
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const error: unknown = await run.catch((e) => e);
    expect(error).toMatchObject({ code: "missing-extension", details: { missing: ["session"] } });
    const ends = events.flatMap((event) =>
      event.type === "tool-failed" || event.type === "run-failed" ? [event] : [],
    );
    expect(ends.map(({ type }) => type)).toEqual(["tool-failed", "run-failed", "tool-failed", "run-failed"]);
    expect(ends.every((event) => event.error === error)).toBe(true);
  });
});

describe("sixty sub-agents in each other", () => {
  it("carry a value to the last and count every usage", async () => {
    const leaf = recordingTool({ name: "leaf" });
    let tool: Tool<never, unknown, never> = leaf;
    for (let depth = 60; depth >= 1; depth--) tool = calling(`inner ${depth}`, tool).asTool({ name: `ask_${depth}` });
    const session = { id: "s-1" };
    const outer = calling("outer", tool).prompt("x").toolExtensions(new ToolCallExtensions().with(Session, session));
    expect((await outer.run()).usage.inputTokens).toBe(61 * 20);
    expect(leaf.calls[0]?.extensions.get(Session)).toBe(session);
    let depth = 0;
    for (let call = leaf.calls[0]?.invocation.parent; call !== undefined; call = call.parent) depth++;
    expect(depth).toBe(60);
  });
});
