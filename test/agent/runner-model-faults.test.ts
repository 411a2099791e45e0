import { Agent, type Model, type ModelResponse, type PromptRequest, type RunEvent, Runner } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const ways: [string, (request: PromptRequest<never, unknown>) => Promise<RunEvent[]>][] = [
  [
    "blocking",
    async (request) => {
      const events: RunEvent[] = [];
      await new Runner().run(request.on((event) => events.push(event)));
      return events;
    },
  ],
  [
    "streaming",
    async (request) => {
      const events: RunEvent[] = [];
      for await (const event of new Runner().stream(request)) events.push(event);
      return events;
    },
  ],
];

const answer: ModelResponse = { content: [{ type: "text", text: "Hello!" }] };

describe.each(ways)("a %s run", (_way, drive) => {
  it("rejects with model-failed when the model throws, keeping its error as the cause", async () => {
    const cause = new Error("HTTP 529");
    const model = scriptedModel([cause]);
    const error: unknown = await drive(new Agent({ name: "support", model }).prompt("x")).catch((e) => e);
    expect(error).toMatchObject({ code: "model-failed", details: { agentName: "support", turn: 1 }, cause });
    expect(error).toHaveProperty("message", '[model-failed] the model of agent "support" failed in turn 1: HTTP 529');
    expect(model.requests).toHaveLength(1);
  });

  it("keeps what the model threw as the cause when it is no error", async () => {
    const model: Model = { generate: () => Promise.reject("overloaded") };
    const run = drive(new Agent({ name: "a", model }).prompt("x"));
    await expect(run).rejects.toMatchObject({ code: "model-failed", cause: "overloaded" });
    await expect(run).rejects.toThrow(/failed in turn 1: overloaded$/);
  });

  it("rejects with model-failed when the model throws before it gives a promise", async () => {
    const model: Model = {
      generate: () => {
        throw new Error("no key");
      },
    };
    await expect(drive(new Agent({ name: "a", model }).prompt("x"))).rejects.toMatchObject({ code: "model-failed" });
  });

  it("names the turn in which the model failed and runs no finished call again", async () => {
    const probe = recordingTool({ name: "probe" });
    const model = scriptedModel([{ toolCalls: [{ toolName: "probe", input: {} }] }, new Error("HTTP 500")]);
    const run = drive(new Agent({ name: "a", model, tools: [probe] }).prompt("x"));
    await expect(run).rejects.toMatchObject({ code: "model-failed", details: { turn: 2 } });
    expect(probe.calls).toHaveLength(1);
  });

  it("rejects with model-failed when the script of a scripted model is over", async () => {
    const run = drive(new Agent({ name: "a", model: scriptedModel([]) }).prompt("x"));
    await expect(run).rejects.toMatchObject({ code: "model-failed", cause: { code: "script-mismatch" } });
  });
});

it("a script that is one answer is refused, not played letter by letter", () => {
  expect(() => scriptedModel("Hello!" as never)).toThrow(
    "[invalid-argument] the script of scriptedModel() must be a list of turns or a function; received a string",
  );
});

// What a model may give for all that its type says.
const nonsense: [string, unknown, string][] = [
  ["undefined", undefined, "its response has no content array"],
  ["null", null, "its response has no content array"],
  ["a string", "Hello!", "its response has no content array"],
  ["an object without content", {}, "its response has no content array"],
  ["content that is a string", { content: "Hello!" }, "its response has no content array"],
  ["content with a null part", { content: [null] }, "its response has a part without a type"],
  ["content with an undefined part", { content: [undefined] }, "its response has a part without a type"],
  ["a part of no type", { content: [{ text: "Hello!" }] }, "its response has a part without a type"],
  ["a text part without text", { content: [{ type: "text" }] }, "a text part of its response has no text"],
  ["a call of no tool", { content: [{ type: "tool-call" }] }, "a tool call of its response has no toolName"],
];
const failedWith = (reason: string) => ({
  code: "model-failed",
  message: `[model-failed] the model of agent "a" failed in turn 1: ${reason}`,
  details: { agentName: "a", turn: 1 },
});

describe.each(ways)("a %s run whose model gives", (_way, drive) => {
  it.each(nonsense)("%s rejects with model-failed", async (_what, response, reason) => {
    const model: Model = { generate: async () => response as ModelResponse };
    const run = drive(new Agent({ name: "a", model }).prompt("x"));
    await expect(run).rejects.toMatchObject(failedWith(reason));
  });
});

describe("a run that nobody listens to, whose model gives", () => {
  it.each(nonsense)("%s rejects with model-failed", async (_what, response, reason) => {
    const model: Model = { generate: async () => response as ModelResponse };
    const run = new Agent({ name: "a", model }).prompt("x").run();
    await expect(run).rejects.toMatchObject(failedWith(reason));
  });

  it("no content says so in the words of a run with a listener", async () => {
    const model: Model = { generate: async () => ({}) as ModelResponse };
    const request = new Agent({ name: "a", model }).prompt("x");
    const unheard: unknown = await request.run().catch(String);
    const heard: unknown = await request
      .on(() => {})
      .run()
      .catch(String);
    expect(heard).toBe(unheard);
  });
});

describe("a streaming run", () => {
  const stream = (request: PromptRequest<never, unknown>) => ways[1]?.[1](request) ?? Promise.reject();

  it.each(nonsense)(
    "whose model streams a response of %s rejects with model-failed",
    async (_what, response, reason) => {
      const model: Model = {
        generate: async () => answer,
        async *stream() {
          yield { type: "response", response: response as ModelResponse };
        },
      };
      await expect(stream(new Agent({ name: "a", model }).prompt("x"))).rejects.toMatchObject(failedWith(reason));
    },
  );

  it("rejects with model-failed when the model's stream ends without a response", async () => {
    const model: Model = {
      generate: async () => answer,
      async *stream() {
        yield { type: "text-delta", text: "Hel" };
      },
    };
    const run = stream(new Agent({ name: "a", model }).prompt("x"));
    await expect(run).rejects.toMatchObject(failedWith("its stream ended without a response part"));
  });

  it("rejects with model-failed when the model's stream breaks off, after the text it had", async () => {
    const model: Model = {
      generate: async () => answer,
      async *stream() {
        yield { type: "text-delta", text: "Hel" };
        throw new Error("socket closed");
      },
    };
    const events: RunEvent[] = [];
    const run = stream(new Agent({ name: "a", model }).prompt("x").on((event) => events.push(event)));
    await expect(run).rejects.toMatchObject({ code: "model-failed", cause: new Error("socket closed") });
    expect(events.map(({ type }) => type)).toEqual(["run-started", "turn-started", "text-delta", "run-failed"]);
  });

  it("asks generate of a model that cannot stream and gives its text in one piece", async () => {
    const model: Model = { generate: async () => answer };
    const events = await stream(new Agent({ name: "a", model }).prompt("x"));
    expect(events.filter(({ type }) => type === "text-delta")).toMatchObject([{ text: "Hello!" }]);
  });

  it("tells no empty text of a model that cannot stream", async () => {
    const model: Model = { generate: async () => ({ content: [{ type: "text", text: "" }, ...answer.content] }) };
    const events = await stream(new Agent({ name: "a", model }).prompt("x"));
    expect(events.filter(({ type }) => type === "text-delta")).toMatchObject([{ text: "Hello!" }]);
  });

  it("gives a streamed text in its pieces and the whole in the result", async () => {
    const text = "A text that is long enough for a few pieces.";
    const events = await stream(new Agent({ name: "a", model: scriptedModel([text]) }).prompt("x"));
    const pieces = events.flatMap((event) => (event.type === "text-delta" ? event.text : []));
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.join("")).toBe(text);
    expect(events.at(-1)).toMatchObject({ type: "run-completed", result: { output: text } });
  });

  it("closes the model's stream once the response has come", async () => {
    let isClosed = false;
    const model: Model = {
      generate: async () => answer,
      async *stream() {
        try {
          yield { type: "response", response: answer };
          yield { type: "text-delta", text: "too late" };
        } finally {
          isClosed = true;
        }
      },
    };
    const events = await stream(new Agent({ name: "a", model }).prompt("x"));
    expect(isClosed).toBe(true);
    expect(events.some(({ type }) => type === "text-delta")).toBe(false);
  });

  it.each([
    null,
    {},
    { type: "ping" },
    { type: "text-delta" },
    { type: "text-delta", text: 7 },
    { type: "x", text: "x" },
  ])("a streamed part %o fails the run, and is no piece of the text", async (part) => {
    const model: Model = {
      generate: async () => answer,
      async *stream() {
        yield part as never;
        yield { type: "response", response: answer };
      },
    };
    const told: unknown[] = [];
    const request = new Agent({ name: "a", model }).prompt("x").on((event) => {
      if (event.type === "text-delta") told.push(event.text);
    });
    const error = await stream(request).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "model-failed", message: expect.stringContaining("neither a text-delta") });
    expect(told).toEqual([]);
  });
});

it("the output is the text of an answer, whatever else is in it", async () => {
  const content = [{ type: "provider" }, { type: "text", text: "Hello!" }, { type: "provider" }] as const;
  const result = await new Agent({ name: "a", model: { generate: async () => ({ content }) } }).prompt("x").run();
  expect(result.output).toBe("Hello!");
});

describe("a blocking run", () => {
  it("never asks a model to stream", async () => {
    const model: Model = {
      generate: async () => answer,
      stream: () => {
        throw new Error("asked to stream");
      },
    };
    expect((await new Agent({ name: "a", model }).prompt("x").run()).output).toBe("Hello!");
  });
});

it.each([null, {}, { inputTokens: Number.NaN, outputTokens: "7" }])(
  "a usage of %o counts for nothing",
  async (usage) => {
    const content = [{ type: "text", text: "done" } as const];
    const model = { generate: async () => ({ content, usage: usage as never }) };
    const result = await new Agent({ name: "a", model }).prompt("x").run();
    expect(result.usage).toEqual({ inputTokens: 0, outputTokens: 0 });
  },
);
