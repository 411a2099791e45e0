import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  outcomeText,
  Runner,
  type ToolCall,
  ToolCallExtensions,
  ToolInvocationContext,
  type ToolMiddleware,
  type ToolOutcome,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();

describe("middleware", () => {
  it("runs around the tool, the first outermost", async () => {
    const lines: string[] = [];
    const note =
      (name: string): ToolMiddleware =>
      async (call, next) => {
        lines.push(`${name} before`);
        const outcome = await next(call);
        lines.push(`${name} after`);
        return outcome;
      };
    const tool = recordingTool({ result: () => lines.push("tool") });
    await new ToolSet([tool], { middleware: [note("first"), note("second")] }).call("recording", {});
    expect(lines).toEqual(["first before", "second before", "tool", "second after", "first after"]);
  });

  it("gets the tool, the input, the extensions and the invocation", async () => {
    const calls: ToolCall[] = [];
    const tool = recordingTool();
    const middleware: ToolMiddleware = (call, next) => {
      calls.push(call);
      return next(call);
    };
    await new ToolSet([tool], { middleware: [middleware] }).call("recording", { a: 1 });
    expect(calls).toHaveLength(1);
    expect(calls[0]?.tool).toBe(tool);
    expect(calls[0]?.input).toEqual({ a: 1 });
    expect(calls[0]?.extensions).toBe(tool.calls[0]?.extensions);
    expect(calls[0]?.invocation).toBe(tool.calls[0]?.invocation);
  });

  it("gets the validated input", async () => {
    const inputs: unknown[] = [];
    const tool = recordingTool({ input: z.object({ id: z.string().transform(Number) }) });
    const middleware: ToolMiddleware = (call, next) => {
      inputs.push(call.input);
      return next(call);
    };
    await new ToolSet([tool], { middleware: [middleware] }).call("recording", '{"id":"42"}');
    expect(inputs).toEqual([{ id: 42 }]);
  });

  it("is not run for a call that never reaches a tool", async () => {
    let runs = 0;
    const middleware: ToolMiddleware = (call, next) => {
      runs++;
      return next(call);
    };
    const tools: ToolSet<string> = new ToolSet([recordingTool({ requires: [Tenant] })], { middleware: [middleware] });
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Tenant, "t-7");
    await tools.callWithExtensions("unknown", {}, extensions);
    await tools.callWithExtensions("recording", "{broken", extensions);
    await tools.callWithExtensions("recording", {}, new ToolCallExtensions<string>());
    expect(runs).toBe(0);
  });

  it("hands the tool another input", async () => {
    const tool = recordingTool();
    const middleware: ToolMiddleware = (call, next) => next({ ...call, input: { a: 2 } });
    await new ToolSet([tool], { middleware: [middleware] }).call("recording", { a: 1 });
    expect(tool.calls[0]?.input).toEqual({ a: 2 });
  });

  it("hands the tool one extension more, beside the invocation", async () => {
    const tool = recordingTool();
    const middleware: ToolMiddleware = (call, next) =>
      next({ ...call, extensions: call.extensions.with(Tenant, "t-8") });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    const tools = new ToolSet([tool], { middleware: [middleware] });
    await tools.callWithExtensions("recording", {}, extensions, { toolCallId: "call_a" });
    expect(tool.calls[0]?.extensions.get(Tenant)).toBe("t-8");
    expect(tool.calls[0]?.invocation.toolCallId).toBe("call_a");
    expect(extensions.get(Tenant)).toBe("t-7");
  });

  it("cannot take the invocation away by handing on another map", async () => {
    const tool = recordingTool();
    const other = new ToolCallExtensions<string>();
    other.insert(Tenant, "t-8");
    const middleware: ToolMiddleware = (call, next) => next({ ...call, extensions: other });
    await new ToolSet([tool], { middleware: [middleware] }).call("recording", {}, { toolCallId: "call_a" });
    expect(tool.calls[0]?.invocation.toolCallId).toBe("call_a");
    expect(tool.calls[0]?.extensions.toJSON()).toEqual(["tenant", "tool-invocation"]);
    expect(other.has(ToolInvocationContext)).toBe(false);
  });

  it("cannot put the invocation of an earlier call in its place", async () => {
    const tool = recordingTool();
    let kept: ToolCallExtensions<string> | undefined;
    const middleware: ToolMiddleware = (call, next) => {
      kept ??= call.extensions;
      return next({ ...call, extensions: kept });
    };
    const tools = new ToolSet([tool], { middleware: [middleware] });
    await tools.call("recording", {}, { toolCallId: "first" });
    await tools.call("recording", {}, { toolCallId: "second" });
    expect(tool.calls.map(({ invocation }) => invocation.toolCallId)).toEqual(["first", "second"]);
  });

  it("hands the tool a map it cannot change", async () => {
    const tool = recordingTool();
    const middleware: ToolMiddleware = (call, next) => next({ ...call, extensions: call.extensions.clone() });
    await new ToolSet([tool], { middleware: [middleware] }).call("recording", {});
    expect(tool.calls[0]?.extensions.isReadOnly).toBe(true);
  });

  it("replaces the outcome", async () => {
    const middleware: ToolMiddleware = async (call, next) => {
      const outcome = await next(call);
      return outcome.status === "completed" ? { status: "completed", output: `${outcome.output}!` } : outcome;
    };
    const tools = new ToolSet([recordingTool()], { middleware: [middleware] });
    expect(await tools.call("recording", {})).toEqual({ status: "completed", output: "recorded!" });
  });

  it("answers in place of the tool", async () => {
    const tool = recordingTool();
    const middleware: ToolMiddleware = async () => ({ status: "completed", output: "cached" });
    const tools = new ToolSet([tool], { middleware: [middleware] });
    expect(await tools.call("recording", {})).toEqual({ status: "completed", output: "cached" });
    expect(tool.calls).toEqual([]);
  });

  it("enters the tool once for each next", async () => {
    let attempts = 0;
    const tool = recordingTool({
      result: () => {
        if (++attempts === 1) throw new Error("socket closed");
        return "done";
      },
    });
    const retry: ToolMiddleware = async (call, next) => {
      const first = await next(call);
      return first.status === "failed" ? next(call) : first;
    };
    const tools = new ToolSet([tool], { middleware: [retry] });
    expect(await tools.call("recording", {})).toEqual({ status: "completed", output: "done" });
    expect(tool.calls).toHaveLength(2);
  });

  it("gets a tool's failure as an outcome", async () => {
    const error = new Error("down");
    const outcomes: ToolOutcome[] = [];
    const middleware: ToolMiddleware = async (call, next) => {
      const outcome = await next(call);
      outcomes.push(outcome);
      return outcome;
    };
    const tool = defineTool({ name: "fail", input: {}, call: () => Promise.reject(error) });
    await new ToolSet([tool], { middleware: [middleware] }).call("fail", {});
    expect(outcomes).toEqual([{ status: "failed", kind: "error", error }]);
  });

  it("runs outside the tool: there is no current invocation", async () => {
    const seen: unknown[] = [];
    const middleware: ToolMiddleware = async (call, next) => {
      seen.push(currentToolInvocation());
      const outcome = await next(call);
      seen.push(currentToolInvocation());
      return outcome;
    };
    await new ToolSet([recordingTool()], { middleware: [middleware] }).call("recording", {});
    expect(seen).toEqual([undefined, undefined]);
  });

  it("of the set stays the same when the array it came in changes", async () => {
    const given: ToolMiddleware[] = [];
    const tools = new ToolSet([recordingTool()], { middleware: given });
    given.push(async () => ({ status: "completed", output: "late" }));
    expect(await tools.call("recording", {})).toEqual({ status: "completed", output: "recorded" });
  });

  it("of the runner runs around that of the set, for nested calls too", async () => {
    const lines: string[] = [];
    const note =
      (name: string): ToolMiddleware =>
      (call, next) => {
        lines.push(`${name}: ${call.tool.name}`);
        return next(call);
      };
    const leaves = new ToolSet([recordingTool({ name: "leaf" })], { middleware: [note("leaves")] });
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    const tools = new ToolSet([outer], { middleware: [note("set")] });
    const model = scriptedModel([{ toolCalls: [{ toolName: "outer", input: {} }] }, "Done."]);
    const agent = new Agent({ name: "support", model, tools });
    await new Runner({ middleware: [note("runner")] }).run(agent.prompt("Go."));
    expect(lines).toEqual(["runner: outer", "set: outer", "runner: leaf", "leaves: leaf"]);
  });
});

describe("middleware that fails", () => {
  const error = new Error("token=canary-9f3");

  it.each<[string, ToolMiddleware]>([
    ["rejects", () => Promise.reject(error)],
    [
      "throws before it gives a promise",
      () => {
        throw error;
      },
    ],
    [
      "throws after the tool",
      async (call, next) => {
        await next(call);
        throw error;
      },
    ],
  ])("fails the call with its error, and the model is not told: %s", async (_how, middleware) => {
    const outcome = await new ToolSet([recordingTool()], { middleware: [middleware] }).call("recording", {});
    expect(outcome).toEqual({ status: "failed", kind: "error", error });
    expect(outcomeText(outcome, "recording")).toBe('Tool "recording" failed.');
  });

  it("fails that call alone", async () => {
    const middleware: ToolMiddleware = async (call, next) => {
      if (call.invocation.index === 1) throw error;
      return next(call);
    };
    const call = { toolName: "recording", input: {} };
    const model = scriptedModel([{ toolCalls: [call, call, call] }, "Done."]);
    const tools = new ToolSet([recordingTool()], { middleware: [middleware] });
    const result = await new Agent({ name: "support", model, tools }).prompt("Go.").run();
    expect(result.output).toBe("Done.");
    expect(model.requests[1]?.messages.slice(-3)).toMatchObject([
      { text: "recorded", isError: false },
      { text: 'Tool "recording" failed.', isError: true },
      { text: "recorded", isError: false },
    ]);
  });

  it("fails the call when it forgets to return the outcome", async () => {
    const forgetful = async (call: ToolCall, next: (call: ToolCall) => Promise<unknown>): Promise<unknown> => {
      await next(call);
      return undefined;
    };
    const tools = new ToolSet([recordingTool()], { middleware: [forgetful as ToolMiddleware] });
    const message =
      "[invalid-argument] what a middleware returns must be a ToolOutcome, such as that of next(call); received undefined";
    expect(await tools.call("recording", {})).toMatchObject({ status: "failed", kind: "error", error: { message } });
  });

  it("does not end the run when it forgets to return the outcome", async () => {
    const forgetful = (async () => undefined) as unknown as ToolMiddleware;
    const model = scriptedModel([{ toolCalls: [{ toolName: "recording", input: {} }] }, "Done."]);
    const tools = new ToolSet([recordingTool()], { middleware: [forgetful] });
    const request = new Agent({ name: "support", model, tools }).prompt("Go.");
    expect(await request.on(() => {}).run()).toMatchObject({ output: "Done." });
  });

  it.each([
    ["a function", () => {}, "option middleware must be an array of functions; received a function"],
    ["an array with undefined", [undefined], "an entry of option middleware must be a function; received undefined"],
  ])("is refused where it is given: %s", (_what, middleware, message) => {
    expect(() => new ToolSet([], { middleware: middleware as never })).toThrow(`[invalid-argument] ${message}`);
  });
});
