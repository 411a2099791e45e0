import {
  Agent,
  decodeExtensions,
  defineTool,
  extensionToken,
  type Model,
  type ModelStreamPart,
  ToolCallExtensionsError,
} from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel } from "tool-call-extensions/ai-sdk";
import { z } from "zod";
import type { Target } from "./fuzz-loop.ts";

// What the fuzzer tries: each reads JSON text, as these things come from a store or a wire.

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
const probe = defineTool({
  name: "probe",
  input: { type: "object" },
  call: (input) => {
    if (!isObject(input)) throw new Finding("a tool was entered with arguments that are no object");
    return "ok";
  },
});
const pay = defineTool({ name: "pay", input: {}, needsApproval: true, call: () => "paid" });
const done: Model = { generate: async () => ({ content: [{ type: "text", text: "done" }] }) };
const inner = new Agent({ name: "inner", model: done, tools: [probe, pay] });

class Finding extends Error {}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Whoever reads the text has refused it already.
    return undefined;
  }
}

/** Lets nothing pass but what this library says on purpose. */
function assertKnown(error: unknown, codes: readonly string[]): void {
  if (!ToolCallExtensionsError.is(error) || !codes.includes(error.code)) throw error;
}

function assertUnpolluted(): void {
  const { polluted, ...own } = Object.prototype as { readonly polluted?: unknown };
  if (polluted !== undefined || Object.keys(own).length > 0) throw new Finding("a prototype was changed");
}

async function checkRun(agent: Agent, begin: (agent: Agent) => ReturnType<Agent["prompt"]>, codes: readonly string[]) {
  const ends: string[] = [];
  try {
    for await (const { type } of begin(agent).stream())
      if (/^run-(?:completed|failed|paused)$/.test(type)) ends.push(type);
    if (ends.length === 0) throw new Finding("a run without an end");
  } catch (error) {
    assertKnown(error, codes);
  }
  assertUnpolluted();
}

const state = {
  version: 1,
  agentName: "a",
  runId: "r",
  sessionKey: "s",
  turn: 1,
  messages: [
    { role: "user", text: "x" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "hm" },
        { type: "tool-call", toolCallId: "c", toolName: "probe", input: {} },
      ],
    },
  ],
  usage: { inputTokens: 1, outputTokens: 1 },
  calls: [
    {
      toolCallId: "c",
      providerToolCallId: "c",
      wireId: "c",
      toolName: "probe",
      input: {},
      status: "done",
      result: { text: "ok", isError: false },
    },
    { toolCallId: "d", wireId: "d", toolName: "pay", input: {}, status: "waiting", decision: { isApproved: true } },
  ],
};
const innerCall = {
  toolCallId: "e",
  wireId: "e",
  toolName: "ask",
  input: { prompt: "y" },
  status: "started",
  run: { ...state, agentName: "inner" },
};

const Strict = extensionToken("com.example/strict").of(
  z.strictObject({ a: z.number(), b: z.array(z.string()).optional() }),
);
const Any = extensionToken("__proto__").of(z.unknown());

function streaming(parts: unknown): LanguageModel {
  const list = Array.isArray(parts) ? parts : [parts];
  return {
    specificationVersion: "v3",
    provider: "fuzz",
    modelId: "m",
    doGenerate: () => Promise.reject(new Error("streamed only")),
    doStream: async ({ prompt }) => {
      if (prompt.length > 1) throw new Error("one answer is enough");
      return {
        stream: new ReadableStream({
          start: (controller) => {
            for (const part of list) controller.enqueue(part);
            controller.close();
          },
        }),
      };
    },
  };
}

const finish = {
  type: "finish",
  finishReason: { unified: "tool-calls", raw: "tool_calls" },
  usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
};

export const TARGETS: readonly Target[] = [
  {
    name: "states",
    seeds: [JSON.stringify(state), JSON.stringify({ ...state, calls: [...state.calls, innerCall] })],
    run: async (text) => {
      const value = parsed(text)?.value;
      const agent = new Agent({ name: "a", model: done, tools: [probe, pay, inner.asTool({ name: "ask" })] });
      await checkRun(agent, (given) => given.resume(value), ["invalid-state", "max-turns"]);
    },
  },
  {
    name: "portable extensions",
    seeds: ['{"com.example/strict":{"a":1,"b":["x"]},"__proto__":[1]}'],
    run: async (text) => {
      const read = decodeExtensions(Object(parsed(text)?.value), [Strict, Any]);
      await read.catch((error: unknown) => assertKnown(error, ["not-portable", "invalid-argument"]));
      assertUnpolluted();
    },
  },
  {
    name: "streams of the AI SDK",
    seeds: [
      JSON.stringify([
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: "x" },
        { type: "text-end", id: "1" },
        { type: "reasoning-start", id: "2" },
        { type: "reasoning-end", id: "2", providerMetadata: { a: {} } },
        { type: "tool-input-start", id: "c", toolName: "probe" },
        { type: "tool-call", toolCallId: "c", toolName: "probe", input: '{"a":1}' },
        finish,
      ]),
      JSON.stringify([
        { type: "tool-result", toolCallId: "c", toolName: "x", result: {} },
        { type: "file", mediaType: "a/b", data: "AAEC" },
        { type: "source", id: "1" },
        { type: "tool-approval-request", approvalId: "a", toolCallId: "c" },
        { type: "error", error: { message: "x" } },
        finish,
      ]),
    ],
    run: async (text) => {
      const agent = new Agent({
        name: "a",
        model: fromLanguageModel(streaming(parsed(text)?.value), { onWarning: () => {} }),
        tools: [probe],
      });
      await checkRun(agent, (given) => given.prompt("x"), ["model-failed"]);
    },
  },
  {
    name: "streams of a model",
    seeds: [
      JSON.stringify([
        { type: "text-delta", text: "x" },
        {
          type: "response",
          response: {
            content: [
              { type: "text", text: "x" },
              { type: "tool-call", toolCallId: "c", toolName: "probe", input: '{"a":1}' },
            ],
            usage: { inputTokens: 1, outputTokens: 1 },
            finishReason: "stop",
          },
        },
      ]),
    ],
    run: async (text) => {
      let asked = 0;
      const value = parsed(text)?.value;
      async function* stream(): AsyncGenerator<ModelStreamPart> {
        if (asked++ > 0) return yield { type: "response", response: { content: [{ type: "text", text: "done" }] } };
        // What a model of somebody else's may stream, for all the type says.
        if (Array.isArray(value)) yield* value as ModelStreamPart[];
      }
      await checkRun(
        new Agent({ name: "a", model: { ...done, stream }, tools: [probe] }),
        (given) => given.prompt("x"),
        ["model-failed"],
      );
    },
  },
];
