import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createOpenAI as createOpenAIV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createOpenAIV4 } from "ai-sdk-openai-v4";
import type { LanguageModel } from "tool-call-extensions/ai-sdk";
import { type Answer, events } from "./provider-server.ts";
import type { Mode } from "./run-in-mode.ts";

export interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly input: object;
}

/** How one kind of provider puts an answer on the wire, blocking and streaming. */
export interface WireFormat {
  readonly name: string;
  connect(url: string): LanguageModel;
  answer(mode: Mode, text: string, calls: readonly WireCall[]): Answer;
  /** What a request body holds, somewhere, of a result that was sent back. */
  sentResult(call: WireCall, text: string): object;
}

/** Two pieces, as a stream brings text and arguments. */
function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function chatAnswer(mode: Mode, text: string, calls: readonly WireCall[]): Answer {
  const base = {
    id: "c1",
    object: mode === "blocking" ? "chat.completion" : "chat.completion.chunk",
    created: 1,
    model: "m",
  };
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  const toCall = ({ id, name, input }: WireCall, index: number): object => {
    return { index, id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  };
  if (mode === "blocking") {
    const tool_calls = calls.length > 0 ? { tool_calls: calls.map(toCall) } : {};
    const message = { role: "assistant", content: text, ...tool_calls };
    return { json: { ...base, choices: [{ index: 0, message, finish_reason }], usage: CHAT_USAGE } };
  }
  const delta = (value: object): object => ({ ...base, choices: [{ index: 0, delta: value, finish_reason: null }] });
  const chunks = [
    ...halves(text)
      .filter(Boolean)
      .map((content) => delta({ role: "assistant", content })),
    // Interleaved: the beginnings of all calls, then their arguments' ends.
    ...calls.map((call, index) => {
      const [begin] = halves(JSON.stringify(call.input));
      const { id, name } = call;
      return delta({ tool_calls: [{ index, id, type: "function", function: { name, arguments: begin } }] });
    }),
    ...calls.map((call, index) =>
      delta({ tool_calls: [{ index, function: { arguments: halves(JSON.stringify(call.input))[1] } }] }),
    ),
    { ...base, choices: [{ index: 0, delta: {}, finish_reason }], usage: CHAT_USAGE },
  ];
  return { events: [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"] };
}

const chatResult = ({ id }: WireCall, text: string): object => ({ role: "tool", tool_call_id: id, content: text });

function responsesAnswer(mode: Mode, text: string, calls: readonly WireCall[]): Answer {
  const message = {
    type: "message",
    role: "assistant",
    id: "msg_1",
    content: [{ type: "output_text", text, annotations: [] }],
  };
  const toItem = ({ id, name, input }: WireCall): object => {
    return {
      type: "function_call",
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: JSON.stringify(input),
      status: "completed",
    };
  };
  const base = { id: "resp_1", created_at: 1, model: "m", error: null, incomplete_details: null };
  const usage = { input_tokens: 10, output_tokens: 5 };
  const output = [...(text === "" ? [] : [message]), ...calls.map(toItem)];
  if (mode === "blocking") return { json: { ...base, output, usage } };
  const [begin, rest] = halves(text);
  const delta = (piece: string): object => ({ type: "response.output_text.delta", item_id: "msg_1", delta: piece });
  const texts =
    text === ""
      ? []
      : [
          { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1" } },
          delta(begin),
          delta(rest),
          { type: "response.output_item.done", output_index: 0, item: message },
        ];
  return events(
    { type: "response.created", response: { ...base, output: [] } },
    ...texts,
    ...calls.map((call, index) => ({
      type: "response.output_item.added",
      output_index: index + 1,
      item: { ...toItem(call), arguments: "" },
    })),
    ...calls.map((call, index) => ({
      type: "response.function_call_arguments.delta",
      item_id: `fc_${call.id}`,
      output_index: index + 1,
      delta: JSON.stringify(call.input),
    })),
    ...calls.map((call, index) => ({ type: "response.output_item.done", output_index: index + 1, item: toItem(call) })),
    { type: "response.completed", response: { ...base, output, usage } },
  );
}

const responsesResult = ({ id }: WireCall, text: string): object => ({
  type: "function_call_output",
  call_id: id,
  output: text,
});

function anthropicAnswer(mode: Mode, text: string, calls: readonly WireCall[]): Answer {
  const stop_reason = calls.length > 0 ? "tool_use" : "end_turn";
  const base = { type: "message", id: "msg_1", role: "assistant", model: "m", stop_sequence: null };
  const usage = { input_tokens: 10, output_tokens: 5 };
  const texts = text === "" ? [] : [{ type: "text", text }];
  if (mode === "blocking") {
    return {
      json: {
        ...base,
        stop_reason,
        usage,
        content: [...texts, ...calls.map((call) => ({ type: "tool_use", ...call }))],
      },
    };
  }
  const [begin, rest] = halves(text);
  const block = (index: number, content_block: object, deltas: readonly object[]): readonly object[] => [
    { type: "content_block_start", index, content_block },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "ping" },
    { type: "content_block_stop", index },
  ];
  const textBlock = block(
    0,
    { type: "text", text: "" },
    [begin, rest].map((piece) => ({ type: "text_delta", text: piece })),
  );
  return events(
    {
      type: "message_start",
      message: { ...base, content: [], stop_reason: null, usage: { input_tokens: 10, output_tokens: 0 } },
    },
    ...(text === "" ? [] : textBlock),
    ...calls.flatMap(({ id, name, input }, index) =>
      block(
        index + 1,
        { type: "tool_use", id, name, input: {} },
        halves(JSON.stringify(input)).map((partial_json) => ({ type: "input_json_delta", partial_json })),
      ),
    ),
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  );
}

function googleAnswer(mode: Mode, text: string, calls: readonly WireCall[]): Answer {
  const texts = (pieces: readonly string[]): readonly object[] =>
    pieces.filter(Boolean).map((piece) => ({ text: piece }));
  const functionCalls = calls.map(({ id, name, input }) => ({
    functionCall: { id, name, args: input },
    thoughtSignature: "c2ln",
  }));
  const chunk = (parts: readonly object[], end?: object): object => ({
    candidates: [{ content: { role: "model", parts }, ...end }],
    ...(end && { usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 } }),
  });
  const end = { finishReason: "STOP" };
  if (mode === "blocking") return { json: chunk([...texts([text]), ...functionCalls], end) };
  return events(...texts(halves(text)).map((part) => chunk([part])), chunk(functionCalls, end));
}

export const WIRE_FORMATS: readonly WireFormat[] = [
  {
    name: "openai-compatible",
    connect: (baseURL) => createOpenAICompatible({ name: "x", baseURL, supportsStructuredOutputs: true })("m"),
    answer: chatAnswer,
    sentResult: chatResult,
  },
  {
    name: "openai chat",
    connect: (baseURL) => createOpenAI({ baseURL, apiKey: "k" }).chat("m"),
    answer: chatAnswer,
    sentResult: chatResult,
  },
  {
    name: "mistral",
    connect: (baseURL) => createMistral({ baseURL, apiKey: "k" })("m"),
    answer: chatAnswer,
    sentResult: chatResult,
  },
  {
    name: "openai responses",
    connect: (baseURL) => createOpenAI({ baseURL, apiKey: "k" })("m"),
    answer: responsesAnswer,
    sentResult: responsesResult,
  },
  {
    name: "openai responses, specification 2",
    connect: (baseURL) => createOpenAIV2({ baseURL, apiKey: "k" })("m"),
    answer: responsesAnswer,
    sentResult: responsesResult,
  },
  {
    name: "openai responses, specification 4",
    connect: (baseURL) => createOpenAIV4({ baseURL, apiKey: "k" })("m"),
    answer: responsesAnswer,
    sentResult: responsesResult,
  },
  {
    name: "anthropic",
    connect: (baseURL) => createAnthropic({ baseURL, apiKey: "k" })("claude-sonnet-4-5"),
    answer: anthropicAnswer,
    sentResult: ({ id }, text) => ({ type: "tool_result", tool_use_id: id, content: text }),
  },
  {
    name: "google",
    connect: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey: "k" })("gemini-3-pro-preview"),
    answer: googleAnswer,
    sentResult: ({ name }, text) => ({ functionResponse: { name, response: { name, content: text } } }),
  },
];
