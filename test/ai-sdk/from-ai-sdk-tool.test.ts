import {
  Agent,
  extensionToken,
  outcomeText,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { fromAiSdkTool } from "tool-call-extensions/ai-sdk";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const ApiKey = extensionToken("api-key").of<string>();
const extensions = new ToolCallExtensions().with(ApiKey, "k-1");
const empty = z.object({});

describe("the tool is handed", () => {
  const seen: { input: unknown; options: Record<string, unknown> }[] = [];
  const inputSchema = z.object({ n: z.string().transform(Number) });
  const theirs = {
    inputSchema,
    execute(this: unknown, input: unknown, options: Record<string, unknown>) {
      seen.push({ input, options });
      return this === theirs;
    },
  };

  test("its input, the call's id and signal, and the extensions as its context", async () => {
    const tools = new ToolSet([fromAiSdkTool("count", theirs)]);
    const outcome = await tools.callWithExtensions("count", { n: "4" }, extensions, { toolCallId: "call_abc" });
    expect(outcome).toMatchObject({ status: "completed", output: true });
    const { input, options } = seen[0] ?? {};
    expect(input).toEqual({ n: 4 });
    expect(options).toMatchObject({ toolCallId: "call_abc", messages: [], abortSignal: { aborted: false } });
    for (const context of [options?.["context"], options?.["experimental_context"]]) {
      if (!ToolCallExtensions.is(context)) throw new Error("no extensions");
      expect(context.get(ApiKey)).toBe("k-1");
      expect(context.get(ToolInvocationContext)?.toolCallId).toBe("call_abc");
    }
  });

  test("a context that is made of the extensions, whose needs the compiler knows", async () => {
    const tool = fromAiSdkTool("count", theirs, {
      requires: [ApiKey],
      context: (map) => ({ key: map.require(ApiKey) }),
    });
    const tools = new ToolSet([tool]);
    await tools.callWithExtensions("count", { n: "4" }, extensions);
    expect(seen.at(-1)?.options).toMatchObject({ context: { key: "k-1" }, experimental_context: { key: "k-1" } });
    // @ts-expect-error the key is missing
    const outcome = await tools.callWithExtensions("count", { n: "4" }, new ToolCallExtensions());
    expect(outcome).toMatchObject({ status: "failed", kind: "missing-extension" });
    // @ts-expect-error what is read has to be required
    fromAiSdkTool("count", theirs, { context: (map) => map.require(ApiKey) });
  });
});

describe("its schema", () => {
  const jsonSchema = { type: "object", properties: { n: { type: "number" } } };
  const validate = (value: unknown) =>
    Object(value).n === 4
      ? ({ success: true, value: { n: 5 } } as const)
      : ({ success: false, error: new Error("n: must be 4") } as const);

  test.each<[string, unknown]>([
    ["the AI SDK's own", { jsonSchema, validate }],
    ["one that is given lazily", () => ({ jsonSchema, validate })],
  ])("%s describes and validates", async (_title, inputSchema) => {
    const tools = new ToolSet([fromAiSdkTool("t", { inputSchema, execute: (input: unknown) => input })]);
    expect(tools.definitions[0]?.inputSchema).toEqual(jsonSchema);
    expect(await tools.call("t", { n: 4 })).toMatchObject({ output: { n: 5 } });
    expect(outcomeText(await tools.call("t", { n: 3 }), "t")).toContain("n: must be 4");
  });

  test("without a validation only describes", async () => {
    const tools = new ToolSet([
      fromAiSdkTool("t", { inputSchema: { jsonSchema }, execute: (input: unknown) => input }),
    ]);
    expect(await tools.call("t", { n: "x" })).toMatchObject({ output: { n: "x" } });
  });

  test.each<[string, unknown]>([
    ["that comes later", { jsonSchema: Promise.resolve(jsonSchema) }],
    ["that is none", 7],
    ["that is left out", undefined],
  ])("one %s is refused", (_title, inputSchema) => {
    expect(() => fromAiSdkTool("t", { inputSchema, execute: () => 1 })).toThrow(/\[unsupported-schema\] tool "t"/);
  });
});

describe("what cannot be represented is refused", () => {
  test("a tool that nothing here can run", () => {
    expect(() => fromAiSdkTool("search", { inputSchema: empty })).toThrow(
      /execute of AI SDK tool "search".*providerTools/,
    );
  });

  test("a description that is made of a context", () => {
    const tool = { inputSchema: empty, description: () => "for you", execute: () => 1 };
    expect(() => fromAiSdkTool("t", tool)).toThrow(/description of AI SDK tool "t" must be a text.*a function/);
  });

  test.each<[string, unknown]>([
    ["a Standard Schema", z.object({ key: z.string() })],
    ["a Standard Schema that is given lazily", () => z.object({ key: z.string() })],
    [
      "the AI SDK's own",
      {
        validate: (value: unknown) =>
          typeof Object(value).key === "string"
            ? { success: true, value }
            : { success: false, error: new Error("no key") },
      },
    ],
  ])("a context that the tool's contextSchema does not take: %s", async (_title, contextSchema) => {
    let entered = 0;
    const asked: unknown[] = [];
    const execute = (_input: unknown, { context }: { context: { key: string } }) => `${++entered} ${context.key}`;
    const needsApproval = (_input: unknown, options: object) => asked.push(options) === 0;
    const tool = { inputSchema: empty, contextSchema, execute, needsApproval };
    const bare = new ToolSet([fromAiSdkTool("t", tool)]);
    const outcome = await bare.call("t", {});
    expect(outcome).toMatchObject({ status: "failed", error: { code: "invalid-argument" } });
    expect(String(Object(outcome).error)).toMatch(
      /the context of AI SDK tool "t" must be what its contextSchema takes/,
    );
    expect([entered, asked]).toEqual([0, []]);
    const context = (map: ToolCallExtensions<"api-key">) => ({ key: map.require(ApiKey) });
    const tools = new ToolSet([fromAiSdkTool("t", tool, { requires: [ApiKey], context })]);
    expect(await tools.callWithExtensions("t", {}, extensions)).toMatchObject({ output: "1 k-1" });
  });

  test("an output for the model that is called in different ways, unless it is stood in for", async () => {
    const toModelOutput = () => ({ type: "text", value: "hidden" });
    const tool = { inputSchema: empty, execute: () => ({ secret: 1, city: "Oslo" }), toModelOutput };
    expect(() => fromAiSdkTool("t", tool)).toThrow(/toModelOutput of AI SDK tool "t"/);
    const shown = fromAiSdkTool("t", tool, { toModelOutput: (output) => Object(output).city });
    expect(await new ToolSet([shown]).call("t", {})).toMatchObject({ output: "Oslo" });
    const steps = {
      ...tool,
      execute: async function* () {
        yield { city: "Rome" };
        yield { city: "Oslo" };
      },
    };
    for (const execute of [steps.execute, async () => steps.execute()]) {
      const last = fromAiSdkTool("t", { ...tool, execute }, { toModelOutput: (output) => Object(output).city });
      expect(await new ToolSet([last]).call("t", {})).toMatchObject({ output: "Oslo" });
    }
  });
});

test.each<[unknown, string]>([
  [true, "paused"],
  [({ n }: { n: number }, { toolCallId }: { toolCallId: string }) => n > 3 && toolCallId === "call_abc", "paused"],
  [({ n }: { n: number }) => n > 4, "completed"],
  [undefined, "completed"],
])("approval is asked for as the tool says", async (needsApproval, status) => {
  const tool = { inputSchema: z.object({ n: z.number() }), execute: () => "done", needsApproval };
  const model = scriptedModel([{ toolCalls: [{ toolName: "t", toolCallId: "call_abc", input: { n: 4 } }] }, "Done."]);
  const result = await new Agent({ name: "a", model, tools: [fromAiSdkTool("t", tool)] }).prompt("Go").run();
  expect(result.status).toBe(status);
});
