import { defineTool, extensionToken, outcomeText, ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";

const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<string>();

describe("a ToolSet", () => {
  it("finds a tool by its name", () => {
    const ping = recordingTool({ name: "ping" });
    const tools = new ToolSet([ping, recordingTool({ name: "pong" })]);
    expect(tools.get("ping")).toBe(ping);
    expect(tools.get("pang")).toBeUndefined();
    expect(tools.size).toBe(2);
  });

  it.each(["constructor", "toString", "__proto__"])("does not find a tool named %s that it was not given", (name) => {
    expect(new ToolSet([recordingTool({ name: "ping" })]).get(name)).toBeUndefined();
  });

  it("may be empty", () => {
    expect(new ToolSet([])).toMatchObject({ size: 0, definitions: [], requires: [] });
  });

  it("tells the model of the tools in the order they were given", () => {
    const tools = new ToolSet(["b", "a", "c"].map((name) => recordingTool({ name })));
    expect(tools.definitions.map(({ name }) => name)).toEqual(["b", "a", "c"]);
  });

  it("tells the model each tool's description", () => {
    const ping = defineTool({ name: "ping", description: "Answers.", input: { type: "object" }, call: () => "pong" });
    expect(new ToolSet([ping]).definitions).toEqual([
      { name: "ping", description: "Answers.", inputSchema: { type: "object" } },
    ]);
  });

  it("lists each token that some tool needs once", () => {
    const tools = new ToolSet([
      recordingTool({ name: "a", requires: [Tenant] }),
      recordingTool({ name: "b" }),
      recordingTool({ name: "c", requires: [Locale, Tenant] }),
    ]);
    expect(tools.requires).toEqual([Tenant, Locale]);
  });

  it("keeps its tools when the array they came in changes", () => {
    const given = [recordingTool({ name: "ping" })];
    const tools = new ToolSet(given);
    given.push(recordingTool({ name: "pong" }));
    expect(tools.size).toBe(1);
    expect(tools.get("pong")).toBeUndefined();
  });

  it.each(["ping", "__proto__"])("refuses two tools named %s", (name) => {
    expect(() => new ToolSet([recordingTool({ name }), recordingTool({ name })])).toThrow(
      expect.objectContaining({
        message: `[duplicate-tool] two tools are named "${name}"; the model could not tell them apart: rename one`,
        details: { toolName: name },
      }),
    );
  });

  it("tells names apart by case", () => {
    expect(new ToolSet([recordingTool({ name: "ping" }), recordingTool({ name: "Ping" })]).size).toBe(2);
  });

  it.each(["__proto__", "constructor", "toString"])("calls a tool named %s like any other", async (name) => {
    const tools = new ToolSet([recordingTool({ name, result: () => "mine" })]);
    expect(await tools.call(name, {})).toEqual({ status: "completed", output: "mine" });
    expect(tools.definitions[0]?.name).toBe(name);
  });

  it.each([
    ["undefined", undefined],
    ["an object", { ping: {} }],
    ["a Map", new Map()],
  ])("refuses tools that are no array: %s", (received, tools) => {
    expect(() => new ToolSet(tools as never)).toThrow(
      `[invalid-argument] the tools of a ToolSet must be an array of tools; received ${received}`,
    );
  });
});

// Field case H24: openai/openai-node PR #2333, "harden runTools against inherited function names", 2026-08-14.
describe("a name that no tool has", () => {
  it.each(["constructor", "toString", "hasOwnProperty", "__proto__", "then", ""])(
    "is an unknown tool: %j",
    async (name) => {
      const tools = new ToolSet([recordingTool({ name: "ping" })]);
      const outcome = await tools.call(name, { __proto__: { polluted: true } });
      expect(outcome).toMatchObject({
        status: "failed",
        kind: "unknown-tool",
        error: { code: "unknown-tool", details: { toolName: name, available: ["ping"] } },
      });
      expect(outcomeText(outcome, name)).toBe(`There is no tool "${name}". Available: ping.`);
      expect("polluted" in {}).toBe(false);
    },
  );

  it("is unknown although a tool is named __proto__", async () => {
    const tools = new ToolSet([recordingTool({ name: "__proto__" })]);
    expect(await tools.call("call", {})).toMatchObject({ status: "failed", kind: "unknown-tool" });
  });

  it("is unknown before anything is asked of the extensions or the input", async () => {
    const tools: ToolSet<string> = new ToolSet([recordingTool({ name: "ping", requires: [Tenant] })]);
    const outcome = await tools.callWithExtensions("pong", "{broken", new ToolCallExtensions<string>());
    expect(outcome).toMatchObject({ status: "failed", kind: "unknown-tool" });
  });
});

describe("a call", () => {
  it("with call() has an empty map but for the invocation", async () => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {});
    expect(tool.calls[0]?.extensions.toJSON()).toEqual(["tool-invocation"]);
  });

  it("with callWithExtensions() has the caller's values by reference", async () => {
    const Session = extensionToken("session").of<object>();
    const session = { id: "s-1" };
    const tool = recordingTool();
    const extensions = new ToolCallExtensions().with(Session, session);
    await new ToolSet([tool]).callWithExtensions("recording", {}, extensions);
    expect(tool.calls[0]?.extensions.get(Session)).toBe(session);
  });

  it("has the invocation of a call outside a run", async () => {
    const tool = recordingTool({ name: "ping" });
    await new ToolSet([tool]).call("ping", {});
    expect(tool.calls[0]?.invocation).toMatchObject({
      toolCallId: expect.stringMatching(/^[a-zA-Z0-9]{9}$/),
      providerToolCallId: undefined,
      toolName: "ping",
      invocationKey: undefined,
      sessionKey: undefined,
      runId: expect.stringMatching(/^run_[0-9A-Za-z]{22}$/),
      agentName: undefined,
      turn: 1,
      index: 0,
      batchSize: 1,
      attempt: 1,
      parent: undefined,
    });
  });

  it("is a run of its own each time", async () => {
    const tool = recordingTool();
    const tools = new ToolSet([tool]);
    await Promise.all([tools.call("recording", {}), tools.call("recording", {})]);
    expect(tool.calls[0]?.invocation.runId).not.toBe(tool.calls[1]?.invocation.runId);
  });

  it("takes the id it is given", async () => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {}, { toolCallId: "call_abc" });
    expect(tool.calls[0]?.invocation).toMatchObject({ toolCallId: "call_abc", providerToolCallId: "call_abc" });
  });

  it("has an id although the one it is given is empty", async () => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {}, { toolCallId: "" });
    expect(tool.calls[0]?.invocation.toolCallId).not.toBe("");
    expect(tool.calls[0]?.invocation.providerToolCallId).toBe("");
  });

  it("does not see what the caller inserts once it has begun", async () => {
    const tool = defineTool({
      name: "slow",
      input: {},
      callWithExtensions: async (_input, extensions) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return [extensions.get(Tenant), extensions.has(Locale)];
      },
    });
    const extensions = new ToolCallExtensions();
    extensions.insert(Tenant, "t-7");
    const pending = new ToolSet([tool]).callWithExtensions("slow", {}, extensions);
    extensions.insert(Tenant, "t-8");
    extensions.insert(Locale, "de");
    expect(await pending).toEqual({ status: "completed", output: ["t-7", false] });
  });

  it("leaves the caller's map as it was", async () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    await new ToolSet([recordingTool()]).callWithExtensions("recording", {}, extensions);
    expect(extensions.toJSON()).toEqual(["tenant"]);
    expect(extensions.isReadOnly).toBe(false);
  });

  it("cannot change its map", async () => {
    const tool = defineTool({
      name: "greedy",
      input: {},
      callWithExtensions: (_input, extensions) => extensions.insert(Tenant, "t-8"),
    });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    const outcome = await new ToolSet([tool]).callWithExtensions("greedy", {}, extensions);
    expect(outcome).toMatchObject({ status: "failed", kind: "error", error: { code: "read-only" } });
  });

  it.each([
    ["undefined", undefined],
    ["an object", { tenant: "canary-9f3" }],
    ["a Map", new Map()],
  ])("rejects extensions that are no ToolCallExtensions: %s", async (received, extensions) => {
    const tools = new ToolSet([recordingTool()]);
    await expect(tools.callWithExtensions("recording", {}, extensions as never)).rejects.toThrow(
      `[invalid-argument] the extensions of a call must be a ToolCallExtensions; received ${received}`,
    );
  });
});

it("rejects instead of throwing, whatever is wrong with the arguments of a call", async () => {
  const set = new ToolSet([]);
  // @ts-expect-error no options object
  await expect(set.call("echo", {}, null)).rejects.toThrow(TypeError);
  await expect(set.call("echo", {}, { sessionKey: "" })).rejects.toThrow(
    "[invalid-argument] the session key must be a non-empty string; received an empty string",
  );
});

it("writes nothing to the console where nobody listens", async () => {
  const written = vi.spyOn(console, "error");
  await new ToolSet([recordingTool()]).call("recording", {});
  expect(written).not.toHaveBeenCalled();
  written.mockRestore();
});
