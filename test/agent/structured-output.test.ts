import { Agent, type Model, type PromptRequest, type RunResult, ToolCallExtensionsError } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const ways: [string, (request: PromptRequest<never, unknown>) => Promise<RunResult<unknown>>][] = [
  ["blocking", (request) => request.run()],
  [
    "streaming",
    async (request) => {
      let result: RunResult<unknown> | undefined;
      for await (const event of request.stream()) if (event.type === "run-completed") result = event.result;
      if (result === undefined) throw new Error("the stream ended without a result");
      return result;
    },
  ],
];

const Weather = z.object({ city: z.string(), celsius: z.number() });

async function failure(run: Promise<unknown>): Promise<unknown> {
  return run.then(
    () => undefined,
    (error) => error,
  );
}

describe.each(ways)("the output of a %s run", (_way, drive) => {
  const answering = (...script: string[]) => new Agent({ name: "a", model: scriptedModel(script) });

  it("is the answer's text where no schema was given, JSON or not", async () => {
    expect((await drive(answering('{"city":"Oslo"}').prompt("x"))).output).toBe('{"city":"Oslo"}');
  });

  it("is the value that the schema made of the answer", async () => {
    const { output, messages } = await drive(
      answering('{"city":"Oslo","celsius":7,"wind":3}').prompt("x").output(Weather),
    );
    expect(output).toEqual({ city: "Oslo", celsius: 7 });
    expect(messages.at(-1)).toMatchObject({ content: [{ text: '{"city":"Oslo","celsius":7,"wind":3}' }] });
  });

  it("is what the schema transforms the answer to", async () => {
    const Arrival = z.object({ at: z.string().transform((text) => new Date(text)), gate: z.string().default("A1") });
    const { output } = await drive(answering('{"at":"2026-01-03T00:00:00Z"}').prompt("x").output(Arrival));
    expect(output).toEqual({ at: new Date("2026-01-03T00:00:00Z"), gate: "A1" });
  });

  it("waits for a schema that validates asynchronously", async () => {
    const Known = z.object({ city: z.string().refine(async (city) => city === "Oslo", "unknown city") });
    expect((await drive(answering('{"city":"Oslo"}').prompt("x").output(Known))).output).toEqual({ city: "Oslo" });
    const error = await failure(drive(answering('{"city":"Olso"}').prompt("x").output(Known)));
    expect(error).toMatchObject({ code: "invalid-output", details: { issues: ["city: unknown city"] } });
  });

  it("may be something other than an object", async () => {
    expect((await drive(answering("[1,2]").prompt("x").output(z.array(z.number())))).output).toEqual([1, 2]);
  });

  it("is read from all text parts of the answer together", async () => {
    const content = ['{"city":"Oslo",', '"celsius":7}'].map((text) => ({ type: "text", text }) as const);
    const model: Model = { generate: async () => ({ content }) };
    const { output } = await drive(new Agent({ name: "a", model }).prompt("x").output(Weather));
    expect(output).toEqual({ city: "Oslo", celsius: 7 });
  });

  it("is validated after the turns with calls, not in them", async () => {
    const toolCalls = [{ toolName: "probe", input: {} }];
    const model = scriptedModel([{ text: "Let me see.", toolCalls }, '{"city":"Oslo","celsius":7}']);
    const agent = new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] });
    expect((await drive(agent.prompt("x").output(Weather))).output).toEqual({ city: "Oslo", celsius: 7 });
  });

  it("of the later .output() is what counts", async () => {
    const request = answering('"Oslo"').prompt("x").output(Weather).output(z.string());
    expect((await drive(request)).output).toBe("Oslo");
  });
});

describe.each(ways)("an answer that does not fit in a %s run", (_way, drive) => {
  const answering = (text: string) => new Agent({ name: "a", model: scriptedModel([text]) }).prompt("x");

  it.each(["It is 7 degrees.", "", '{"city":"Oslo"'])(
    "rejects with invalid-output when it is no JSON: %j",
    async (text) => {
      const error = await failure(drive(answering(text).output(Weather)));
      expect(error).toMatchObject({
        code: "invalid-output",
        message: "[invalid-output] the model's answer does not fit the output schema: the answer is not JSON",
        details: { text, issues: ["the answer is not JSON"] },
      });
      expect(error).toMatchObject({ cause: expect.any(SyntaxError) });
    },
  );

  it("rejects with invalid-output when the schema refuses it, keeping its text and naming each issue", async () => {
    const text = '{"city":7,"celsius":"warm"}';
    const error = await failure(drive(answering(text).output(Weather)));
    expect(error).toMatchObject({ code: "invalid-output", details: { text } });
    if (!ToolCallExtensionsError.is(error) || error.code !== "invalid-output") throw error;
    expect(error.details.issues.map((issue) => issue.split(":")[0])).toEqual(["city", "celsius"]);
    expect(error.message).toContain(error.details.issues.join("; "));
  });

  it("keeps its text out of the message, which may be logged", async () => {
    const error = await failure(drive(answering("canary").output(Weather)));
    expect(String(error)).not.toContain("canary");
  });

  it("rejects with invalid-output when the schema throws on it, keeping the text and the cause", async () => {
    const cause = new TypeError("Invalid URL");
    const Link = z.object({
      url: z.string().transform(() => {
        throw cause;
      }),
    });
    const text = '{"url":"example"}';
    const error = await failure(drive(answering(text).output(Link)));
    expect(error).toMatchObject({
      code: "invalid-output",
      message: "[invalid-output] the model's answer does not fit the output schema: the schema failed on it",
      details: { text, issues: ["the schema failed on it"] },
      cause,
    });
  });
});

describe.each(ways)("the model in a %s run", (_way, drive) => {
  it("is shown the schema of the answer in every turn", async () => {
    const model = scriptedModel([{ toolCalls: [{ toolName: "probe", input: {} }] }, '{"city":"Oslo","celsius":7}']);
    const agent = new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] });
    await drive(agent.prompt("x").output(Weather));
    const properties = { city: { type: "string" }, celsius: { type: "number" } };
    expect(model.requests.map(({ outputSchema }) => outputSchema)).toMatchObject([{ properties }, { properties }]);
  });

  it("is shown what a transform takes, not what it makes", async () => {
    const model = scriptedModel(['{"length":"abc"}']);
    const Length = z.object({ length: z.string().transform((text) => text.length) });
    const { output } = await drive(new Agent({ name: "a", model }).prompt("x").output(Length));
    expect(model.requests[0]?.outputSchema).toMatchObject({ properties: { length: { type: "string" } } });
    expect(output).toEqual({ length: 3 });
  });

  it("is shown no schema where none was given", async () => {
    const model = scriptedModel(["Hello!"]);
    await drive(new Agent({ name: "a", model }).prompt("x"));
    expect(model.requests[0]?.outputSchema).toBeUndefined();
  });
});
