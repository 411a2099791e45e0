import {
  Agent,
  extensionToken,
  type RunEvent,
  Runner,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<{ readonly id: string }>();
const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<string | undefined>();

/** Calls the tool once and then answers. */
function calling<Needs extends string>(
  name: string,
  tool: Tool<never, unknown, Needs>,
  input: unknown = { prompt: "x" },
) {
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [{ toolName: tool.name, input }] } : `${name} done.`,
  );
  return new Agent({ name, model, tools: [tool] });
}

describe("extensions of a sub-agent", () => {
  const session = { id: "s-1" };
  const given = new ToolCallExtensions().with(Session, session).with(Tenant, "t-7").with(Locale, undefined);

  /** The ids a probe inside of the sub-agent finds, besides its own invocation. */
  async function seenThrough(asTool: (inner: Agent) => Tool<never, unknown, never>) {
    const probe = recordingTool({ name: "probe" });
    await calling("outer", asTool(calling("inner", probe)))
      .prompt("x")
      .toolExtensions(given)
      .run();
    const [call] = probe.calls;
    if (call === undefined) throw new Error("the probe was not reached");
    return { ids: call.extensions.toJSON().filter((id) => id !== "tool-invocation"), extensions: call.extensions };
  }

  it("are the caller's when nothing is said", async () => {
    const { ids, extensions } = await seenThrough((inner) => inner.asTool({ name: "ask" }));
    expect(ids).toEqual(["session", "tenant", "locale"]);
    expect(extensions.get(Session)).toBe(session);
  });

  it('are the caller\'s when "inherit" is said', async () => {
    const { ids } = await seenThrough((inner) => inner.asTool({ name: "ask", extensions: "inherit" }));
    expect(ids).toEqual(["session", "tenant", "locale"]);
  });

  it('are none when "none" is said', async () => {
    const { ids } = await seenThrough((inner) => inner.asTool({ name: "ask", extensions: "none" }));
    expect(ids).toEqual([]);
  });

  it("are those of a list that the caller has, by identity", async () => {
    const Absent = extensionToken("absent").of<string>();
    const { ids, extensions } = await seenThrough((inner) =>
      inner.asTool({ name: "ask", extensions: [Session, Locale, Absent] }),
    );
    expect(ids).toEqual(["session", "locale"]);
    expect(extensions.get(Session)).toBe(session);
    expect(extensions.has(Locale)).toBe(true);
    expect(extensions.has(Absent)).toBe(false);
  });

  it("of an empty list are none", async () => {
    expect((await seenThrough((inner) => inner.asTool({ name: "ask", extensions: [] }))).ids).toEqual([]);
  });

  it("do not turn a default into an entry through a list", async () => {
    const Limit = extensionToken("limit").of<number>({ default: () => 10 });
    const { ids, extensions } = await seenThrough((inner) => inner.asTool({ name: "ask", extensions: [Limit] }));
    expect(ids).toEqual([]);
    expect(extensions.get(Limit)).toBe(10);
  });

  it("are what a function makes of the caller's snapshot", async () => {
    const handed: ToolCallExtensions<"tool-invocation">[] = [];
    const { ids, extensions } = await seenThrough((inner) =>
      inner.asTool({
        name: "ask",
        extensions: (caller) => {
          handed.push(caller);
          return new ToolCallExtensions().with(Tenant, `${caller.get(Tenant)}/child`);
        },
      }),
    );
    expect(handed[0]?.isReadOnly).toBe(true);
    expect(handed[0]?.get(Session)).toBe(session);
    expect(handed[0]?.require(ToolInvocationContext).toolName).toBe("ask");
    expect(ids).toEqual(["tenant"]);
    expect(extensions.get(Tenant)).toBe("t-7/child");
  });

  it("stay parented whatever a function returns", async () => {
    const { extensions } = await seenThrough((inner) =>
      inner.asTool({ name: "ask", extensions: () => new ToolCallExtensions() }),
    );
    expect(extensions.require(ToolInvocationContext).parent?.toolName).toBe("ask");
  });

  it("cannot be changed by a function for the caller's later calls", async () => {
    const probe = recordingTool({ name: "probe" });
    const ask = calling("inner", probe).asTool({
      name: "ask",
      extensions: (caller) => caller.with(Tenant, "t-8"),
    });
    const after = recordingTool({ name: "after" });
    const script = ["ask", "after"].map((toolName) => ({ toolCalls: [{ toolName, input: { prompt: "x" } }] }));
    const outer = new Agent({ name: "outer", model: scriptedModel([...script, "Done."]), tools: [ask, after] });
    await outer.prompt("x").toolExtensions(given).run();
    expect(probe.calls[0]?.extensions.get(Tenant)).toBe("t-8");
    expect(after.calls[0]?.extensions.get(Tenant)).toBe("t-7");
  });

  it("include what the runner's middleware added to the call", async () => {
    const probe = recordingTool({ name: "probe" });
    const outer = calling("outer", calling("inner", probe).asTool({ name: "ask" }));
    const runner = new Runner({
      middleware: [(call, next) => next({ ...call, extensions: call.extensions.with(Locale, call.tool.name) })],
    });
    await runner.run(outer.prompt("x"));
    expect(probe.calls[0]?.extensions.get(Locale)).toBe("probe");
    expect(probe.calls[0]?.invocation.parent?.toolName).toBe("ask");
  });
});

describe("a filter that goes wrong", () => {
  it("by throwing fails the one call, and the model does not read why", async () => {
    const ask = calling("inner", recordingTool({ name: "probe" })).asTool({
      name: "ask",
      extensions: () => {
        throw new Error("canary");
      },
    });
    const { messages, output } = await calling("outer", ask).prompt("x").run();
    expect(messages[2]).toMatchObject({ isError: true, text: 'Tool "ask" failed.' });
    expect(output).toBe("outer done.");
  });

  it("by leaving out what the sub-agent needs rejects the outer run, naming token and sub-agent", async () => {
    const probe = recordingTool({ name: "probe", requires: [Tenant] });
    const inner = calling("inner", probe);
    const ask = inner.asTool({ name: "ask", extensions: () => new ToolCallExtensions<string>() });
    const run = calling("outer", ask).prompt("x").run();
    await expect(run).rejects.toMatchObject({ code: "missing-extension", details: { missing: ["tenant"] } });
    await expect(run).rejects.toThrow('agent "inner"');
    expect(probe.calls).toEqual([]);
  });

  it.each([
    ["nothing", () => undefined],
    ["a promise", async () => new ToolCallExtensions()],
  ])("by returning %s fails the call with an error that names the sub-agent", async (_what, filter) => {
    const inner = calling("inner", recordingTool({ name: "probe" }));
    const ask = inner.asTool({ name: "ask", extensions: filter as never });
    const events: RunEvent[] = [];
    await calling("outer", ask)
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const failure = events.find((event) => event.type === "tool-failed");
    expect(failure).toMatchObject({ invocation: { toolName: "ask" }, error: { code: "invalid-argument" } });
    expect(failure).toHaveProperty(
      "error.message",
      expect.stringMatching(
        /^\[invalid-argument\] what the extensions filter of sub-agent "ask" returns must be a ToolCallExtensions; received (undefined|a Promise)$/,
      ),
    );
  });

  it("by being no filter is refused where the tool is made", () => {
    const inner = calling("inner", recordingTool({ name: "probe" }));
    const message = 'option extensions of sub-agent "ask" must be "inherit", "none", tokens or a function';
    expect(() => inner.asTool({ name: "ask", extensions: "all" as never })).toThrow(
      `[invalid-argument] ${message}; received a string`,
    );
    expect(() => inner.asTool({ name: "ask", extensions: new Map() as never })).toThrow(`${message}; received a Map`);
  });
});

describe("the input of a sub-agent's tool", () => {
  it("is a prompt and nothing else, for the model that calls it", () => {
    const ask = calling("inner", recordingTool({ name: "probe" })).asTool({ name: "ask" });
    const properties = { prompt: { type: "string" } };
    expect(calling("outer", ask).tools.definitions[0]?.inputSchema).toEqual({
      type: "object",
      properties,
      required: ["prompt"],
      additionalProperties: false,
    });
  });
});

describe("needs of a sub-agent's tool", () => {
  const inner = calling("inner", recordingTool({ name: "probe", requires: [Session, Tenant] }));

  it("are the sub-agent's where it inherits or takes a list", () => {
    expect(inner.asTool({ name: "ask" }).requires).toEqual([Session, Tenant]);
    expect(inner.asTool({ name: "ask", extensions: [Session, Tenant, Locale] }).requires).toEqual([Session, Tenant]);
  });

  it("are none where it is given none", () => {
    expect(inner.asTool({ name: "ask", extensions: "none" } as never).requires).toEqual([]);
  });

  it("are what a function declares to read", () => {
    const ask = inner.asTool({
      name: "ask",
      requires: [Session],
      extensions: (caller) => new ToolCallExtensions().with(Session, caller.require(Session)).with(Tenant, "t-7"),
    });
    expect(ask.requires).toEqual([Session]);
  });

  it("are checked before the outer model is asked", async () => {
    const outer = calling("outer", inner.asTool({ name: "ask" }));
    const run = outer.prompt("x").toolExtensions(new ToolCallExtensions<string>().with(Tenant, "t-7")).run();
    await expect(run).rejects.toMatchObject({ code: "missing-extension", details: { missing: ["session"] } });
    await expect(run).rejects.toThrow('agent "outer"');
  });
});

describe("a sub-agent's tool", () => {
  it("is shown to the outer model as taking one prompt", () => {
    const ask = calling("inner", recordingTool()).asTool({ name: "ask", description: "Asks the inner agent." });
    expect(calling("outer", ask).tools.definitions).toEqual([
      {
        name: "ask",
        description: "Asks the inner agent.",
        inputSchema: {
          type: "object",
          properties: { prompt: { type: "string" } },
          required: ["prompt"],
          additionalProperties: false,
        },
      },
    ]);
  });

  it("fails where its run pauses in a call by name, naming the tool that waits, as nothing could resume it", async () => {
    const pay = { ...recordingTool({ name: "pay" }), needsApproval: true };
    const outcome = await new ToolSet([calling("inner", pay).asTool({ name: "ask" })]).call("ask", { prompt: "x" });
    expect(outcome).toMatchObject({
      status: "failed",
      error: { code: "approval-required", details: { toolName: "pay" } },
    });
  });

  it("runs also with an invocation that no call made", async () => {
    const probe = recordingTool({ name: "probe" });
    await new ToolSet([probe]).call("probe", {});
    const invocation = { ...probe.calls[0]?.invocation, toolCallId: "call_a", runId: "run_a" };
    const extensions = new ToolCallExtensions()["~bind"](ToolInvocationContext, invocation as never);
    const ask = calling("inner", probe).asTool({ name: "ask" });
    const output = await ask.callWithExtensions?.({ prompt: "x" }, extensions as never);
    expect(output).toMatchObject({ output: "inner done." });
    expect(probe.calls[1]?.invocation.parent?.toolCallId).toBe("call_a");
  });

  it("hands its prompt to the sub-agent and its answer to the outer model", async () => {
    const model = scriptedModel(["42 is paid."]);
    const ask = new Agent({ name: "inner", model }).asTool({ name: "ask" });
    const { messages } = await calling("outer", ask, { prompt: "Is 42 paid?" }).prompt("x").run();
    expect(model.requests[0]?.messages).toEqual([{ role: "user", text: "Is 42 paid?" }]);
    expect(messages[2]).toMatchObject({ role: "tool", text: "42 is paid.", isError: false });
  });

  it.each([[{}], [{ prompt: 7 }], ['{"question":"x"}']])("refuses arguments without a prompt: %j", async (input) => {
    const events: RunEvent[] = [];
    const model = scriptedModel([]);
    const ask = new Agent({ name: "inner", model }).asTool({ name: "ask" });
    const request = calling("outer", ask, input).prompt("x");
    const { messages } = await request.on((event) => events.push(event)).run();
    expect(messages[2]).toMatchObject({ isError: true, text: expect.stringContaining("prompt: must be a string") });
    expect(events.find(({ type }) => type === "tool-failed")).toMatchObject({ kind: "invalid-input" });
    expect(model.requests).toEqual([]);
  });
});
