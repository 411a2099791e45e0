import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  type Tool,
  type ToolCallExtensions,
  type ToolEvent,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

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

describe("a sub-agent written by hand", () => {
  const leaf = recordingTool({ name: "leaf" });
  const inner = calling("inner", leaf);
  const byHandTool = (name: string, run: (extensions: ToolCallExtensions<"tool-invocation">) => Promise<unknown>) =>
    defineTool({ name, input: nothing, callWithExtensions: (_input, given) => run(given) });
  const byHand = (run: (extensions: ToolCallExtensions<"tool-invocation">) => Promise<unknown>) =>
    calling("outer", byHandTool("ask", run));

  it("is a child of the call it runs in, as one made by asTool", async () => {
    const events: RunEvent[] = [];
    const outer = byHand(async (extensions) => (await inner.prompt("y").toolExtensions(extensions).run()).output);
    const result = await outer
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    expect(leaf.calls.at(-1)?.invocation.parent?.toolName).toBe("ask");
    expect(leaf.calls.at(-1)?.invocation.parent?.runId).toBe(result.runId);
    expect(leaf.calls.at(-1)?.invocation.runId).not.toBe(result.runId);
    expect(events.filter(({ type }) => type === "run-started")).toHaveLength(2);
    expect(result.usage).toEqual({ inputTokens: 40, outputTokens: 4 });
  });

  it("is a child also when it adds values of its own", async () => {
    const outer = byHand((extensions) => inner.prompt("y").toolExtensions(extensions.with(Cost, 1)).run());
    await outer.prompt("x").run();
    expect(leaf.calls.at(-1)?.invocation.parent?.toolName).toBe("ask");
    expect(leaf.calls.at(-1)?.extensions.get(Cost)).toBe(1);
  });

  it("is a child also when it streams", async () => {
    const outer = byHand(async (extensions) => {
      for await (const event of inner.prompt("y").toolExtensions(extensions).stream())
        if (event.type === "run-failed") throw event.error;
    });
    const { usage: sum } = await outer.prompt("x").run();
    expect(leaf.calls.at(-1)?.invocation.parent?.toolName).toBe("ask");
    expect(sum).toEqual({ inputTokens: 40, outputTokens: 4 });
  });

  it("tells its events to listeners of its own and to the outer run's", async () => {
    const own: RunEvent[] = [];
    const outers: RunEvent[] = [];
    const outer = byHand(async (extensions) => {
      const request = inner.prompt("y").toolExtensions(extensions);
      await request.on((event) => own.push(event)).run();
      for await (const event of request.stream()) own.push(event);
    });
    await outer
      .prompt("x")
      .on((event) => outers.push(event))
      .run();
    expect(own.filter(({ type }) => type === "run-started")).toHaveLength(2);
    expect(own.every((event) => "invocation" in event || event.agentName === "inner")).toBe(true);
    expect(own.every((event) => outers.includes(event))).toBe(true);
  });

  it("tells the listener of a call by name its calls, with nobody listening to the run, and those inside of them", async () => {
    const told: Record<string, string[]> = { first: [], second: [] };
    const listen = (name: string) => (event: ToolEvent) => void told[name]?.push(event.invocation.toolName);
    const leaves = new ToolSet([leaf]);
    const callLeaf = byHandTool("middle", (given) =>
      leaves.callWithExtensions("leaf", {}, given, { listener: listen("second") }),
    );
    const tools = new ToolSet([calling("inner", callLeaf).asTool({ name: "inner" })]);
    const outer = byHand((given) =>
      tools.callWithExtensions("inner", { prompt: "y" }, given, { listener: listen("first") }),
    );
    await outer.prompt("x").run();
    expect(told).toEqual({ first: ["inner", "middle", "leaf", "leaf", "middle", "inner"], second: ["leaf", "leaf"] });
  });

  it("tells the listener of a call by name those inside of it, also where they have a listener of their own", async () => {
    const told: Record<string, string[]> = { first: [], second: [] };
    const listen = (name: string) => (event: ToolEvent) => void told[name]?.push(event.invocation.toolName);
    const leaves = new ToolSet([leaf]);
    const middle = byHandTool("middle", (given) =>
      leaves.callWithExtensions("leaf", {}, given, { listener: listen("second") }),
    );
    const tools = new ToolSet([middle]);
    const outer = byHand((given) => tools.callWithExtensions("middle", {}, given, { listener: listen("first") }));
    await outer.prompt("x").run();
    expect(told).toEqual({ first: ["middle", "leaf", "leaf", "middle"], second: ["leaf", "leaf"] });
  });

  it("gives two runs in one call different run ids", async () => {
    const ids: string[] = [];
    const outer = byHand(async (extensions) => {
      for (const prompt of ["y", "z"]) ids.push((await inner.prompt(prompt).toolExtensions(extensions).run()).runId);
    });
    await outer.prompt("x").run();
    expect(new Set(ids).size).toBe(2);
  });

  it("is a run of its own when it is not handed the call's extensions", async () => {
    const outer = byHand(() => inner.prompt("y").run());
    const { usage: sum } = await outer.prompt("x").run();
    expect(leaf.calls.at(-1)?.invocation.parent).toBeUndefined();
    expect(sum).toEqual({ inputTokens: 20, outputTokens: 2 });
  });

  it("is aborted with the outer run", async () => {
    const controller = new AbortController();
    const outer = byHand((extensions) => {
      const waiting = recordingTool({ name: "waiting", result: () => sleep(10_000, undefined, { ref: false }) });
      setTimeout(() => controller.abort(), 2);
      return calling("inner", waiting).prompt("y").toolExtensions(extensions).run();
    });
    const events: RunEvent[] = [];
    const run = outer
      .prompt("x")
      .signal(controller.signal)
      .on((event) => events.push(event))
      .run();
    await expect(run).rejects.toHaveProperty("name", "AbortError");
    expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([
      { kind: "aborted" },
      { kind: "aborted" },
    ]);
  });
});
