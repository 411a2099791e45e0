import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  type PromptRequest,
  Runner,
  type RunResult,
  type ToolMiddleware,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

type Request = PromptRequest<never, unknown>;

async function drain(runner: Runner, request: Request): Promise<RunResult<unknown>> {
  let result: RunResult<unknown> | undefined;
  for await (const event of runner.stream(request)) {
    if (event.type === "run-completed" && event.parent === undefined) result = event.result;
  }
  if (result === undefined) throw new Error("the stream ended without a result");
  return result;
}

const ways: [string, (request: Request, runner?: Runner) => Promise<RunResult<unknown>>][] = [
  ["blocking", (request, runner = new Runner()) => runner.run(request)],
  ["streaming", (request, runner = new Runner()) => drain(runner, request)],
];

/** One turn that calls `tool` once for each input, then the answer. */
function callingModel(toolName: string, inputs: readonly object[]) {
  return scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: inputs.map((input) => ({ toolName, input })) } : "Done.",
  );
}

/** Takes a moment and counts how many of its calls are open at once. */
function crowdedTool() {
  const seen = { open: 0, most: 0 };
  const tool = defineTool({
    name: "crowded",
    input: { type: "object" },
    call: async () => {
      seen.most = Math.max(seen.most, ++seen.open);
      await sleep(2);
      seen.open--;
    },
  });
  return { tool, seen };
}

describe.each(ways)("toolConcurrency in a %s run", (_way, drive) => {
  it("keeps no more calls open than toolConcurrency", async () => {
    const { tool, seen } = crowdedTool();
    const agent = new Agent({ name: "a", model: callingModel("crowded", Array(7).fill({})), tools: [tool] });
    const result = await drive(agent.prompt("x"), new Runner({ toolConcurrency: 3 }));
    expect(seen.most).toBe(3);
    expect(result.messages).toHaveLength(1 + 1 + 7 + 1);
  });

  it("keeps results in call order under a bound", async () => {
    const echo = defineTool({
      name: "echo",
      input: { type: "object" },
      call: async ({ n }) => {
        await sleep(Number(n) % 3);
        return n;
      },
    });
    const model = callingModel(
      "echo",
      [5, 4, 3, 2, 1].map((n) => ({ n })),
    );
    const result = await drive(
      new Agent({ name: "a", model, tools: [echo] }).prompt("x"),
      new Runner({ toolConcurrency: 2 }),
    );
    const texts = result.messages.flatMap((message) => (message.role === "tool" ? message.text : []));
    expect(texts).toEqual(["5", "4", "3", "2", "1"]);
  });

  it("keeps 16 calls open unless told otherwise", async () => {
    const { tool, seen } = crowdedTool();
    const agent = new Agent({ name: "a", model: callingModel("crowded", Array(20).fill({})), tools: [tool] });
    await drive(agent.prompt("x"));
    expect(seen.most).toBe(16);
  });

  it("keeps all calls open where toolConcurrency is Infinity", async () => {
    const { tool, seen } = crowdedTool();
    const agent = new Agent({ name: "a", model: callingModel("crowded", Array(40).fill({})), tools: [tool] });
    await drive(agent.prompt("x"), new Runner({ toolConcurrency: Number.POSITIVE_INFINITY }));
    expect(seen.most).toBe(40);
  });

  it("passes its toolConcurrency on to a sub-agent", async () => {
    const { tool, seen } = crowdedTool();
    const inner = new Agent({ name: "inner", model: callingModel("crowded", Array(5).fill({})), tools: [tool] });
    const model = callingModel("ask_inner", [{ prompt: "x" }]);
    const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask_inner" })] });
    await drive(outer.prompt("x"), new Runner({ toolConcurrency: 2 }));
    expect(seen.most).toBe(2);
  });
});

describe.each(ways)("the runner's middleware in a %s run", (_way, drive) => {
  it("wraps nested calls and the calls of sub-agents", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const nested = new ToolSet([leaf]);
    const nesting = defineTool({
      name: "nesting",
      input: { type: "object" },
      callWithExtensions: async (_input, extensions) => {
        await nested.callWithExtensions("leaf", {}, extensions);
      },
    });
    const inner = new Agent({ name: "inner", model: callingModel("nesting", [{}]), tools: [nesting] });
    const model = callingModel("ask_inner", [{ prompt: "x" }]);
    const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask_inner" })] });
    const lines: string[] = [];
    const log: ToolMiddleware = async (call, next) => {
      lines.push(`> ${call.tool.name}`);
      const outcome = await next(call);
      lines.push(`< ${call.tool.name} ${outcome.status}`);
      return outcome;
    };
    await drive(outer.prompt("x"), new Runner({ middleware: [log] }));
    expect(lines).toEqual([
      "> ask_inner",
      "> nesting",
      "> leaf",
      "< leaf completed",
      "< nesting completed",
      "< ask_inner completed",
    ]);
  });

  it("runs outside of the middleware of the agent's tool set, the first outermost", async () => {
    const lines: string[] = [];
    const named =
      (name: string): ToolMiddleware =>
      (call, next) => {
        lines.push(name);
        return next(call);
      };
    const tools = new ToolSet([recordingTool({ name: "probe" })], { middleware: [named("set 1"), named("set 2")] });
    const agent = new Agent({ name: "a", model: callingModel("probe", [{}]), tools });
    await drive(agent.prompt("x"), new Runner({ middleware: [named("runner 1"), named("runner 2")] }));
    expect(lines).toEqual(["runner 1", "runner 2", "set 1", "set 2"]);
  });

  it("is fixed when the runner is made", async () => {
    const middleware: ToolMiddleware[] = [];
    const runner = new Runner({ middleware });
    const refuse: ToolMiddleware = async () => ({ status: "failed", kind: "error", error: new Error("refused") });
    middleware.push(refuse);
    const probe = recordingTool({ name: "probe" });
    await drive(new Agent({ name: "a", model: callingModel("probe", [{}]), tools: [probe] }).prompt("x"), runner);
    expect(probe.calls).toHaveLength(1);
  });
});

describe("new Runner", () => {
  it.each([
    ["option toolConcurrency must be a positive integer or Infinity; received 0", { toolConcurrency: 0 }],
    ["option toolConcurrency must be a positive integer or Infinity; received 1.5", { toolConcurrency: 1.5 }],
    [
      "option toolConcurrency must be a positive integer or Infinity; received a string",
      { toolConcurrency: "4" as never },
    ],
    ["option onListenerError must be a function; received a string", { onListenerError: "log" as never }],
    ["option middleware must be an array of functions; received a function", { middleware: (() => {}) as never }],
    ["an entry of option middleware must be a function; received undefined", { middleware: [undefined as never] }],
  ])("refuses a bad option by name: %s", (message, options) => {
    expect(() => new Runner(options)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: `[invalid-argument] ${message}` }),
    );
  });

  it.each(ways)("refuses to drive what is no request (%s)", async (_way, drive) => {
    await expect(drive("Hello" as never)).rejects.toThrow(
      "[invalid-argument] the request must be made by agent.prompt(text); received a string",
    );
    await expect(drive(undefined as never)).rejects.toThrow(
      "[invalid-argument] the request must be made by agent.prompt(text); received undefined",
    );
  });
});
