import { Agent, extensionToken, type Message, type RunEvent, ToolCallExtensions } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Session = extensionToken("session").of<string>();
const Tenant = extensionToken("tenant").of<string>();

/** Calls `probe` once in every run and then answers. */
function probingAgent() {
  const probe = recordingTool({ name: "probe" });
  const model = scriptedModel(({ messages }) =>
    messages.at(-1)?.role === "user" ? { toolCalls: [{ toolName: "probe", input: {} }] } : "Done.",
  );
  return { probe, model, agent: new Agent({ name: "prober", model, tools: [probe] }) };
}

describe("immutability", () => {
  it("freezes every request", () => {
    const { agent } = probingAgent();
    expect(Object.isFrozen(agent.prompt("x"))).toBe(true);
    expect(Object.isFrozen(agent.prompt("x").maxTurns(2))).toBe(true);
  });

  it("keeps what .toolExtensions() adds out of the request it was called on", async () => {
    const { agent, probe } = probingAgent();
    const request = agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Session, "s-1"));
    request.toolExtensions(new ToolCallExtensions().with(Session, "s-2").with(Tenant, "t-7"));
    await request.run();
    expect(probe.calls[0]?.extensions.get(Session)).toBe("s-1");
    expect(probe.calls[0]?.extensions.has(Tenant)).toBe(false);
  });

  it("keeps what .history() puts before out of the request it was called on", async () => {
    const model = scriptedModel(["Hello!"]);
    const request = new Agent({ name: "greeter", model }).prompt("Hi");
    request.history([{ role: "user", text: "earlier" }]);
    await request.run();
    expect(model.requests[0]?.messages).toEqual([{ role: "user", text: "Hi" }]);
  });

  it("keeps a signal out of the request .signal() was called on", async () => {
    const request = new Agent({ name: "greeter", model: scriptedModel(["Hello!"]) }).prompt("Hi");
    request.signal(AbortSignal.abort());
    expect((await request.run()).output).toBe("Hello!");
  });

  it("keeps a limit out of the request .maxTurns() was called on", async () => {
    const { agent } = probingAgent();
    const request = agent.prompt("x");
    request.maxTurns(1);
    expect((await request.run()).turns).toBe(2);
  });

  it("keeps a schema out of the request .output() was called on", async () => {
    const model = scriptedModel(["Hello!"]);
    const request = new Agent({ name: "greeter", model }).prompt("Hi");
    request.output(z.object({ greeting: z.string() }));
    expect((await request.run()).output).toBe("Hello!");
    expect(model.requests[0]?.outputSchema).toBeUndefined();
  });

  it("keeps a listener out of the request .on() was called on", async () => {
    const request = new Agent({ name: "greeter", model: scriptedModel(["Hello!"]) }).prompt("Hi");
    const heard: RunEvent[] = [];
    request.on((event) => heard.push(event));
    await request.run();
    expect(heard).toEqual([]);
  });

  it("lets two requests branch from one without meeting", async () => {
    const { agent, probe } = probingAgent();
    const base = agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Tenant, "t-7"));
    const first = base.toolExtensions(new ToolCallExtensions().with(Session, "s-1"));
    const second = base.toolExtensions(new ToolCallExtensions().with(Session, "s-2"));
    await first.run();
    await second.run();
    expect(probe.calls.map(({ extensions }) => extensions.get(Session))).toEqual(["s-1", "s-2"]);
    expect(probe.calls.map(({ extensions }) => extensions.get(Tenant))).toEqual(["t-7", "t-7"]);
  });

  it("keeps every setting made before a later one", async () => {
    const { agent, model, probe } = probingAgent();
    const types: string[] = [];
    const result = await agent
      .prompt("x")
      .toolExtensions(new ToolCallExtensions().with(Session, "s-1"))
      .on((event) => types.push(event.type))
      .history([{ role: "user", text: "earlier" }])
      .signal(new AbortController().signal)
      .maxTurns(2)
      .on((event) => types.push(event.type))
      .run();
    expect(result.messages[0]).toEqual({ role: "user", text: "earlier" });
    expect(probe.calls[0]?.extensions.get(Session)).toBe("s-1");
    expect(types.filter((type) => type === "run-started")).toHaveLength(2);
    expect(model.requests).toHaveLength(2);
  });
});

describe("toolExtensions", () => {
  it("lets the later map win where both have a token", async () => {
    const { agent, probe } = probingAgent();
    const request = agent
      .prompt("x")
      .toolExtensions(new ToolCallExtensions().with(Session, "s-1").with(Tenant, "t-1"))
      .toolExtensions(new ToolCallExtensions().with(Session, "s-2"));
    await request.run();
    expect(probe.calls[0]?.extensions.get(Session)).toBe("s-2");
    expect(probe.calls[0]?.extensions.get(Tenant)).toBe("t-1");
  });

  it("leaves the maps it merges as they were", () => {
    const { agent } = probingAgent();
    const first = new ToolCallExtensions().with(Session, "s-1");
    const second = new ToolCallExtensions().with(Session, "s-2").with(Tenant, "t-7");
    agent.prompt("x").toolExtensions(first).toolExtensions(second);
    expect(first.get(Session)).toBe("s-1");
    expect(first.tokens()).toEqual([Session]);
    expect(second.tokens()).toEqual([Session, Tenant]);
    expect(first.isReadOnly).toBe(false);
  });

  it("hides a value that is inserted into the map afterwards", async () => {
    const { agent, probe } = probingAgent();
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    const request = agent.prompt("x").toolExtensions(extensions);
    extensions.insert(Session, "s-2");
    extensions.insert(Tenant, "t-7");
    await request.run();
    expect(probe.calls[0]?.extensions.get(Session)).toBe("s-1");
    expect(probe.calls[0]?.extensions.has(Tenant)).toBe(false);
  });

  it("hides a value that is inserted into the map while the run is under way", async () => {
    const extensions = new ToolCallExtensions().with(Session, "s-1");
    const probe = recordingTool({ name: "probe", result: () => extensions.insert(Session, "s-2") });
    const probeTwice = [
      { toolCalls: [{ toolName: "probe", input: {} }] },
      { toolCalls: [{ toolName: "probe", input: {} }] },
    ];
    const agent = new Agent({ name: "prober", model: scriptedModel([...probeTwice, "Done."]), tools: [probe] });
    const running = agent.prompt("x").toolExtensions(extensions).run();
    extensions.insert(Tenant, "t-7");
    await running;
    expect(probe.calls.map((call) => call.extensions.get(Session))).toEqual(["s-1", "s-1"]);
    expect(probe.calls.map((call) => call.extensions.has(Tenant))).toEqual([false, false]);
  });

  it("shares values by reference, without calling a token's clone", async () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const { agent, probe } = probingAgent();
    const tags = ["a"];
    await agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Tags, tags)).run();
    expect(probe.calls[0]?.extensions.get(Tags)).toBe(tags);
  });

  it("shares values by reference when maps are merged too", async () => {
    const Tags = extensionToken("tags").of<string[]>({ clone: (tags) => [...tags] });
    const { agent, probe } = probingAgent();
    const tags = ["a"];
    const first = new ToolCallExtensions().with(Tags, tags);
    await agent.prompt("x").toolExtensions(first).toolExtensions(new ToolCallExtensions().with(Tenant, "t-7")).run();
    expect(probe.calls[0]?.extensions.get(Tags)).toBe(tags);
  });
});

describe("history", () => {
  it("puts the messages of the last run before the prompt", async () => {
    const { agent, model } = probingAgent();
    const first = await agent.prompt("one").run();
    await agent.prompt("two").history(first.messages).run();
    expect(model.requests[2]?.messages).toEqual([...first.messages, { role: "user", text: "two" }]);
    expect(first.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("does not see a message that is pushed afterwards", async () => {
    const model = scriptedModel(["Hello!"]);
    const messages: Message[] = [{ role: "user", text: "earlier" }];
    const request = new Agent({ name: "greeter", model }).prompt("Hi").history(messages);
    messages.push({ role: "user", text: "too late" });
    await request.run();
    expect(model.requests[0]?.messages).toHaveLength(2);
  });

  it("counts the ids of earlier calls as used", async () => {
    const probe = recordingTool({ name: "probe" });
    const call = { toolCalls: [{ toolName: "probe", input: {}, toolCallId: "call_a" }] };
    const agent = new Agent({ name: "prober", model: scriptedModel([call, "One.", call, "Two."]), tools: [probe] });
    const first = await agent.prompt("one").run();
    await agent.prompt("two").history(first.messages).run();
    const [before, after] = probe.calls.map(({ invocation }) => invocation);
    expect(before?.toolCallId).toBe("call_a");
    expect(after?.toolCallId).not.toBe("call_a");
    expect(after?.providerToolCallId).toBe("call_a");
  });
});

it("history with calls whose results are missing has their ids all the same", async () => {
  const { agent, probe } = probingAgent();
  const content = [{ type: "tool-call", toolName: "probe", input: {}, toolCallId: "call_a" }] as const;
  const model = scriptedModel([{ toolCalls: [{ toolName: "probe", input: {}, toolCallId: "call_a" }] }, "Done."]);
  const history: Message[] = [
    { role: "user", text: "earlier" },
    { role: "assistant", content },
  ];
  await new Agent({ name: agent.name, model, tools: [probe] }).prompt("x").history(history).run();
  expect(probe.calls[0]?.invocation.toolCallId).not.toBe("call_a");
});

it("history may hold an answer without content", () => {
  const { agent } = probingAgent();
  expect(() => agent.prompt("x").history([{ role: "assistant", content: [] }])).not.toThrow();
});

describe("maxTurns", () => {
  it("overrides the agent's limit in both directions", async () => {
    const probe = recordingTool({ name: "probe" });
    const model = scriptedModel(() => ({ toolCalls: [{ toolName: "probe", input: {} }] }));
    const agent = new Agent({ name: "prober", model, tools: [probe], maxTurns: 3 });
    await expect(agent.prompt("x").maxTurns(2).run()).rejects.toMatchObject({ details: { maxTurns: 2 } });
    await expect(agent.prompt("x").run()).rejects.toMatchObject({ details: { maxTurns: 3 } });
    await expect(agent.prompt("x").maxTurns(4).run()).rejects.toMatchObject({ details: { maxTurns: 4 } });
  });

  it("is 20 where nobody sets it", async () => {
    const model = scriptedModel(() => ({ toolCalls: [{ toolName: "probe", input: {} }] }));
    const agent = new Agent({ name: "prober", model, tools: [recordingTool({ name: "probe" })] });
    await expect(agent.prompt("x").run()).rejects.toMatchObject({ code: "max-turns" });
    expect(model.requests).toHaveLength(20);
  });
});

describe("bad arguments", () => {
  const agent = new Agent({ name: "greeter", model: scriptedModel([]) });
  const request = agent.prompt("Hi");
  const usage = { inputTokens: 0, outputTokens: 0 };
  const state = { version: 1, agentName: "greeter", runId: "run_a", turn: 0, messages: [], usage, calls: [] };
  const resumed = agent.resume(state);

  // Each is a mistake that the compiler refuses and JavaScript does not.
  it.each([
    ["the prompt must be a string; received 42", () => agent.prompt(42 as never)],
    [
      "the argument of .toolExtensions() must be a ToolCallExtensions; received a Map",
      () => request.toolExtensions(new Map() as never),
    ],
    [
      "the argument of .toolExtensions() must be a ToolCallExtensions; received undefined",
      () => request.toolExtensions(undefined as never),
    ],
    [
      "the argument of .toolExtensions() must be a ToolCallExtensions; received an object",
      () => request.toolExtensions({ session: "canary" } as never),
    ],
    ["the session key must be a non-empty string; received an empty string", () => request.session("")],
    ["the session key must be a non-empty string; received 7", () => request.session(7 as never)],
    [
      "the turn id must be a non-empty string; received an empty string",
      () => request.session("chat-7", { turnId: "" }),
    ],
    ["the turn id must be a non-empty string; received 7", () => request.session("chat-7", { turnId: 7 as never })],
    [
      "the argument of .history() must be an array of messages; received a string",
      () => request.history("Hello" as never),
    ],
    ...[
      null,
      { text: "Hello" },
      { role: "assistant" },
      { role: "assistant", content: [null] },
      { role: "assistant", content: [{ type: "text", text: "Hello" }, null] },
      { role: "user", content: [] },
      { role: "system", text: "x" },
    ].map((message): [string, () => unknown] => [
      "a message of .history() must be one of role user or tool with a text, or of role assistant with a content array; " +
        `received ${message === null ? "null" : "an object"}`,
      () => request.history([message as never]),
    ]),
    [
      "the argument of .signal() must be an AbortSignal; received an AbortController",
      () => request.signal(new AbortController() as never),
    ],
    ["the argument of .signal() must be an AbortSignal; received undefined", () => request.signal(undefined as never)],
    ["maxTurns must be a positive integer; received 0", () => request.maxTurns(0)],
    ["maxTurns must be a positive integer; received 1.5", () => request.maxTurns(1.5)],
    ["maxTurns must be a positive integer; received NaN", () => request.maxTurns(Number.NaN)],
    ["maxTurns must be a positive integer; received a string", () => request.maxTurns("3" as never)],
    [
      "the argument of .output() must be a Standard Schema; received an object",
      () => request.output({ type: "object" } as never),
    ],
    [
      "the argument of .onCheckpoint() must be a function; received undefined",
      () => request.onCheckpoint(undefined as never),
    ],
    ["the argument of .on() must be a function; received an object", () => request.on({ onEvent: () => {} } as never)],
    [
      "a request with a decision must be made by agent.resume(state); received undefined",
      () => request.approve("call_a"),
    ],
    [
      "a request with a decision must be made by agent.resume(state); received undefined",
      () => request.reject("call_a", "No."),
    ],
    [
      ".session() must be called on a new prompt only: its calls keep the keys they have; received a resumed run",
      () => resumed.session("chat-7"),
    ],
    [
      ".history() must be called on a new prompt only: the state holds its conversation; received a resumed run",
      () => resumed.history([]),
    ],
  ])("are named where they are given: %s", (message, act) => {
    expect(act).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: `[invalid-argument] ${message}` }),
    );
  });

  it("of a resumed request have the parts of the message in their details", () => {
    const expected = "called on a new prompt only: the state holds its conversation";
    const details = { argument: ".history()", received: "a resumed run", expected };
    expect(() => resumed.history([])).toThrow(expect.objectContaining({ details }));
  });

  it("of toolExtensions() are described without their values", () => {
    expect(() => request.toolExtensions({ session: "canary" } as never)).not.toThrow("canary");
  });

  it("of output() name a schema that a model cannot be shown", () => {
    const unsupported = z.object({ when: z.date() });
    expect(() => request.output(unsupported)).toThrow(expect.objectContaining({ code: "unsupported-schema" }));
    expect(() => request.output(unsupported)).toThrow("the output");
  });
});
