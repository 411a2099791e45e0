import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type Message,
  type PromptRequest,
  type RunEvent,
  Runner,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolError,
  type ToolMiddleware,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Session = extensionToken("session").of<string>();
const Tenant = extensionToken("tenant").of<string>();

type Drive = (request: PromptRequest<never, unknown>, runner?: Runner) => Promise<readonly Message[]>;

const ways: [string, Drive][] = [
  ["blocking", async (request, runner = new Runner()) => (await runner.run(request)).messages],
  [
    "streaming",
    async (request, runner = new Runner()) => {
      let last: RunEvent | undefined;
      for await (const event of runner.stream(request)) last = event;
      return last?.type === "run-completed" ? last.result.messages : [];
    },
  ],
];

/** Calls the named tools in one turn, with the same input, and then answers. */
function callingModel(toolNames: readonly string[], input: unknown = {}) {
  return scriptedModel([{ toolCalls: toolNames.map((toolName) => ({ toolName, input })) }, "Done."]);
}

describe.each(ways)("a call that fails in a %s run", (_way, drive) => {
  const nothing = { type: "object" };
  const failed = (events: readonly RunEvent[]) => events.filter((event) => event.type === "tool-failed");

  it.each([
    ["are no JSON", '{"count": ', "not valid JSON"],
    ["do not fit the schema", { count: "three" }, "count:"],
    ["do not fit the schema as text", '{"count":"three"}', "count:"],
    ["are no object", [1, 2], "expected object"],
  ])(
    "because its arguments %s never enters the tool and tells the model what was wrong",
    async (_what, input, told) => {
      const counter = recordingTool({ name: "counter", input: z.object({ count: z.number() }) });
      const events: RunEvent[] = [];
      const agent = new Agent({ name: "a", model: callingModel(["counter"], input), tools: [counter] });
      const messages = await drive(agent.prompt("x").on((event) => events.push(event)));
      expect(counter.calls).toEqual([]);
      expect(messages[2]).toMatchObject({ role: "tool", isError: true, text: expect.stringContaining(told) });
      expect(messages[2]).toMatchObject({ text: expect.stringContaining('"counter"') });
      expect(failed(events)).toMatchObject([{ kind: "invalid-input", input, error: { code: "invalid-input" } }]);
      expect(messages.at(-1)).toMatchObject({ role: "assistant" });
    },
  );

  it.each([
    ["throws an error", new TypeError("token=canary")],
    ["throws no error", "token=canary"],
  ])("because its tool %s hides the text from the model and keeps the original on the event", async (_what, fault) => {
    const thrower = recordingTool({
      name: "thrower",
      result: () => {
        throw fault;
      },
    });
    const events: RunEvent[] = [];
    const model = callingModel(["thrower"]);
    const messages = await drive(
      new Agent({ name: "a", model, tools: [thrower] }).prompt("x").on((event) => events.push(event)),
    );
    expect(messages[2]).toMatchObject({ role: "tool", isError: true, text: 'Tool "thrower" failed.' });
    expect(JSON.stringify(model.requests)).not.toContain("canary");
    const [event] = failed(events);
    expect(event).toMatchObject({ kind: "error" });
    expect(event?.type === "tool-failed" && event.error).toBe(fault);
  });

  it("because its tool rejects is the same as when it throws", async () => {
    const rejecter = defineTool({ name: "rejecter", input: nothing, call: () => Promise.reject(new Error("canary")) });
    const messages = await drive(
      new Agent({ name: "a", model: callingModel(["rejecter"]), tools: [rejecter] }).prompt("x"),
    );
    expect(messages[2]).toMatchObject({ isError: true, text: 'Tool "rejecter" failed.' });
  });

  it("with a ToolError shows the model its message and not its cause", async () => {
    const error = new ToolError("Order 42 does not exist.", { cause: new Error("canary") });
    const refuser = defineTool({ name: "refuser", input: nothing, call: () => Promise.reject(error) });
    const events: RunEvent[] = [];
    const model = callingModel(["refuser"]);
    const messages = await drive(
      new Agent({ name: "a", model, tools: [refuser] }).prompt("x").on((event) => events.push(event)),
    );
    expect(messages[2]).toMatchObject({ isError: true, text: "Order 42 does not exist." });
    expect(JSON.stringify(model.requests)).not.toContain("canary");
    const [event] = failed(events);
    expect(event?.type === "tool-failed" && event.error).toBe(error);
  });

  it("because the runner's middleware throws fails alone", async () => {
    const probe = recordingTool({ name: "probe" });
    const other = recordingTool({ name: "other" });
    const limit: ToolMiddleware = (call, next) => {
      if (call.tool.name === "probe") throw new Error("canary");
      return next(call);
    };
    const agent = new Agent({ name: "a", model: callingModel(["probe", "other"]), tools: [probe, other] });
    const messages = await drive(agent.prompt("x"), new Runner({ middleware: [limit] }));
    expect(messages[2]).toMatchObject({ isError: true, text: 'Tool "probe" failed.' });
    expect(messages[3]).toMatchObject({ isError: false, text: "recorded" });
    expect(probe.calls).toEqual([]);
  });
});

describe.each(ways)("a missing extension in a %s run", (_way, drive) => {
  const dynamic = () => new ToolCallExtensions<string>();

  it("rejects before the first model call, naming what is missing, what is there and the agent", async () => {
    const model = callingModel(["probe"]);
    const probe = recordingTool({ name: "probe", requires: [Session] });
    const other = recordingTool({ name: "other", requires: [Tenant] });
    const agent = new Agent({ name: "support", model, tools: [probe, other] });
    const Locale = extensionToken("locale").of<string>();
    const error: unknown = await drive(agent.prompt("x").toolExtensions(dynamic().with(Locale, "canary"))).catch(
      (e) => e,
    );
    expect(error).toMatchObject({
      code: "missing-extension",
      details: { missing: ["session", "tenant"], present: ["locale"] },
      message: expect.stringContaining('agent "support"'),
    });
    expect(String(error)).not.toContain("canary");
    expect(model.requests).toEqual([]);
    expect(probe.calls).toEqual([]);
  });

  it("is none where the token has a default", async () => {
    const Limit = extensionToken("limit").of<number>({ default: () => 10 });
    const probe = recordingTool({ name: "probe", requires: [Limit] });
    await drive(new Agent({ name: "a", model: callingModel(["probe"]), tools: [probe] }).prompt("x"));
    expect(probe.calls[0]?.extensions.get(Limit)).toBe(10);
  });

  it("is none where undefined was inserted", async () => {
    const Maybe = extensionToken("maybe").of<string | undefined>();
    const probe = recordingTool({ name: "probe", requires: [Maybe] });
    const agent = new Agent({ name: "a", model: callingModel(["probe"]), tools: [probe] });
    await drive(agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Maybe, undefined)));
    expect(probe.calls).toHaveLength(1);
  });

  it("that only the tool finds lets the siblings finish and then rejects the run with the tool's error", async () => {
    const undeclared = recordingTool({ name: "undeclared", result: ({ extensions }) => extensions.require(Session) });
    const finished: string[] = [];
    const slow = defineTool({
      name: "slow",
      input: { type: "object" },
      call: async () => {
        await sleep(10);
        finished.push("slow");
      },
    });
    const model = callingModel(["undeclared", "slow"]);
    const events: RunEvent[] = [];
    const agent = new Agent({ name: "a", model, tools: [undeclared, slow] });
    const error: unknown = await drive(agent.prompt("x").on((event) => events.push(event))).catch((e) => e);
    expect(error).toMatchObject({ code: "missing-extension", details: { missing: ["session"] } });
    expect(finished).toEqual(["slow"]);
    expect(model.requests).toHaveLength(1);
    const ends = events.filter(({ type }) => type === "tool-failed" || type === "tool-completed");
    expect(ends).toMatchObject([
      { type: "tool-failed", kind: "missing-extension", invocation: { toolName: "undeclared" } },
      { type: "tool-completed", invocation: { toolName: "slow" } },
    ]);
    expect(ends[0]?.type === "tool-failed" && ends[0].error).toBe(error);
    expect(events.at(-1)).toMatchObject({ type: "run-failed", error });
  });

  it("that the runner's middleware finds rejects the run too", async () => {
    const needy: ToolMiddleware = (call, next) => {
      call.extensions.require(Session);
      return next(call);
    };
    const agent = new Agent({ name: "a", model: callingModel(["probe"]), tools: [recordingTool({ name: "probe" })] });
    const run = drive(agent.prompt("x"), new Runner({ middleware: [needy] }));
    await expect(run).rejects.toSatisfy(
      (error) => ToolCallExtensionsError.is(error) && error.code === "missing-extension",
    );
  });
});
