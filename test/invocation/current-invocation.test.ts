import { inspect } from "node:util";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";

const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));

describe("currentToolInvocation", () => {
  it("is the invocation that the tool finds in its extensions", async () => {
    const tool = recordingTool({ result: ({ invocation }) => currentToolInvocation() === invocation });
    expect(await new ToolSet([tool]).call("recording", {})).toEqual({ status: "completed", output: true });
  });

  it("is there in a tool that has only call", async () => {
    const tool = defineTool({ name: "ping", input: {}, call: () => currentToolInvocation()?.toolName });
    expect(await new ToolSet([tool]).call("ping", {})).toEqual({ status: "completed", output: "ping" });
  });

  it("is each call's own under 100 at once", async () => {
    const tool = defineTool({
      name: "wait",
      input: {},
      call: async () => {
        const seen = new Set<string | undefined>();
        for (let step = 0; step < 4; step++) {
          seen.add(currentToolInvocation()?.toolCallId);
          await pause(Math.random() * 5);
          seen.add(currentToolInvocation()?.toolCallId);
        }
        return [...seen];
      },
    });
    const tools = new ToolSet([tool]);
    const ids = Array.from({ length: 100 }, (_, index) => `call_${index}`);
    const outcomes = await Promise.all(ids.map((toolCallId) => tools.call("wait", {}, { toolCallId })));
    expect(outcomes).toEqual(ids.map((id) => ({ status: "completed", output: [id] })));
  });

  it("follows the call into timers and microtasks", async () => {
    const tool = defineTool({
      name: "wait",
      input: {},
      call: () =>
        new Promise((resolve) => {
          setTimeout(() => queueMicrotask(() => resolve(currentToolInvocation()?.toolName)), 1);
        }),
    });
    expect(await new ToolSet([tool]).call("wait", {})).toEqual({ status: "completed", output: "wait" });
  });

  it("is the nested call's inside it, and the outer's again after it", async () => {
    const leaves = new ToolSet([
      defineTool({ name: "leaf", input: {}, call: async () => currentToolInvocation()?.toolName }),
    ]);
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        const inner = await leaves.callWithExtensions("leaf", {}, extensions);
        return [inner.status === "completed" && inner.output, currentToolInvocation()?.toolName];
      },
    });
    expect(await new ToolSet([outer]).call("outer", {})).toEqual({ status: "completed", output: ["leaf", "outer"] });
  });

  it("is each call's own in a lazy result that begins when it is awaited", async () => {
    const lazy = {
      // biome-ignore lint/suspicious/noThenProperty: what query builders return.
      then: (resolve: (value: unknown) => void) => resolve(currentToolInvocation()?.toolName),
    };
    const tool = defineTool({ name: "query", input: {}, call: () => lazy });
    expect(await new ToolSet([tool]).call("query", {})).toEqual({ status: "completed", output: "query" });
  });
});

describe("there is no current invocation", () => {
  it("outside a tool", () => {
    expect(currentToolInvocation()).toBeUndefined();
  });

  it("where the call was made, while it runs", async () => {
    const tools = new ToolSet([defineTool({ name: "wait", input: {}, call: () => pause() })]);
    const pending = tools.call("wait", {});
    expect(currentToolInvocation()).toBeUndefined();
    await pending;
  });

  it("after a call that succeeded", async () => {
    await new ToolSet([recordingTool()]).call("recording", {});
    expect(currentToolInvocation()).toBeUndefined();
  });

  it("after a call that threw", async () => {
    const call = () => {
      throw new Error("down");
    };
    await new ToolSet([defineTool({ name: "fail", input: {}, call })]).call("fail", {});
    expect(currentToolInvocation()).toBeUndefined();
  });

  it("after a call that was aborted", async () => {
    const controller = new AbortController();
    const tools = new ToolSet([defineTool({ name: "hang", input: {}, call: () => new Promise(() => {}) })]);
    const pending = tools.call("hang", {}, { signal: controller.signal });
    await pause();
    controller.abort();
    await pending;
    expect(currentToolInvocation()).toBeUndefined();
  });

  it("in a listener, for the events of a generator and of a nested call too", async () => {
    const leaves = new ToolSet([recordingTool({ name: "leaf" })]);
    const outer = defineTool({
      name: "outer",
      input: {},
      async *callWithExtensions(_input, extensions) {
        yield "10 %";
        await leaves.callWithExtensions("leaf", {}, extensions);
      },
    });
    const seen: [RunEvent["type"], unknown][] = [];
    const model = scriptedModel([{ toolCalls: [{ toolName: "outer", input: {} }] }, "Done."]);
    const request = new Agent({ name: "support", model, tools: [outer] }).prompt("Go.");
    await request.on(({ type }) => seen.push([type, currentToolInvocation()])).run();
    expect(seen.map(([type]) => type)).toContain("tool-progress");
    expect(seen.filter(([, current]) => current !== undefined)).toEqual([]);
  });

  it("where the runtime has no AsyncLocalStorage, and the call works all the same", async () => {
    await inNewProcess(async (copy) => {
      const builtin = vi.spyOn(process, "getBuiltinModule").mockReturnValue(undefined as never);
      try {
        expect(await probe(copy)).toEqual({ status: "completed", output: [undefined, "probe"] });
      } finally {
        builtin.mockRestore();
      }
    });
  });

  it("where the runtime gives no module by name", async () => {
    await inNewProcess(async (copy) => {
      vi.stubGlobal("process", { ...process, getBuiltinModule: undefined });
      try {
        expect(copy.currentToolInvocation()).toBeUndefined();
      } finally {
        vi.unstubAllGlobals();
      }
      expect(await probe(copy)).toEqual({ status: "completed", output: [undefined, "probe"] });
    });
  });

  it("where there is no process", async () => {
    await inNewProcess(async (copy) => {
      vi.stubGlobal("process", undefined);
      try {
        expect(copy.currentToolInvocation()).toBeUndefined();
      } finally {
        vi.unstubAllGlobals();
      }
    });
  });
});

describe("a process that loads the package", () => {
  it("has a current invocation from its first call on", async () => {
    await inNewProcess(async (copy) => {
      expect(await probe(copy)).toEqual({ status: "completed", output: ["probe", "probe"] });
    });
  });
});

type Copy = typeof import("tool-call-extensions");

/** Hands over a copy that finds nothing of what the copies before it keep for the whole process. */
async function inNewProcess(act: (copy: Copy) => Promise<void>): Promise<void> {
  const key = Symbol.for("tool-call-extensions/current-invocation");
  const globals = globalThis as { [key: symbol]: unknown };
  const { [key]: stored } = globals;
  try {
    delete globals[key];
    vi.resetModules();
    await act(await import("tool-call-extensions"));
  } finally {
    globals[key] = stored;
  }
}

/** What a tool of the copy reads as the current call, and in its extensions. */
function probe(copy: Copy): Promise<unknown> {
  const tool = copy.defineTool({
    name: "probe",
    input: {},
    callWithExtensions: (_input, extensions) => [
      copy.currentToolInvocation()?.toolName,
      extensions.require(copy.ToolInvocationContext).toolName,
    ],
  });
  return new copy.ToolSet([tool]).call("probe", {});
}

// Field case H23: openai/openai-agents-js #709, two loaded copies of one package, 2025-11-30.
describe("another copy of the package", () => {
  it("sees the current invocation", async () => {
    vi.resetModules();
    const copy = await import("tool-call-extensions");
    expect(copy.currentToolInvocation).not.toBe(currentToolInvocation);
    const tool = defineTool({ name: "ping", input: {}, call: () => copy.currentToolInvocation()?.toolName });
    expect(await new ToolSet([tool]).call("ping", {})).toEqual({ status: "completed", output: "ping" });
  });

  it("reads the invocation from the extensions", async () => {
    vi.resetModules();
    const copy = await import("tool-call-extensions");
    const tool = defineTool({
      name: "ping",
      input: {},
      callWithExtensions: (_input, extensions) => extensions.require(copy.ToolInvocationContext).toolName,
    });
    expect(await new ToolSet([tool]).call("ping", {})).toEqual({ status: "completed", output: "ping" });
  });
});

describe("an invocation", () => {
  const Token = extensionToken("token").of<string>();

  it("is frozen", async () => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {});
    expect(Object.isFrozen(tool.calls[0]?.invocation)).toBe(true);
  });

  it("is written as JSON by its identity alone, the parent's included", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    await new ToolSet([outer]).call("outer", {}, { toolCallId: "call_a" });
    const { runId } = outer.calls[0]?.invocation ?? {};
    const place = { runId, turn: 1, index: 0, batchSize: 1, attempt: 1 };
    expect(JSON.parse(JSON.stringify(leaf.calls[0]?.invocation))).toEqual({
      toolCallId: expect.stringMatching(/^[a-zA-Z0-9]{9}$/),
      toolName: "leaf",
      ...place,
      parent: { toolCallId: "call_a", providerToolCallId: "call_a", toolName: "outer", ...place },
    });
  });

  it.each([
    ["inspect", (value: unknown) => inspect(value, { depth: 20, showHidden: true })],
    ["inspect with getters", (value: unknown) => inspect(value, { depth: 20, showHidden: true, getters: true })],
    ["JSON.stringify", (value: unknown) => JSON.stringify(value)],
    ["a template", (value: unknown) => `${value}`],
    ["Object.entries", (value: unknown) => inspect(Object.entries(Object(value)), { depth: 20, showHidden: true })],
    ["structuredClone", (value: unknown) => inspect(structuredClone(value), { depth: 20, showHidden: true })],
  ])("keeps what belongs to the run out of %s", async (_how, print) => {
    const tool = recordingTool({ result: ({ invocation }) => void invocation.signal });
    const model = scriptedModel([{ toolCalls: [{ toolName: "recording", input: {} }] }, "Done."]);
    const extensions = new ToolCallExtensions().with(Token, "canary-9f3");
    await new Agent({ name: "support", model, instructions: "canary-9f3", tools: [tool] })
      .prompt("canary-9f3")
      .toolExtensions(extensions)
      .on(() => {})
      .run();
    expect(print(tool.calls[0]?.invocation)).not.toContain("canary-9f3");
  });

  it("shows neither its signal nor its scope to inspect", async () => {
    const controller = new AbortController();
    const tool = recordingTool({ result: ({ invocation }) => void invocation.signal });
    await new ToolSet([tool]).call("recording", {}, { signal: controller.signal });
    const text = inspect(tool.calls[0]?.invocation, { depth: 20, showHidden: true });
    expect(text).not.toMatch(/AbortSignal|Cancellation|nestedCalls|middleware/);
  });

  it("is one object for the whole call", async () => {
    const tool = recordingTool({
      result: async ({ extensions }) => {
        const before = extensions.require(ToolInvocationContext);
        await pause();
        return before === extensions.require(ToolInvocationContext) && before === currentToolInvocation();
      },
    });
    expect(await new ToolSet([tool]).call("recording", {})).toEqual({ status: "completed", output: true });
  });
});
