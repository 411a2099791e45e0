import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  type PromptRequest,
  type RunEvent,
  Runner,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { afterEach, describe, expect, it, vi } from "vitest";

type Drive = (request: PromptRequest<never, unknown>, runner: Runner) => Promise<unknown>;

const ways: [string, Drive][] = [
  ["blocking", (request, runner) => runner.run(request)],
  [
    "streaming",
    async (request, runner) => {
      let last: RunEvent | undefined;
      for await (const event of runner.stream(request)) last = event;
      return last?.type === "run-completed" ? last.result : undefined;
    },
  ],
];

function probingAgent() {
  const script = [{ toolCalls: [{ toolName: "probe", input: {} }] }, "Done."];
  const probe = recordingTool({ name: "probe" });
  return { probe, agent: new Agent({ name: "a", model: scriptedModel(script), tools: [probe] }) };
}

afterEach(() => vi.restoreAllMocks());

describe.each(ways)("a listener's fault in a %s run", (_way, drive) => {
  it("reaches onListenerError with its event, once for each event, and changes nothing else", async () => {
    const { agent, probe } = probingAgent();
    const faults: [unknown, string][] = [];
    const runner = new Runner({ onListenerError: (error, event) => faults.push([error, event.type]) });
    const fault = new Error("listener");
    const heard: string[] = [];
    const request = agent
      .prompt("x")
      .on(() => {
        throw fault;
      })
      .on(({ type }) => heard.push(type));
    expect(await drive(request, runner)).toMatchObject({ output: "Done." });
    expect(probe.calls).toHaveLength(1);
    expect(heard).toContain("tool-completed");
    expect(faults).toEqual(heard.map((type) => [fault, type]));
  });

  it("reaches onListenerError when an async listener rejects", async () => {
    const { agent } = probingAgent();
    const faults: [unknown, string][] = [];
    const runner = new Runner({ onListenerError: (error, event) => faults.push([error, event.type]) });
    const fault = new Error("listener");
    const request = agent.prompt("x").on(async ({ type }) => {
      await sleep(1);
      if (type === "tool-completed") throw fault;
    });
    expect(await drive(request, runner)).toMatchObject({ output: "Done." });
    await sleep(5);
    expect(faults).toEqual([[fault, "tool-completed"]]);
  });

  it("is written to the console where there is no onListenerError", async () => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    const { agent } = probingAgent();
    const fault = new Error("listener");
    const request = agent.prompt("x").on(({ type }) => {
      if (type === "run-started") throw fault;
    });
    expect(await drive(request, new Runner())).toMatchObject({ output: "Done." });
    expect(written.mock.calls).toEqual([['tool-call-extensions: a listener failed on "run-started":', fault]]);
  });

  it("is nowhere where nobody listens, and nothing is written to the console", async () => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    await drive(probingAgent().agent.prompt("x"), new Runner());
    expect(written.mock.calls).toEqual([]);
  });

  it("does not fail the run even when onListenerError throws", async () => {
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    const { agent } = probingAgent();
    const fault = new Error("the reporter's own");
    const runner = new Runner({
      onListenerError: () => {
        throw fault;
      },
    });
    const request = agent.prompt("x").on(({ type }) => {
      if (type === "run-started") throw new Error("listener");
    });
    expect(await drive(request, runner)).toMatchObject({ output: "Done." });
    expect(written.mock.calls).toEqual([['tool-call-extensions: a listener failed on "run-started":', fault]]);
  });

  it("leaves no unhandled rejection when onListenerError throws on an async listener's", async () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): number => unhandled.push(reason);
    process.on("unhandledRejection", listen);
    const { agent } = probingAgent();
    const runner = new Runner({
      onListenerError: () => {
        throw new Error("the reporter's own");
      },
    });
    await drive(
      agent.prompt("x").on(async () => Promise.reject(new Error("listener"))),
      runner,
    );
    await sleep(5);
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });

  it("in a sub-agent's event reaches the outer runner's onListenerError", async () => {
    const { agent: inner } = probingAgent();
    const toolCalls = [{ toolName: "ask_inner", input: { prompt: "x" } }];
    const model = scriptedModel([{ toolCalls }, "Outer done."]);
    const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask_inner" })] });
    const faults: RunEvent[] = [];
    const runner = new Runner({ onListenerError: (_error, event) => faults.push(event) });
    const request = outer.prompt("x").on((event) => {
      if (event.type === "run-started" && event.agentName === "a") throw new Error("listener");
    });
    expect(await drive(request, runner)).toMatchObject({ output: "Outer done." });
    expect(faults).toMatchObject([{ type: "run-started", agentName: "a" }]);
  });
});

describe.each(ways)("a listener in a %s run", (_way, drive) => {
  it("is called outside of any tool, also for progress, nested calls and sub-agents", async () => {
    const nested = new ToolSet([recordingTool({ name: "leaf" })]);
    const busy = defineTool({
      name: "busy",
      input: { type: "object" },
      async *callWithExtensions(_input, extensions) {
        yield currentToolInvocation()?.toolName;
        await nested.callWithExtensions("leaf", {}, extensions);
      },
    });
    const ask = new Agent({ name: "inner", model: scriptedModel(["Inner done."]) }).asTool({ name: "ask" });
    const toolCalls = ["busy", "ask"].map((toolName) => ({ toolName, input: { prompt: "x" } }));
    const outer = new Agent({ name: "outer", model: scriptedModel([{ toolCalls }, "Done."]), tools: [busy, ask] });
    const heard: [string, unknown][] = [];
    await drive(
      outer.prompt("x").on(({ type }) => heard.push([type, currentToolInvocation()])),
      new Runner(),
    );
    expect(heard.filter(([, invocation]) => invocation !== undefined)).toEqual([]);
    const count = (wanted: string) => heard.filter(([type]) => type === wanted).length;
    expect([count("tool-progress"), count("tool-completed"), count("run-completed")]).toEqual([1, 3, 2]);
  });

  it("hears each event before the next listener and in the order of registration", async () => {
    const { agent } = probingAgent();
    const heard: string[] = [];
    const request = agent
      .prompt("x")
      .on(({ type }) => heard.push(`1 ${type}`))
      .on(({ type }) => heard.push(`2 ${type}`));
    await drive(request, new Runner());
    expect(heard.slice(0, 4)).toEqual(["1 run-started", "2 run-started", "1 turn-started", "2 turn-started"]);
  });
});

describe("a run without a listener", () => {
  it("makes no event, as the clock is never read for one", async () => {
    const now = vi.spyOn(Date, "now");
    await probingAgent().agent.prompt("x").run();
    expect(now).not.toHaveBeenCalled();
    const { agent } = probingAgent();
    const events: RunEvent[] = [];
    await agent
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    expect(now).toHaveBeenCalledTimes(events.length);
  });
});
