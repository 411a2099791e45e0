import {
  defineTool,
  extensionToken,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
  type ToolMiddleware,
  type ToolOutcome,
  ToolSet,
  toolResult,
} from "tool-call-extensions";
import { memoryOnceStore, type OnceOptions, once } from "tool-call-extensions/once";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const sameCall = { sessionKey: "chat-7", toolCallId: "call_1" };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function setOf(result: () => unknown, options: Partial<OnceOptions> = {}) {
  const tool = recordingTool({ name: "charge", result });
  const middleware = once({ store: memoryOnceStore(), ...options });
  return { tool, tools: new ToolSet([tool], { middleware: [middleware] }), middleware };
}

function failureOf(outcome: ToolOutcome): unknown {
  if (outcome.status !== "failed") throw new Error(`expected a failure, got "${outcome.status}"`);
  return outcome.error;
}

describe("once", () => {
  it("runs the tool, and gives its outcome to a later call with the same key", async () => {
    const { tool, tools } = setOf(() => ({ receipt: "r-1", lines: [1, 2] }));
    const first = await tools.call("charge", { cents: 5 }, sameCall);
    const later = await tools.call("charge", { cents: 5 }, sameCall);
    expect(first).toEqual({ status: "completed", output: { receipt: "r-1", lines: [1, 2] } });
    expect(later).toEqual(first);
    expect(tool.calls).toHaveLength(1);
  });

  it("gives the first caller its output by reference", async () => {
    const output = { receipt: "r-1" };
    const { tools } = setOf(() => output);
    const outcome = await tools.call("charge", {}, sameCall);
    expect(outcome.status === "completed" && outcome.output).toBe(output);
  });

  it("runs the tool again for another call, and for another session", async () => {
    const { tool, tools } = setOf(() => "done");
    await tools.call("charge", {}, sameCall);
    await tools.call("charge", {}, { ...sameCall, toolCallId: "call_2" });
    await tools.call("charge", {}, { ...sameCall, sessionKey: "chat-8" });
    expect(tool.calls).toHaveLength(3);
  });

  it("lets calls at the same time wait for the one that runs", async () => {
    const { tool, tools } = setOf(async () => {
      await sleep(50);
      return "done";
    });
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => tools.call("charge", {}, sameCall)));
    expect(outcomes).toEqual(Array.from({ length: 10 }, () => ({ status: "completed", output: "done" })));
    expect(tool.calls).toHaveLength(1);
  });

  it("is atomic also between two middlewares over one store", async () => {
    const store = memoryOnceStore();
    const [one, other] = [setOf(() => "done", { store }), setOf(() => "done", { store })];
    await Promise.all([one.tools.call("charge", {}, sameCall), other.tools.call("charge", {}, sameCall)]);
    expect(one.tool.calls.length + other.tool.calls.length).toBe(1);
  });

  it("refuses the same key with another input, and does not run the tool", async () => {
    const { tool, tools } = setOf(() => "done");
    await tools.call("charge", { cents: 5 }, sameCall);
    const error = failureOf(await tools.call("charge", { cents: 6 }, sameCall));
    if (!ToolCallExtensionsError.is(error) || error.code !== "input-mismatch") throw error;
    expect(error.details).toEqual({ toolName: "charge", invocationKey: tool.calls[0]?.invocation.invocationKey });
    expect(error.message).toContain('tool "charge"');
    expect(tool.calls).toHaveLength(1);
  });

  it("refuses the same key with another input also while the first call runs", async () => {
    const { tool, tools } = setOf(() => sleep(50));
    const first = tools.call("charge", { cents: 5 }, sameCall);
    const error = failureOf(await tools.call("charge", { cents: 6 }, sameCall));
    expect(error).toMatchObject({ code: "input-mismatch" });
    await first;
    expect(tool.calls).toHaveLength(1);
  });

  it("refuses the same key for another tool", async () => {
    const middleware = [once({ store: memoryOnceStore() })];
    const tools = new ToolSet([recordingTool({ name: "charge" }), recordingTool({ name: "refund" })], { middleware });
    await tools.call("charge", {}, sameCall);
    expect(failureOf(await tools.call("refund", {}, sameCall))).toMatchObject({ code: "input-mismatch" });
  });

  it("takes inputs that differ only in the order of their properties for one", async () => {
    const { tool, tools } = setOf(() => "done");
    await tools.call("charge", { a: 1, b: { c: 2, d: 3 } }, sameCall);
    const later = await tools.call("charge", { b: { d: 3, c: 2 }, a: 1 }, sameCall);
    expect(later).toEqual({ status: "completed", output: "done" });
    expect(tool.calls).toHaveLength(1);
  });

  it("compares what fingerprintOf gives", async () => {
    let made = 0;
    const input = z.object({ cents: z.number(), at: z.number().default(() => ++made) });
    const store = memoryOnceStore();
    const tool = recordingTool({ name: "charge", input });
    const strict = new ToolSet([tool], { middleware: [once({ store: memoryOnceStore() })] });
    await strict.call("charge", { cents: 5 }, sameCall);
    expect((await strict.call("charge", { cents: 5 }, sameCall)).status).toBe("failed");
    const fingerprintOf = ({ input }: { readonly input: unknown }) => (input as { readonly cents: number }).cents;
    const tools = new ToolSet([tool], { middleware: [once({ store, fingerprintOf })] });
    await tools.call("charge", { cents: 5 }, sameCall);
    expect((await tools.call("charge", { cents: 5 }, sameCall)).status).toBe("completed");
    expect((await tools.call("charge", { cents: 6 }, sameCall)).status).toBe("failed");
  });

  it("fails by name without a session, and does not run the tool", async () => {
    const { tool, tools } = setOf(() => "done");
    const error = failureOf(await tools.call("charge", {}, { toolCallId: "call_1" }));
    if (!ToolCallExtensionsError.is(error) || error.code !== "missing-session") throw error;
    expect(error.details.toolName).toBe("charge");
    expect(error.message).toContain('tool "charge"');
    expect(error.message).toContain(".session(key)");
    expect(tool.calls).toHaveLength(0);
  });

  it("does not keep a failure: a later call with the same key runs the tool again", async () => {
    let runs = 0;
    const { tools } = setOf(() => {
      if (++runs === 1) throw new Error("the network is down");
      return `run ${runs}`;
    });
    expect((await tools.call("charge", {}, sameCall)).status).toBe("failed");
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "run 2" });
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "run 2" });
  });

  it("lets one of those who wait run the tool when the one before them failed", async () => {
    let runs = 0;
    const { tools } = setOf(async () => {
      const run = ++runs;
      await sleep(20);
      if (run < 3) throw new Error("not yet");
      return `run ${run}`;
    });
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => tools.call("charge", {}, sameCall)));
    expect(outcomes.filter(({ status }) => status === "failed")).toHaveLength(2);
    const completed = outcomes.filter(({ status }) => status === "completed");
    expect(completed).toEqual(Array.from({ length: 4 }, () => ({ status: "completed", output: "run 3" })));
    expect(runs).toBe(3);
  });

  it("releases the key when a middleware inside it throws", async () => {
    let throws = true;
    const tool = recordingTool({ name: "charge" });
    const inside: ToolMiddleware = (call, next) => {
      if (throws) throw new Error("broken");
      return next(call);
    };
    const tools = new ToolSet([tool], { middleware: [once({ store: memoryOnceStore() }), inside] });
    expect(failureOf(await tools.call("charge", {}, sameCall))).toEqual(new Error("broken"));
    throws = false;
    expect((await tools.call("charge", {}, sameCall)).status).toBe("completed");
  });

  it.each([{ resultType: "input_required", inputRequests: {} }, { status: "input_required" }])(
    "does not keep a result that asks for more input: %j",
    async (asking) => {
      const results: unknown[] = [asking, "done", "never"];
      const { tools } = setOf(() => results.shift());
      expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: asking });
      expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "done" });
      expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "done" });
    },
  );

  it("keeps what isFinal says", async () => {
    const results = [{ state: "working" }, { state: "done" }, { state: "never" }];
    const isFinal = (output: unknown): boolean => (output as { readonly state: string }).state !== "working";
    const { tools } = setOf(() => results.shift(), { isFinal });
    await tools.call("charge", {}, sameCall);
    await tools.call("charge", {}, sameCall);
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: { state: "done" } });
  });

  it("does not replay the extensions of a result", async () => {
    const Cost = extensionToken("cost").of<number>();
    const { tools } = setOf(() => toolResult("done", new ToolCallExtensions().with(Cost, 2)));
    const first = await tools.call("charge", {}, sameCall);
    expect(first.status === "completed" && first.resultExtensions?.get(Cost)).toBe(2);
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "done" });
  });

  it("can be around one call twice", async () => {
    const tool = recordingTool({ name: "charge" });
    const middleware = once({ store: memoryOnceStore() });
    const tools = new ToolSet([tool], { middleware: [middleware, (call, next) => next({ ...call }), middleware] });
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "recorded" });
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "recorded" });
    expect(tool.calls).toHaveLength(1);
  });

  it("runs a call once that an outer middleware makes twice at the same time, or again", async () => {
    const twice: ToolMiddleware = async (call, next) => {
      await Promise.all([next(call), next(call)]);
      return next(call);
    };
    const tool = recordingTool({ name: "charge", result: () => sleep(20) });
    const tools = new ToolSet([tool], { middleware: [twice, once({ store: memoryOnceStore() })] });
    expect((await tools.call("charge", {}, sameCall)).status).toBe("completed");
    expect(tool.calls).toHaveLength(1);
  });

  it("runs a nested call under a key of its own", async () => {
    const middleware = [once({ store: memoryOnceStore() })];
    const inner = recordingTool({ name: "inner" });
    const inside = new ToolSet([inner], { middleware });
    const outer = defineTool({
      name: "outer",
      input: { type: "object" },
      callWithExtensions: async (_input, extensions) => {
        await inside.callWithExtensions("inner", {}, extensions);
        await inside.callWithExtensions("inner", {}, extensions);
        return extensions.require(ToolInvocationContext).invocationKey;
      },
    });
    const tools = new ToolSet([outer], { middleware });
    await tools.call("outer", {}, sameCall);
    await tools.call("outer", {}, sameCall);
    const keys = inner.calls.map(({ invocation }) => invocation.invocationKey);
    expect(new Set(keys).size).toBe(2);
    expect(keys).toHaveLength(2);
  });
});
