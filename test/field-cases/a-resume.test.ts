import { inspect } from "node:util";
import {
  Agent,
  extensionToken,
  type PromptRequest,
  type RunState,
  type Tool,
  ToolCallExtensions,
} from "tool-call-extensions";
import { type RecordingToolOptions, recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Tenant = extensionToken("tenant").of<string>();
const Token = extensionToken("token").of<string>();

const overJson = (state: unknown): unknown => JSON.parse(JSON.stringify(state));

/** Calls the tool once, using tokens, and then answers; another process has the same script. */
function calling<Needs extends string>(name: string, tool: Tool<never, unknown, Needs>, input: object = {}) {
  const usage = { inputTokens: 10, outputTokens: 1 };
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user"
      ? { toolCalls: [{ toolName: tool.name, input }], usage }
      : { text: "Done.", usage },
  );
  return new Agent({ name, model, tools: [tool] });
}

describe("H02 mastra-ai/mastra #20210 (c): a sub-agent that was started from a checkpoint had lost the tenant, and nothing failed", () => {
  /** A new process each time: agents, tools and model are made anew. */
  function delegation() {
    const probe = recordingTool({ name: "probe", result: ({ extensions }) => extensions.require(Tenant) });
    const sub = calling("C", probe).asTool({ name: "C" });
    const model = scriptedModel(({ messages }) =>
      messages.at(-1)?.role === "user" ? { toolCalls: [{ toolName: "C", input: { prompt: "x" } }] } : "Done.",
    );
    return { agent: new Agent({ name: "P", model, tools: [sub] }), probe };
  }

  async function checkpointBeforeTheCall(): Promise<unknown> {
    const saved: unknown[] = [];
    const killed = new Error("killed");
    const run = delegation()
      .agent.prompt("x")
      .toolExtensions(new ToolCallExtensions().with(Tenant, "t-7"))
      .onCheckpoint((state) => {
        if (saved.push(overJson(state)) === 1) throw killed;
      })
      .run();
    await expect(run).rejects.toBe(killed);
    return saved[0];
  }

  it("shows its tool the tenant that the resumed run is given", async () => {
    const { agent, probe } = delegation();
    const given = new ToolCallExtensions().with(Tenant, "t-7");
    const result = await agent
      .resume(await checkpointBeforeTheCall())
      .toolExtensions(given)
      .run();
    expect(result.output).toBe("Done.");
    expect(probe.calls.map(({ extensions }) => extensions.get(Tenant))).toEqual(["t-7"]);
  });

  it("fails by the token's name where the resumed run is given none, and takes no default", async () => {
    const resumed = delegation().agent.resume(await checkpointBeforeTheCall());
    const kinds: unknown[] = [];
    const run = resumed.on((event) => event.type === "tool-failed" && kinds.push(event.kind)).run();
    await expect(run).rejects.toMatchObject({ code: "missing-extension", details: { missing: ["tenant"] } });
    expect(kinds).toEqual(["missing-extension", "missing-extension"]);
  });
});

describe("H04 openai/openai-agents-python #4244: a new context on resume threw the approval away, and the run asked for it for ever", () => {
  it("runs the approved call once, with the fresh token and the old id and key", async () => {
    const pay = { ...recordingTool({ name: "pay", requires: [Token] }), needsApproval: true };
    const agent = () => calling("a", pay, { cents: 5 });
    const withToken = (token: string) => new ToolCallExtensions().with(Token, token);
    const paused = await agent().prompt("x").session("chat-7").toolExtensions(withToken("old")).run();
    if (paused.status !== "paused") throw new Error("did not pause");
    const [pending] = paused.pending;
    const approved = agent()
      .resume(overJson(paused.state))
      .approve(pending?.toolCallId ?? "");
    const states: RunState[] = [];
    const result = await approved
      .toolExtensions(withToken("fresh"))
      .onCheckpoint((state) => void states.push(state))
      .run();
    expect(result).toMatchObject({ status: "completed", output: "Done." });
    expect(pay.calls).toHaveLength(1);
    expect(pay.calls[0]?.extensions.get(Token)).toBe("fresh");
    expect(pay.calls[0]?.invocation).toMatchObject({
      toolCallId: pending?.toolCallId,
      invocationKey: pending?.invocationKey,
    });
    for (const { calls } of states) expect(calls[0]?.decision).toEqual({ isApproved: true });
    expect(paused.usage).toEqual({ inputTokens: 10, outputTokens: 1 });
    expect(result.usage).toEqual({ inputTokens: 20, outputTokens: 2 });
  });
});

describe("H05 openai/openai-agents-js #365: after the round trip over JSON the context held the remains of clients and functions", () => {
  class Client {
    readonly connection = "canary-connection";
    query = () => "canary-row";
  }
  const Database = extensionToken("database").of<Client>();
  const Clock = extensionToken("clock").of<() => string>();
  const Since = extensionToken("since").of<Date>();
  const Cache = extensionToken("cache").of<Map<string, string>>();

  const valuesOf = () => {
    const [client, clock, since] = [new Client(), () => "canary-now", new Date("2001-02-03")] as const;
    const cache = new Map([["canary-key", "canary-value"]]);
    const given = new ToolCallExtensions()
      .with(Database, client)
      .with(Clock, clock)
      .with(Since, since)
      .with(Cache, cache);
    return { values: [client, clock, since, cache], given };
  };

  /** Run to the pause, with the state as text and the tool of the process that goes on. */
  async function paused(options: RecordingToolOptions<never> = {}) {
    const pay = { ...recordingTool({ name: "pay", ...options }), needsApproval: true };
    const agent = calling("a", pay);
    const first = await agent.prompt("x").toolExtensions(valuesOf().given).run();
    if (first.status !== "paused") throw new Error("did not pause");
    const text = JSON.stringify(first.state);
    const resumed: PromptRequest<never, string> = agent
      .resume(JSON.parse(text))
      .approve(first.pending[0]?.toolCallId ?? "");
    return { pay, resumed, text, state: first.state };
  }

  it("keeps none of the values in the state", async () => {
    const { text, state } = await paused();
    for (const printed of [text, inspect(state, { depth: 20, showHidden: true })]) {
      expect(printed).not.toMatch(/canary|2001-02-03|database|clock|since|cache/);
    }
  });

  it("(a) gives the tool the values of the new map by identity, in a real map", async () => {
    const { pay, resumed } = await paused();
    const { values, given } = valuesOf();
    await resumed.toolExtensions(given).run();
    const extensions = pay.calls[0]?.extensions;
    expect(extensions).toBeInstanceOf(ToolCallExtensions);
    const seen = [Database, Clock, Since, Cache].map((token) => extensions?.get(token as typeof Database) as unknown);
    for (const [index, value] of values.entries()) expect(seen[index]).toBe(value);
  });

  it("(b) finds nothing where no map is given, not the remains of the old one", async () => {
    const { pay, resumed } = await paused();
    await resumed.run();
    const extensions = pay.calls[0]?.extensions;
    expect(
      [Database, Cache].map((token) => [extensions?.has(token), extensions?.get(token as typeof Database)]),
    ).toEqual([
      [false, undefined],
      [false, undefined],
    ]);
    expect(extensions?.toJSON()).toEqual(["tool-invocation"]);
  });

  it("(b) fails by the token's name where the tool requires one of them", async () => {
    const { resumed } = await paused({ result: ({ extensions }) => extensions.require(Database).query() });
    await expect(resumed.run()).rejects.toMatchObject({
      code: "missing-extension",
      details: { missing: ["database"], present: [] },
    });
  });
});
