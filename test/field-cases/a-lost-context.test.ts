import {
  Agent,
  currentToolInvocation,
  extensionToken,
  type RunEvent,
  type Tool,
  ToolCallExtensions,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<{ readonly id: string }>();
const Tenant = extensionToken("tenant").of<string>();

/** Calls its tools one after another, a turn each, and then answers. */
function calling(name: string, tools: readonly Tool<never, unknown, never>[]) {
  const script = tools.map((tool) => ({ toolCalls: [{ toolName: tool.name, input: { prompt: "x" } }] }));
  return new Agent({ name, model: scriptedModel([...script, "Done."]), tools });
}

describe("H01 openai/openai-agents-js #659: a sub-agent's tools found the context one level too deep", () => {
  const session = { id: "s-1" };
  const given = new ToolCallExtensions().with(Session, session);

  function subAgent() {
    const leaf = recordingTool({ name: "leaf" });
    const leaf2 = recordingTool({ name: "leaf2" });
    const agent = calling("C", [leaf, calling("D", [leaf2]).asTool({ name: "D" })]);
    return { agent, calls: () => [...leaf.calls, ...leaf2.calls] };
  }

  it("gives the tools at both depths the object that the caller put in", async () => {
    const c = subAgent();
    await calling("P", [c.agent.asTool({ name: "C" })])
      .prompt("x")
      .toolExtensions(given)
      .run();
    expect(c.calls()).toHaveLength(2);
    for (const { extensions } of c.calls()) expect(extensions.get(Session)).toBe(session);
  });

  it("gives them the shape that a direct run of the sub-agent gives", async () => {
    const direct = subAgent();
    await direct.agent.prompt("x").toolExtensions(given).run();
    const delegated = subAgent();
    await calling("P", [delegated.agent.asTool({ name: "C" })])
      .prompt("x")
      .toolExtensions(given)
      .run();
    const shape = ({ extensions }: { extensions: ToolCallExtensions<string> }) => extensions.toJSON();
    expect(delegated.calls().map(shape)).toEqual(direct.calls().map(shape));
    expect(direct.calls()[0]?.extensions.toJSON()).toEqual(["session", "tool-invocation"]);
  });
});

describe("H02 mastra-ai/mastra #20210: the hand-over to a sub-agent gave it an empty context, and it worked on as the default tenant", () => {
  function delegation() {
    const probe = recordingTool({ name: "probe", result: ({ extensions }) => extensions.require(Tenant) });
    const agent = calling("P", [calling("C", [probe]).asTool({ name: "C" })]);
    return { agent, probe };
  }

  it("(a) shows the sub-agent's tool the tenant of the run", async () => {
    const { agent, probe } = delegation();
    await agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Tenant, "t-7")).run();
    expect(probe.calls[0]?.extensions.get(Tenant)).toBe("t-7");
  });

  it("(b) fails by the token's name where no tenant was given, and never takes a default", async () => {
    const { agent } = delegation();
    const events: RunEvent[] = [];
    const run = agent
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    await expect(run).rejects.toMatchObject({ code: "missing-extension", details: { missing: ["tenant"] } });
    expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([
      { invocation: { toolName: "probe" }, kind: "missing-extension" },
      { invocation: { toolName: "C" }, kind: "missing-extension" },
    ]);
    expect(events.some(({ type }) => type === "tool-completed")).toBe(false);
  });
});

describe("H03 mindroom-ai/mindroom PR #530: the context ended when the stream was made, before its tools ran", () => {
  function streamed() {
    const session = { id: "s-1" };
    const seen: unknown[] = [];
    const probe = recordingTool({
      name: "probe",
      result: async ({ extensions, invocation }) => {
        await null;
        seen.push([currentToolInvocation() === invocation, invocation.toolCallId, extensions.get(Session)]);
      },
    });
    const call = (toolCallId: string) => ({
      text: `Now ${toolCallId}.`,
      toolCalls: [{ toolName: "probe", input: {}, toolCallId }],
    });
    const model = scriptedModel([call("call_a"), call("call_b"), "Done."]);
    const agent = new Agent({ name: "a", model, tools: [probe] });
    const stream = agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Session, session)).stream();
    return { seen, session, stream };
  }

  /** Runs in a callback that was scheduled outside of the run. */
  const later = <Result>(ms: number, act: () => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => setTimeout(() => act().then(resolve, reject), ms));

  it("keeps it for every tool when the stream is consumed elsewhere and with a pause", async () => {
    const { seen, session, stream } = streamed();
    const between: unknown[] = [];
    await later(1, async () => {
      await stream.next();
      await later(50, async () => {
        for await (const _event of stream) between.push(currentToolInvocation());
      });
    });
    expect(seen).toEqual([
      [true, "call_a", session],
      [true, "call_b", session],
    ]);
    expect(between.length).toBeGreaterThan(8);
    expect(between.every((invocation) => invocation === undefined)).toBe(true);
  });

  it("is over for the consumer after return()", async () => {
    const { stream } = streamed();
    for await (const event of stream) if (event.type === "tool-completed") break;
    expect(currentToolInvocation()).toBeUndefined();
    expect(await stream.next()).toEqual({ value: undefined, done: true });
  });
});
