import {
  Agent,
  decodeExtensions,
  defineTool,
  extensionToken,
  type Model,
  type ModelStreamPart,
  type RunEvent,
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

/** The agent of a run that is looked at; a run of another agent is one inside it. */
const OUTER = "a";
const isEnd = (event: RunEvent) =>
  event.type === "run-completed" || event.type === "run-failed" || event.type === "run-paused";

/** A run that began or was asked for has one end, whether its stream rejects or not. */
function assertEnded(events: readonly RunEvent[], isRejected: boolean): void {
  const ends = events.filter(isEnd);
  const last = events.at(-1);
  const ofOuter = ends.filter(({ agentName }) => agentName === OUTER);
  if (ofOuter.length !== 1) throw new Finding(`a run with ${ofOuter.length} ends`);
  if (last === undefined || last !== ofOuter[0]) throw new Finding(`"${last?.type}" after the end of a run`);
  if ((last.type === "run-failed") !== isRejected)
    throw new Finding(`"${last.type}", and a stream that tells otherwise`);
  const started = events.filter(({ type }) => type === "run-started");
  if (ends.length < started.length) throw new Finding("a run inside a run without an end");
}

/** What is refused before there is a run tells nobody anything. */
function begun(begin: () => ReturnType<Agent["prompt"]>, codes: readonly string[]) {
  try {
    return begin();
  } catch (error) {
    assertKnown(error, codes);
    return undefined;
  }
}

async function checkRun(agent: Agent, begin: (agent: Agent) => ReturnType<Agent["prompt"]>, codes: readonly string[]) {
  const request = begun(() => begin(agent), codes);
  const events: RunEvent[] = [];
  let rejected: { readonly error: unknown } | undefined;
  try {
    if (request !== undefined) for await (const event of request.stream()) events.push(event);
  } catch (error) {
    rejected = { error };
  }
  if (rejected !== undefined) assertKnown(rejected.error, codes);
  if (request !== undefined) assertEnded(events, rejected !== undefined);
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
    seeds: [state, { ...state, calls: [...state.calls, innerCall] }, { ...state, turn: 99, calls: [] }].map((seed) =>
      JSON.stringify(seed),
    ),
    run: async (text) => {
      const value = parsed(text)?.value;
      const agent = new Agent({ name: OUTER, model: done, tools: [probe, pay, inner.asTool({ name: "ask" })] });
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
        name: OUTER,
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
        new Agent({ name: OUTER, model: { ...done, stream }, tools: [probe] }),
        (given) => given.prompt("x"),
        ["model-failed"],
      );
    },
  },
];
