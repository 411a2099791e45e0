import {
  Agent,
  defineTool,
  type RunEvent,
  type Tool,
  ToolCallExtensions,
  type ToolMiddleware,
  ToolSet,
  toolResult,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs the tool once in an agent and gives what its call told the listeners. */
async function toolEventsOf(tool: Tool<never, unknown, never>): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  const model = scriptedModel([{ toolCalls: [{ toolName: tool.name, input: {} }] }, "Done."]);
  const agent = new Agent({ name: "support", model, tools: [tool] });
  await agent
    .prompt("Go.")
    .on((event) => events.push(event))
    .run();
  return events.filter(({ type }) => type.startsWith("tool-"));
}

describe("the progress of a generator tool", () => {
  it("is told for each yield, between the request and the end", async () => {
    const events = await toolEventsOf(
      defineTool({
        name: "load",
        input: {},
        async *call() {
          yield "10 %";
          await pause();
          yield "50 %";
          return "all 3 rows";
        },
      }),
    );
    expect(events.map((event) => [event.type, "output" in event ? event.output : ""])).toEqual([
      ["tool-requested", ""],
      ["tool-progress", "10 %"],
      ["tool-progress", "50 %"],
      ["tool-completed", "all 3 rows"],
    ]);
  });

  it("carries the call's own invocation", async () => {
    const events = await toolEventsOf(
      defineTool({
        name: "load",
        input: {},
        async *call() {
          yield "10 %";
        },
      }),
    );
    expect(new Set(events.map((event) => ("invocation" in event ? event.invocation : undefined))).size).toBe(1);
  });

  it("is told as it happens", async () => {
    const lines: string[] = [];
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "10 %";
        lines.push("went on");
      },
    });
    const model = scriptedModel([{ toolCalls: [{ toolName: "load", input: {} }] }, "Done."]);
    const agent = new Agent({ name: "support", model, tools: [tool] });
    await agent
      .prompt("Go.")
      .on((event) => void (event.type === "tool-progress" && lines.push("progress")))
      .run();
    expect(lines).toEqual(["progress", "went on"]);
  });

  it("is told of a generator that a promise resolves to", async () => {
    async function* rows() {
      yield "10 %";
    }
    const events = await toolEventsOf(defineTool({ name: "load", input: {}, call: async () => rows() }));
    expect(events.map(({ type }) => type)).toEqual(["tool-requested", "tool-progress", "tool-completed"]);
  });

  it("is the output of a toolResult, as the end has it", async () => {
    const events = await toolEventsOf(
      defineTool({
        name: "load",
        input: {},
        async *call() {
          yield toolResult("all 3 rows", new ToolCallExtensions());
        },
      }),
    );
    expect(events.slice(1).map((event) => "output" in event && event.output)).toEqual(["all 3 rows", "all 3 rows"]);
  });
});

describe("the end of a generator tool that throws in the middle", () => {
  it("is one failure after its progress", async () => {
    const events = await toolEventsOf(
      defineTool({
        name: "load",
        input: {},
        async *call() {
          yield "10 %";
          throw new Error("the disk is full");
        },
      }),
    );
    expect(events.map(({ type }) => type)).toEqual(["tool-requested", "tool-progress", "tool-failed"]);
  });
});

describe("a generator tool that is aborted", () => {
  it("tells no more progress", async () => {
    const controller = new AbortController();
    const types: string[] = [];
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield 1;
        controller.abort("enough");
        yield 2;
        yield 3;
      },
    });
    const model = scriptedModel([{ toolCalls: [{ toolName: "load", input: {} }] }, "Done."]);
    const request = new Agent({ name: "support", model, tools: [tool] }).prompt("Go.").signal(controller.signal);
    await expect(request.on(({ type }) => types.push(type)).run()).rejects.toBe("enough");
    await pause();
    expect(types.filter((type) => type.startsWith("tool-"))).toEqual([
      "tool-requested",
      "tool-progress",
      "tool-failed",
    ]);
  });
});

describe("a generator tool that goes on after middleware has answered for it", () => {
  it("tells no progress after the end of its call", async () => {
    let goOn: () => void = () => {};
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    let finish: () => void = () => {};
    const finished = new Promise<void>((resolve) => (finish = resolve));
    const load = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "10 %";
        await gate;
        yield "50 %";
        finish();
      },
    });
    const wait = defineTool({
      name: "wait",
      input: {},
      call: () => {
        goOn();
        return finished;
      },
    });
    const impatient: ToolMiddleware = async (call, next) => {
      const pending = next(call);
      if (call.tool !== load) return pending;
      await pause();
      return { status: "completed", output: "gave up waiting" };
    };
    const types: string[] = [];
    const turn = (toolName: string) => ({ toolCalls: [{ toolName, input: {} }] });
    const model = scriptedModel([turn("load"), turn("wait"), "Done."]);
    const tools = new ToolSet([load, wait], { middleware: [impatient] });
    await new Agent({ name: "support", model, tools })
      .prompt("Go.")
      .on(({ type }) => types.push(type))
      .run();
    expect(types.filter((type) => type === "tool-progress")).toHaveLength(1);
  });
});
