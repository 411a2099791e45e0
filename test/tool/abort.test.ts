import {
  Agent,
  defineTool,
  outcomeText,
  ToolInvocationContext,
  type ToolMiddleware,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const never = new Promise<never>(() => {});
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("an aborted call", () => {
  it("ends at once although its tool ignores the signal", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const tool = defineTool({ name: "hang", input: {}, call: () => never });
    const pending = new ToolSet([tool]).call("hang", {}, { signal: controller.signal });
    await pause(1);
    controller.abort(reason);
    const outcome = await pending;
    expect(outcome).toEqual({ status: "failed", kind: "aborted", error: reason });
    expect(outcomeText(outcome, "hang")).toBe('Tool "hang" was aborted.');
  });

  it("has the signal's own reason where none was given", async () => {
    const controller = new AbortController();
    const tool = defineTool({ name: "hang", input: {}, call: () => never });
    const pending = new ToolSet([tool]).call("hang", {}, { signal: controller.signal });
    await pause(1);
    controller.abort();
    expect(await pending).toMatchObject({ kind: "aborted", error: { name: "AbortError" } });
  });

  it("has never entered its tool where the signal was aborted before", async () => {
    const tool = recordingTool();
    const outcome = await new ToolSet([tool]).call("recording", {}, { signal: AbortSignal.abort("enough") });
    expect(outcome).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    expect(tool.calls).toEqual([]);
  });

  it("has not looked at its input where the signal was aborted before", async () => {
    let validations = 0;
    const input = z.object({}).refine(() => ++validations > 0);
    await new ToolSet([recordingTool({ input })]).call("recording", {}, { signal: AbortSignal.abort() });
    expect(validations).toBe(0);
  });

  it("reaches neither middleware nor tool when the abort comes while the input is validated", async () => {
    const controller = new AbortController();
    const input = z.object({}).refine(async () => {
      controller.abort("enough");
      await pause(1);
      return true;
    });
    let middlewareRuns = 0;
    const middleware: ToolMiddleware = (call, next) => {
      middlewareRuns++;
      return next(call);
    };
    const tool = recordingTool({ input });
    const tools = new ToolSet([tool], { middleware: [middleware] });
    const outcome = await tools.call("recording", {}, { signal: controller.signal });
    await pause(5);
    expect(outcome).toMatchObject({ kind: "aborted" });
    expect(tool.calls).toEqual([]);
    expect(middlewareRuns).toBe(0);
  });

  it("does not enter its tool when the abort comes while middleware waits", async () => {
    const controller = new AbortController();
    const tool = recordingTool();
    const middleware: ToolMiddleware = async (call, next) => {
      controller.abort("enough");
      await pause(1);
      return next(call);
    };
    const tools = new ToolSet([tool], { middleware: [middleware] });
    const outcome = await tools.call("recording", {}, { signal: controller.signal });
    await pause(5);
    expect(outcome).toMatchObject({ kind: "aborted" });
    expect(tool.calls).toEqual([]);
  });

  it("is aborted although its tool aborts it itself and returns", async () => {
    const controller = new AbortController();
    const call = () => {
      controller.abort("enough");
      return "done";
    };
    const tools = new ToolSet([defineTool({ name: "quit", input: {}, call })]);
    expect(await tools.call("quit", {}, { signal: controller.signal })).toMatchObject({ kind: "aborted" });
  });

  it("is aborted, not failed, where its tool rejects because of the abort", async () => {
    const controller = new AbortController();
    const tool = defineTool({
      name: "fetch",
      input: {},
      callWithExtensions: (_input, extensions) =>
        new Promise<never>((_resolve, reject) => {
          const { signal } = extensions.require(ToolInvocationContext);
          signal.addEventListener("abort", () => reject(new Error("cut off")));
        }),
    });
    const pending = new ToolSet([tool]).call("fetch", {}, { signal: controller.signal });
    await pause(1);
    controller.abort("enough");
    expect(await pending).toEqual({ status: "failed", kind: "aborted", error: "enough" });
  });

  it("leaves no unhandled rejection when its tool rejects later", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const controller = new AbortController();
    const call = async () => {
      await pause(10);
      throw new Error("too late");
    };
    const tools = new ToolSet([defineTool({ name: "late", input: {}, call })]);
    const pending = tools.call("late", {}, { signal: controller.signal });
    await pause(1);
    controller.abort("enough");
    await pending;
    await pause(20);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  it("does not touch a call beside it", async () => {
    const controller = new AbortController();
    let finish: (value: string) => void = () => {};
    const wait = defineTool({ name: "wait", input: {}, call: () => new Promise((resolve) => (finish = resolve)) });
    const tools = new ToolSet([wait, defineTool({ name: "hang", input: {}, call: () => never })]);
    const pending = [tools.call("hang", {}, { signal: controller.signal }), tools.call("wait", {})];
    await pause(1);
    controller.abort("enough");
    finish("done");
    expect(await Promise.all(pending)).toMatchObject([{ kind: "aborted" }, { status: "completed" }]);
  });
});

describe("the signal of a call", () => {
  it("belongs to the call alone", async () => {
    const { signal } = new AbortController();
    const tool = recordingTool();
    const tools = new ToolSet([tool]);
    await Promise.all([tools.call("recording", {}, { signal }), tools.call("recording", {}, { signal })]);
    const signals = tool.calls.map(({ invocation }) => invocation.signal);
    expect(new Set([signal, ...signals]).size).toBe(3);
  });

  it("is the same each time it is read", async () => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {});
    expect(tool.calls[0]?.invocation.signal).toBe(tool.calls[0]?.invocation.signal);
  });

  it("is there without a signal of the caller's", async () => {
    const tool = recordingTool({ result: ({ invocation }) => invocation.signal.aborted });
    expect(await new ToolSet([tool]).call("recording", {})).toEqual({ status: "completed", output: false });
  });

  it("aborts with the caller's reason", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const tool = recordingTool({
      result: ({ invocation }) =>
        new Promise((resolve) => invocation.signal.addEventListener("abort", () => resolve(invocation.signal.reason))),
    });
    const pending = new ToolSet([tool]).call("recording", {}, { signal: controller.signal });
    await pause(1);
    controller.abort(reason);
    await pending;
    expect(tool.calls[0]?.invocation.signal).toMatchObject({ aborted: true, reason });
  });

  it("is aborted already when it is first read after the abort", async () => {
    const controller = new AbortController();
    const tool = recordingTool({ result: () => never });
    const pending = new ToolSet([tool]).call("recording", {}, { signal: controller.signal });
    await pause(1);
    controller.abort("enough");
    await pending;
    expect(tool.calls[0]?.invocation.signal).toMatchObject({ aborted: true, reason: "enough" });
  });

  it("does not abort once the call has ended", async () => {
    const controller = new AbortController();
    const tool = recordingTool({ result: ({ invocation }) => void invocation.signal });
    await new ToolSet([tool]).call("recording", {}, { signal: controller.signal });
    controller.abort("enough");
    expect(tool.calls[0]?.invocation.signal.aborted).toBe(false);
  });
});

describe("the abort of an outer call", () => {
  it("reaches its nested calls before the outer call has ended", async () => {
    const controller = new AbortController();
    const ends: string[] = [];
    const leaf = recordingTool({
      name: "leaf",
      result: ({ invocation }) => {
        invocation.signal.addEventListener("abort", () => ends.push("leaf"));
        return never;
      },
    });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    const pending = new ToolSet([outer]).call("outer", {}, { signal: controller.signal });
    await pause(1);
    controller.abort("enough");
    await pending;
    ends.push("outer");
    expect(ends).toEqual(["leaf", "outer"]);
  });

  it("makes a nested call begun afterwards end at once", async () => {
    const controller = new AbortController();
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    let inner: unknown;
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        controller.abort("enough");
        inner = await leaves.callWithExtensions("leaf", {}, extensions);
      },
    });
    await new ToolSet([outer]).call("outer", {}, { signal: controller.signal });
    await pause(1);
    expect(inner).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    expect(leaf.calls).toEqual([]);
  });

  it("reaches a nested call that its outer call did not wait for, while the run goes on", async () => {
    const controller = new AbortController();
    const leaf = recordingTool({ name: "leaf", result: () => never });
    const leaves = new ToolSet([leaf]);
    const start = recordingTool({
      name: "start",
      result: ({ extensions }) => void leaves.callWithExtensions("leaf", {}, extensions),
    });
    const stop = defineTool({ name: "stop", input: {}, call: () => controller.abort("enough") });
    const turn = (toolName: string) => ({ toolCalls: [{ toolName, input: {} }] });
    const model = scriptedModel([turn("start"), turn("stop"), "Done."]);
    const agent = new Agent({ name: "support", model, tools: [start, stop] });
    await expect(agent.prompt("Go.").signal(controller.signal).run()).rejects.toBe("enough");
    expect(leaf.calls[0]?.invocation.signal.aborted).toBe(true);
  });

  it("is not caused by that of a nested call", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const call = () => {
      controller.abort();
      return never;
    };
    const leaves = new ToolSet([defineTool({ name: "leaf", input: {}, call })]);
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions, invocation }) => {
        const inner = await leaves.callWithExtensions("leaf", {}, extensions, { signal });
        return [inner.status === "failed" && inner.kind, invocation.signal.aborted];
      },
    });
    expect(await new ToolSet([outer]).call("outer", {})).toEqual({ status: "completed", output: ["aborted", false] });
  });
});
