import {
  Agent,
  currentToolInvocation,
  defineTool,
  type RunEvent,
  ToolCallExtensions,
  type ToolEvent,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";

const KEY = `ik1_${"0".repeat(32)}`;
const none = new ToolCallExtensions();

const identity = defineTool({
  name: "identity",
  input: {},
  callWithExtensions: (_input, extensions) => {
    const { toolCallId, providerToolCallId, invocationKey, isRemote, runId } =
      extensions.require(ToolInvocationContext);
    return { toolCallId, providerToolCallId, invocationKey, isRemote, runId };
  },
});
const outer = defineTool({
  name: "outer",
  input: {},
  callWithExtensions: async (_input, extensions) => {
    const outcome = await new ToolSet([identity]).callWithExtensions("identity", {}, extensions);
    return outcome.status === "completed" ? outcome.output : outcome;
  },
});
const tools = new ToolSet([identity, outer]);
const outputOf = async (name: string, options: Parameters<typeof tools.callWithExtensions>[3]) => {
  const outcome = await tools.callWithExtensions(name, {}, none, options);
  return outcome.status === "completed" ? outcome.output : outcome;
};

describe("a call whose identity another process made", () => {
  it("takes id and key as they are and says so", async () => {
    expect(await outputOf("identity", { remote: { toolCallId: "call_abc", invocationKey: KEY } })).toMatchObject({
      toolCallId: "call_abc",
      providerToolCallId: undefined,
      invocationKey: KEY,
      isRemote: true,
    });
  });

  it("keeps a key of its own session where only an id was sent", async () => {
    const output = await outputOf("identity", { remote: { toolCallId: "call_abc" }, sessionKey: "s" });
    const local = await outputOf("identity", { toolCallId: "call_abc", sessionKey: "s" });
    expect(output).toMatchObject({ isRemote: true });
    expect(output).toHaveProperty("invocationKey", (local as { readonly invocationKey: string }).invocationKey);
  });

  it("gives the calls inside it the same ids and keys whenever it is sent again", async () => {
    const remote = { toolCallId: "call_abc", invocationKey: KEY };
    const [first, second] = [await outputOf("outer", { remote }), await outputOf("outer", { remote })];
    expect(first).toEqual(second);
    // Its key follows from the client's word, so it is that word, too.
    expect(first).toMatchObject({ isRemote: true, invocationKey: expect.stringMatching(/^ik1_/) });
    expect(first).not.toMatchObject({ invocationKey: KEY });
  });

  it("is not remote without one", async () => {
    expect(await outputOf("identity", {})).toMatchObject({ isRemote: false, invocationKey: undefined });
  });

  it("may leave the id out, which then follows from the key", async () => {
    const remote = { toolCallId: undefined, invocationKey: KEY };
    const output = await outputOf("identity", { remote });
    // The literals were computed once from the recipe, with node:crypto: saved keys follow from them.
    expect(output).toMatchObject({
      invocationKey: KEY,
      isRemote: true,
      toolCallId: "5UzhRjqa3",
      runId: "run_e88k236ep928gemd3t4s4b73o4pppdar",
    });
    expect(await outputOf("identity", { remote })).toEqual(output);
  });

  it.each([
    [{ toolCallId: "" }, "toolCallId", "an empty string"],
    [{ invocationKey: "" }, "invocationKey", "an empty string"],
    [{ invocationKey: 7 as never }, "invocationKey", "7"],
  ])("refuses %o", async (remote, field, received) => {
    await expect(outputOf("identity", { remote })).rejects.toThrow(
      `[invalid-argument] option remote.${field} must be a non-empty string; received ${received}`,
    );
  });
});

describe("the listener of a call", () => {
  const types = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

  it("hears of the call, of nested calls and of a sub-agent's calls, and of nothing else of its run", async () => {
    const model = scriptedModel([{ toolCalls: [{ toolName: "identity", input: {} }] }, "done"]);
    const helper = new Agent({ name: "helper", model, tools: [identity] }).asTool({ name: "helper" });
    const events: ToolEvent[] = [];
    const listener = (event: ToolEvent) => events.push(event);
    await new ToolSet([helper]).callWithExtensions("helper", { prompt: "x" }, none, { listener });
    expect(events.map(({ type, invocation }) => [type, invocation.toolName])).toEqual([
      ["tool-requested", "helper"],
      ["tool-requested", "identity"],
      ["tool-completed", "identity"],
      ["tool-completed", "helper"],
    ]);
    events.length = 0;
    await tools.callWithExtensions("outer", {}, none, { listener });
    expect(types(events)).toEqual(["tool-requested", "tool-requested", "tool-completed", "tool-completed"]);
  });

  it("hears beside the listeners of the run inside which the call is made, which still counts its usage", async () => {
    const usage = { inputTokens: 1, outputTokens: 1 };
    const inner = new Agent({ name: "inner", model: scriptedModel([{ text: "ok", usage }]) }).asTool({ name: "inner" });
    const heard: ToolEvent[] = [];
    const byName = defineTool({
      name: "by_name",
      input: {},
      callWithExtensions: async (_input, extensions) => {
        const options = { listener: (event: ToolEvent) => heard.push(event) };
        await new ToolSet([inner]).callWithExtensions("inner", { prompt: "x" }, extensions, options);
      },
    });
    const model = scriptedModel([
      { toolCalls: [{ toolName: "by_name", input: {} }], usage },
      { text: "done", usage },
    ]);
    const events: RunEvent[] = [];
    const request = new Agent({ name: "a", model, tools: [byName] }).prompt("x").on((event) => events.push(event));
    const result = await request.run();
    expect(types(heard)).toEqual(["tool-requested", "tool-completed"]);
    expect(types(events).filter((type) => type === "run-started")).toHaveLength(2);
    expect(types(events).filter((type) => type === "tool-completed")).toHaveLength(2);
    expect(result.usage).toEqual({ inputTokens: 3, outputTokens: 3 });
  });

  it("cannot fail the call, and is outside of it", async () => {
    const report = vi.spyOn(console, "error").mockImplementation(() => undefined);
    let seen: unknown = "not called";
    const listener = () => {
      seen = currentToolInvocation();
      throw new Error("listener");
    };
    expect(await outputOf("identity", { listener })).toMatchObject({ isRemote: false });
    expect(seen).toBeUndefined();
    expect(report).toHaveBeenCalledTimes(2);
    report.mockRestore();
  });

  it("is refused where it is not a function", async () => {
    await expect(outputOf("identity", { listener: "x" as never })).rejects.toThrow(
      "[invalid-argument] option listener must be a function; received a string",
    );
  });
});
