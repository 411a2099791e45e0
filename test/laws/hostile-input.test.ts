import fc from "fast-check";
import {
  Agent,
  type AssistantPart,
  defineTool,
  type ModelResponse,
  type ModelStreamPart,
  ToolSet,
} from "tool-call-extensions";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  anything,
  codeOf,
  deep,
  Ends,
  guardPrototypes,
  INPUTS,
  json,
  names,
  objectText,
  replaced,
  text,
  tryAll,
} from "./hostile-values.ts";

guardPrototypes();

test("all boundaries together get at least 100,000 inputs", () => {
  expect(Object.values(INPUTS).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(100_000);
});

const seen: unknown[] = [];
const call = (input: unknown) => void seen.push(input);
const tools = new ToolSet([
  defineTool({ name: "strict", input: z.strictObject({ a: z.number() }), call }),
  defineTool({ name: "loose", input: { type: "object" }, call }),
  defineTool({ name: "__proto__", input: { type: "object" }, call }),
]);
const input = fc.oneof(
  anything,
  json.map((value) => JSON.stringify(value)),
  text,
  deep,
  deep.map((value) => `{"a":${value},"__proto__":${value}}`),
  json.map((value) => JSON.stringify(value).slice(0, -1)),
  fc.array(fc.tuple(names, json), { minLength: 2, maxLength: 6 }).map(objectText),
);
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

test("arguments: a clean result, or what is wrong with them", { timeout: 120_000 }, async () => {
  const ends = new Ends();
  const name = fc.oneof(fc.constantFrom("strict", "loose", "__proto__"), text);
  await tryAll("arguments", fc.tuple(name, input, fc.boolean()), async ([toolName, given, isInRun]) => {
    seen.length = 0;
    const end = isInRun ? await endInRun(toolName, given) : await endByName(toolName, given);
    ends.add(end, ["completed", "refused"]);
    if (end === "completed") expect(seen.map(isObject)).toEqual([true]);
    else expect(seen).toEqual([]);
  });
  expect(Math.min(ends.of("completed"), ends.of("refused"))).toBeGreaterThan(500);
});

async function endByName(toolName: string, given: unknown): Promise<string> {
  const outcome = await tools.call(toolName, given);
  if (outcome.status !== "failed") return outcome.status;
  return outcome.kind === "invalid-input" || outcome.kind === "unknown-tool" ? "refused" : outcome.kind;
}

/** The run goes on in either case, with one result for the one call. */
async function endInRun(toolName: string, given: unknown): Promise<string> {
  const { messages } = await askedOnce([{ type: "tool-call", toolCallId: "call_abc", toolName, input: given }]).run();
  expect(messages).toHaveLength(4);
  const result = messages[2];
  if (result?.role !== "tool") return "no result";
  return result.isError ? "refused" : "completed";
}

function askedOnce(content: readonly AssistantPart[]) {
  let asked = 0;
  const done = [{ type: "text", text: "done" } as const];
  return new Agent({
    name: "a",
    model: { generate: async () => ({ content: asked++ === 0 ? content : done }) },
    tools,
  }).prompt("x");
}

test("provider ids: one id and one key a call, and a conversation that holds each id once", {
  timeout: 120_000,
}, async () => {
  const odd = fc.oneof(text, names, fc.integer(), fc.constant(null), anything);
  const ids = fc.array(fc.oneof(odd, fc.constantFrom("call_0", "strict", "strict:0", "same", "same ")), {
    minLength: 1,
    maxLength: 6,
  });
  await tryAll("provider ids", ids, async (given) => {
    const calls: { readonly toolCallId: string; readonly key: string | undefined }[] = [];
    const content = given.map((toolCallId): AssistantPart => {
      // Some providers send null, or a number, where the type says a string.
      return { type: "tool-call", toolCallId: toolCallId as string, toolName: "strict", input: { a: 1 } };
    });
    const result = await askedOnce(content)
      .session("s")
      .on((event) => {
        if (event.type !== "tool-completed") return;
        const { toolCallId, invocationKey } = event.invocation;
        calls.push({ toolCallId, key: invocationKey });
      })
      .run();
    const idsOf = [calls.map(({ toolCallId }) => toolCallId), calls.map(({ key }) => key)];
    for (const own of idsOf) expect(new Set(own.filter(Boolean)).size).toBe(given.length);
    const told = result.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
    const asked = result.messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
    expect(told).toEqual(asked.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])));
    expect(new Set(told.filter((id) => typeof id === "string" && id !== "")).size).toBe(given.length);
  });
});

test("answers of a model: the run goes on, or fails with model-failed", { timeout: 120_000 }, async () => {
  const whole: ModelResponse = {
    content: [
      { type: "text", text: "hm" },
      { type: "tool-call", toolCallId: "call_abc", toolName: "loose", input: { a: 1 }, providerData: { x: 1 } },
    ],
    usage: { inputTokens: 1, outputTokens: 1 },
    finishReason: "tool-calls",
  };
  const streamed = [
    { type: "text-delta", text: "hm" },
    { type: "response", response: whole },
  ];
  const ends = new Ends();
  const changes = fc.tuple(fc.array(fc.nat(9), { maxLength: 5 }), anything, fc.boolean());
  await tryAll("answers of a model", changes, async ([steps, value, isStreamed]) => {
    let asked = 0;
    const done = { content: [{ type: "text", text: "done" } as const] };
    const model = {
      generate: async () => (asked++ === 0 ? (replaced(whole, steps, value) as ModelResponse) : done),
      async *stream(): AsyncGenerator<ModelStreamPart> {
        if (asked++ > 0) return yield { type: "response", response: done };
        yield* replaced(streamed, steps, value) as ModelStreamPart[];
      },
    };
    const told: string[] = [];
    const request = new Agent({ name: "a", model, tools }).prompt("x").on(({ type }) => void told.push(type));
    let end = "completed";
    try {
      if (isStreamed) for await (const event of request.stream()) void event;
      else await request.run();
    } catch (error) {
      end = codeOf(error);
    }
    ends.add(end, ["completed", "model-failed"]);
    expect(told.filter((type) => type === "run-completed" || type === "run-failed")).toHaveLength(1);
  });
  expect(Math.min(ends.of("completed"), ends.of("model-failed"))).toBeGreaterThan(500);
});
