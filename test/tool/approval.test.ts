import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
  wrapTool,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();
const none = new ToolCallExtensions();

describe("a call made by name", () => {
  it("fails with approval-required where its tool needs approval, without entering the tool", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    expect(await new ToolSet([pay]).call("pay", {})).toMatchObject({
      status: "failed",
      kind: "error",
      error: {
        code: "approval-required",
        details: { toolName: "pay" },
        message:
          '[approval-required] tool "pay" needs approval, which only a call that a run\'s model makes can wait for',
      },
    });
    expect(pay.calls).toEqual([]);
  });

  it.each([
    ["a predicate", (large: boolean) => large],
    ["an async predicate", async (large: boolean) => large],
  ])("fails so where %s says that this input needs it, and runs where it does not", async (_which, answer) => {
    const entered: number[] = [];
    const pay = defineTool({
      name: "pay",
      input: z.object({ cents: z.coerce.number() }),
      needsApproval: ({ cents }) => answer(cents > 1_000) as boolean,
      call: ({ cents }) => entered.push(cents),
    });
    const tools = new ToolSet([pay]);
    expect(await tools.call("pay", { cents: "1001" })).toMatchObject({ error: { code: "approval-required" } });
    expect(entered).toEqual([]);
    expect(await tools.call("pay", { cents: "1000" })).toMatchObject({ status: "completed" });
    expect(entered).toEqual([1_000]);
  });

  it("runs where needsApproval is false", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: false };
    expect(await new ToolSet([pay]).call("pay", {})).toMatchObject({ status: "completed" });
  });

  it("shows the predicate the validated input, the extensions and the call's invocation", async () => {
    const needsApproval = vi.fn((_input: object, extensions: ToolCallExtensions<"tenant" | "tool-invocation">) => {
      const { toolName, toolCallId, invocationKey } = extensions.require(ToolInvocationContext);
      return extensions.require(Tenant) !== "t-7" || `${toolName} ${toolCallId} ${invocationKey}`.includes("undefined");
    });
    const pay = defineTool({
      name: "pay",
      input: z.object({ cents: z.coerce.number() }),
      requires: [Tenant],
      needsApproval,
      callWithExtensions: () => "paid",
    });
    const given = new ToolCallExtensions().with(Tenant, "t-7");
    const options = { toolCallId: "call_a", sessionKey: "chat-7" };
    const outcome = await new ToolSet([pay]).callWithExtensions("pay", { cents: "5" }, given, options);
    expect(outcome).toEqual({ status: "completed", output: "paid" });
    expect(needsApproval.mock.calls).toEqual([[{ cents: 5 }, expect.anything()]]);
  });

  it("fails for its input, without a question, where that is not valid", async () => {
    const needsApproval = vi.fn(() => true);
    const pay = { ...recordingTool({ name: "pay", input: z.object({ cents: z.number() }) }), needsApproval };
    expect(await new ToolSet([pay]).call("pay", { cents: "many" })).toMatchObject({ kind: "invalid-input" });
    expect(needsApproval).not.toHaveBeenCalled();
  });

  it("lacks an extension first and is not asked about: the predicate relies on what the tool requires", async () => {
    const asked = vi.fn();
    const pay = {
      ...recordingTool({ name: "pay", requires: [Tenant] }),
      needsApproval: (_input: object, extensions: ToolCallExtensions<"tenant">) => {
        asked();
        return extensions.require(Tenant) === "t-7";
      },
    };
    const tools: ToolSet<string> = new ToolSet([pay]);
    const outcome = await tools.callWithExtensions("pay", {}, new ToolCallExtensions<string>());
    expect(outcome).toMatchObject({ kind: "missing-extension", error: { details: { missing: ["tenant"] } } });
    expect(asked).not.toHaveBeenCalled();
  });

  it("sees the extensions as they were when it was made, however long the question takes", async () => {
    const extensions = new ToolCallExtensions<string>().with(Tenant, "t-7");
    const owned = extensions.clone();
    const seen: unknown[] = [];
    const pay = {
      ...recordingTool({ name: "pay", result: (call) => seen.push(call.extensions.get(Tenant)) }),
      needsApproval: async (_input: object, given: ToolCallExtensions<never>) => {
        await sleep(2);
        return seen.push(given.get(Tenant)) === 0;
      },
    };
    const call = new ToolSet([pay]).callWithExtensions("pay", {}, owned);
    owned.insert(Tenant, "t-8");
    await call;
    expect(seen).toEqual(["t-7", "t-7"]);
  });

  it("is aborted while the question is open", async () => {
    const controller = new AbortController();
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: () => new Promise<boolean>(() => {}) };
    const call = new ToolSet([pay]).callWithExtensions("pay", {}, none, { signal: controller.signal });
    setTimeout(() => controller.abort("enough"), 2);
    const outcome = await Promise.race([call, sleep(500, "still open")]);
    expect(outcome).toEqual({ status: "failed", kind: "aborted", error: "enough" });
  });

  it("inside another tool fails alone, with one end", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const inside = new ToolSet([pay]);
    const outcomes: unknown[] = [];
    const order = defineTool({
      name: "order",
      input: { type: "object" },
      callWithExtensions: async (_input, extensions) => {
        outcomes.push(await inside.callWithExtensions("pay", {}, extensions));
        return "ordered without paying";
      },
    });
    const model = scriptedModel([{ toolCalls: [{ toolName: "order", input: {} }] }, "Done."]);
    const events: RunEvent[] = [];
    const request = new Agent({ name: "a", model, tools: [order] }).prompt("x").on((event) => events.push(event));
    expect(await request.run()).toMatchObject({ status: "completed", output: "Done." });
    expect(outcomes).toMatchObject([{ error: { code: "approval-required" } }]);
    expect(events.filter((event) => "invocation" in event)).toMatchObject([
      { type: "tool-requested", invocation: { toolName: "order" } },
      { type: "tool-requested", invocation: { toolName: "pay" } },
      { type: "tool-failed", kind: "error", invocation: { toolName: "pay" } },
      { type: "tool-completed", invocation: { toolName: "order" } },
    ]);
    expect(pay.calls).toEqual([]);
  });
});

describe("a predicate that fails", () => {
  const error = new Error("the policy service is down");
  it.each([
    [
      "throws",
      () => {
        throw error;
      },
    ],
    ["rejects", () => Promise.reject(error)],
  ])("and %s fails the call with its error, without entering the tool", async (_how, needsApproval) => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval };
    const outcome = await new ToolSet([pay]).call("pay", {});
    expect(outcome).toMatchObject({ status: "failed", kind: "error" });
    expect(outcome.status === "failed" && outcome.error).toBe(error);
    expect(pay.calls).toEqual([]);
  });
});

describe("a predicate that makes calls itself", () => {
  it("gives them other ids and keys than the tool's own calls get", async () => {
    const inside = recordingTool({ name: "inside" });
    const tools = new ToolSet([inside]);
    const pay = defineTool({
      name: "pay",
      input: { type: "object" },
      needsApproval: async (_input, extensions) => {
        await tools.callWithExtensions("inside", { by: "predicate" }, extensions);
        return false;
      },
      callWithExtensions: async (_input, extensions) => {
        await tools.callWithExtensions("inside", { by: "tool" }, extensions);
      },
    });
    await new ToolSet([pay]).callWithExtensions("pay", {}, none, { sessionKey: "chat-7" });
    expect(inside.calls.map(({ input }) => input)).toEqual([{ by: "predicate" }, { by: "tool" }]);
    expect(new Set(inside.calls.map(({ invocation }) => invocation.invocationKey)).size).toBe(2);
  });

  it("may ask another agent with the extensions it is handed", async () => {
    const judge = new Agent({ name: "judge", model: scriptedModel(["harmless"]) });
    const pay = defineTool({
      name: "pay",
      input: { type: "object" },
      needsApproval: async (_input, extensions) =>
        (await judge.prompt("Is it harmless?").toolExtensions(extensions).run()).output !== "harmless",
      call: () => "paid",
    });
    expect(await new ToolSet([pay]).call("pay", {})).toEqual({ status: "completed", output: "paid" });
  });
});

describe("the rules of a tool", () => {
  const rules = { needsApproval: true, retries: { max: 1, minDelayMs: 0 }, idempotent: true };
  const define = (changes: object) =>
    defineTool({ name: "pay", input: { type: "object" }, call: () => "paid", ...changes });

  it("are on the tool that defineTool makes", () => {
    expect(define(rules)).toMatchObject(rules);
  });

  it("are kept by wrapTool", () => {
    const wrapped = wrapTool(define(rules), {
      name: "pay_twice",
      callWithExtensions: (input, extensions, next) => next(input, extensions),
    });
    expect(wrapped).toMatchObject({ name: "pay_twice", ...rules });
  });

  it("hold for a wrapped tool: it needs the approval and is tried again", async () => {
    const attempts: number[] = [];
    const flaky = defineTool({
      name: "pay",
      input: z.object({ cents: z.number() }),
      needsApproval: ({ cents }) => cents > 1_000,
      retries: { max: 1, minDelayMs: 0 },
      callWithExtensions: (_input, extensions) => {
        if (attempts.push(extensions.require(ToolInvocationContext).attempt) === 1) throw new Error("socket closed");
        return "paid";
      },
    });
    const wrapped = wrapTool(flaky, { callWithExtensions: (input, extensions, next) => next(input, extensions) });
    const tools = new ToolSet([wrapped]);
    expect(await tools.call("pay", { cents: 1_001 })).toMatchObject({ error: { code: "approval-required" } });
    expect(await tools.call("pay", { cents: 1 })).toEqual({ status: "completed", output: "paid" });
    expect(attempts).toEqual([1, 2]);
  });

  it.each(["yes", 1, null, {}])("refuse %j for needsApproval by the tool's name", (needsApproval) => {
    expect(() => define({ needsApproval })).toThrow(
      /^\[invalid-argument\] needsApproval of tool "pay" must be a boolean or a function; received /,
    );
    const byHand = { ...recordingTool({ name: "pay" }), needsApproval: needsApproval as boolean };
    expect(() => new ToolSet([byHand])).toThrow(/^\[invalid-argument\] needsApproval of tool "pay" must be/);
  });

  it.each(["yes", 1, null, {}])("refuse %j for idempotent by the tool's name", (idempotent) => {
    expect(() => define({ idempotent })).toThrow(
      /^\[invalid-argument\] idempotent of tool "pay" must be a boolean; received /,
    );
  });
});

it("the question's signal ends with the question: what the call is aborted for later is not its business", async () => {
  const controller = new AbortController();
  const signals: AbortSignal[] = [];
  const pay = defineTool({
    name: "pay",
    input: { type: "object" },
    needsApproval: (_input, extensions) => {
      signals.push(extensions.require(ToolInvocationContext).signal);
      return false;
    },
    callWithExtensions: (_input, extensions) => {
      signals.push(extensions.require(ToolInvocationContext).signal);
      controller.abort("enough");
      return "paid";
    },
  });
  await new ToolSet([pay]).call("pay", {}, { signal: controller.signal });
  expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
});

it("the question of another framework's loop is answered with no for a tool without approval, and for none at all", async () => {
  const tools = new ToolSet([
    recordingTool({ name: "ping" }),
    { ...recordingTool({ name: "pong" }), needsApproval: false },
  ]);
  const answers = ["ping", "pong", "gone"].map((name) => tools["~asksApproval"](name, {}, none, {}));
  expect(await Promise.all(answers)).toEqual([false, false, false]);
});
