import {
  type AssistantPart,
  invalidArgument,
  type Message,
  type Model,
  type ModelRequest,
  type ModelResponse,
  ToolCallExtensionsError,
} from "../index.ts";
import { carriedPart, parseObject, toAssistantParts } from "./carried-part.ts";
import type { CallOptions, Content, Finish, FinishReason, LanguageModel, ProviderMetadata } from "./language-model.ts";
import { readStream } from "./read-stream.ts";
import { StreamedAnswer } from "./streamed-answer.ts";
import { toPrompt } from "./to-prompt.ts";
import { warner } from "./warner.ts";

/** Options by the provider's name: `{ openai: { store: false } }`. */
type ProviderOptions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Settings of one request, under the AI SDK's names; passed on as they are. */
export interface CallSettings {
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  /** Specification 4 alone reads it. */
  readonly reasoning?: string | undefined;
  readonly toolChoice?:
    | { readonly type: "auto" | "none" | "required" }
    | { readonly type: "tool"; readonly toolName: string }
    | undefined;
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined;
  readonly providerOptions?: ProviderOptions | undefined;
}

/** How {@link fromLanguageModel} asks its model. */
export interface LanguageModelOptions {
  /**
   * A function decides anew in every turn; `last` is what the provider said beside its last answer, such as the id of a
   * container to go on with.
   */
  readonly settings?:
    | CallSettings
    | ((request: ModelRequest, last: ProviderMetadata | undefined) => CallSettings)
    | undefined;
  /** What a provider is told of one of the agent's tools besides its definition, by the tool's name. */
  readonly toolOptions?: Readonly<Record<string, ProviderOptions>> | undefined;
  /**
   * Tools that the provider defines, such as `openai.tools.webSearch()` gives, by name. The model is told of them in the provider's own words, also where the agent
   * has a tool of that name, or of that name with a `.` after it: such a tool runs the calls that the provider leaves to
   * the client, and decides on those that the provider wants approved. Where it completes, the provider runs its call;
   * where it fails or is rejected, or where there is none, the provider is told no.
   */
  readonly providerTools?: Readonly<Record<string, object>> | undefined;
  /** Hears what the provider could not do as it was asked; written to the console, once each, where this is left out. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/**
 * Makes a model of an agent from a language model of the AI SDK: any provider, specification 2, 3 or 4.
 *
 * What a provider adds to its parts (reasoning, signatures, ids) stays in the conversation, also in a saved one, and goes
 * back untouched. An answer that was cut off fails the turn instead of running half a call.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for anything that is not such a model, and for options that are none.
 * @example
 * ```ts
 * import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
 * import { Agent } from "tool-call-extensions";
 * import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
 *
 * const answer = { choices: [{ message: { role: "assistant", content: "Hello!" }, finish_reason: "stop" }] };
 * const provider = createOpenAICompatible({
 *   name: "example",
 *   baseURL: "http://example.com/v1",
 *   fetch: async () => Response.json(answer), // stands in for the provider's server
 * });
 * const model = fromLanguageModel(provider("some-model"), { settings: { temperature: 0 } });
 * const result = await new Agent({ name: "greeter", model }).prompt("Hi").run();
 * if (result.output !== "Hello!") throw new Error("another answer");
 * ```
 */
export function fromLanguageModel(model: LanguageModel, options: LanguageModelOptions = {}): Required<Model> {
  assertLanguageModel(model);
  assertOptions(options, model.specificationVersion);
  const warn = warner(model, options.onWarning);
  const toOptions = (request: ModelRequest): CallOptions => toCallOptions(request, model, options);
  return {
    generate: async (request) => {
      let response: ModelResponse | undefined;
      for (let pauses = 0; ; pauses++) {
        const result = await model.doGenerate(toOptions(continued(request, response)));
        warn(result.warnings);
        response = joined(response, toResponse(result));
        if (!isPaused(result, pauses)) return response;
      }
    },
    async *stream(request) {
      let response: ModelResponse | undefined;
      for (let pauses = 0; ; pauses++) {
        const { stream } = await model.doStream(toOptions(continued(request, response)));
        const answer = new StreamedAnswer();
        for await (const part of readStream(stream, request.signal)) {
          answer.add(part);
          if (part.type === "stream-start") warn(part.warnings);
          else if (part.type === "text-delta" && part.delta !== "") yield { type: "text-delta", text: part.delta };
        }
        const result = answer.end();
        response = joined(response, toResponse(result));
        if (!isPaused(result, pauses)) return yield { type: "response", response };
      }
    },
  };
}

function assertLanguageModel(model: LanguageModel): void {
  const { specificationVersion, doGenerate, doStream } = Object(model) as Partial<LanguageModel>;
  const isKnown = specificationVersion === "v2" || specificationVersion === "v3" || specificationVersion === "v4";
  if (isKnown && typeof doGenerate === "function" && typeof doStream === "function") return;
  const expected = "a language model of the AI SDK, specification v2, v3 or v4, such as openai(modelId) gives";
  if (specificationVersion === undefined) throw invalidArgument("the model", model, expected);
  const received = `specification ${String(specificationVersion)}`;
  const details = { argument: "the model", received, expected };
  throw new ToolCallExtensionsError("invalid-argument", `the model must be ${expected}; received ${received}`, details);
}

function assertOptions(options: unknown, version: LanguageModel["specificationVersion"]): void {
  if (typeof options !== "object" || options === null) {
    throw invalidArgument("the options of the model", options, "an object");
  }
  // What JavaScript passes; the tools are checked where they are made into what the model is sent.
  const { onWarning, providerTools } = options as LanguageModelOptions;
  if (onWarning !== undefined && typeof onWarning !== "function") {
    throw invalidArgument("option onWarning", onWarning, "a function");
  }
  for (const [name, tool] of Object.entries(providerTools ?? {})) toProviderTool(name, tool, version);
}

function toCallOptions(request: ModelRequest, model: LanguageModel, options: LanguageModelOptions): CallOptions {
  const { settings = {}, toolOptions = {}, providerTools = {} } = options;
  const tools = [
    ...request.tools
      .filter(({ name }) => !Object.keys(providerTools).some((key) => name === key || name.startsWith(`${key}.`)))
      .map((tool) => toFunctionTool(tool, Object.hasOwn(toolOptions, tool.name) ? toolOptions[tool.name] : undefined)),
    ...Object.entries(providerTools).map(([name, tool]) => toProviderTool(name, tool, model.specificationVersion)),
  ];
  return {
    ...(typeof settings === "function" ? settings(request, lastMetadata(request.messages)) : settings),
    prompt: toPrompt(request, model.specificationVersion),
    ...(tools.length > 0 && { tools }),
    ...(request.outputSchema && { responseFormat: { type: "json", schema: request.outputSchema } }),
    abortSignal: request.signal,
  };
}

function toFunctionTool(
  { name, description, inputSchema }: ModelRequest["tools"][number],
  providerOptions: ProviderOptions | undefined,
): object {
  const rest = { ...(description !== undefined && { description }), ...(providerOptions && { providerOptions }) };
  return { type: "function", name, inputSchema, ...rest };
}

/** The AI SDK's own type does not tell a provider's tool from any other. */
function toProviderTool(name: string, tool: object, version: LanguageModel["specificationVersion"]): object {
  const { id, args } = Object(tool) as { readonly id?: unknown; readonly args?: unknown };
  if (typeof id === "string" && typeof args === "object") {
    return { type: version === "v2" ? "provider-defined" : "provider", id, name, args };
  }
  throw invalidArgument(`option providerTools.${name}`, tool, "a tool that its provider defines");
}

function lastMetadata(messages: readonly Message[]): ProviderMetadata | undefined {
  const part = messages.findLast(({ role }) => role === "assistant");
  const note = part?.role === "assistant" ? part.content.at(-1) : undefined;
  if (note?.type !== "provider") return undefined;
  const carried = carriedPart(note);
  return carried.type === "response" ? carried.providerMetadata : undefined;
}

type Answered = Finish & { readonly content: readonly Content[] };

function toResponse(answer: Answered): ModelResponse {
  const { content, finishReason, providerMetadata } = answer;
  assertWhole(content, finishReason);
  const inputTokens = toCount(answer.usage.inputTokens);
  const outputTokens = toCount(answer.usage.outputTokens);
  return {
    content: toAssistantParts(content, providerMetadata),
    finishReason: unify(finishReason),
    ...((inputTokens ?? outputTokens) !== undefined && {
      usage: { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 },
    }),
  };
}

/**
 * Refuses an answer that is not whole. A call's arguments are whole when they are a JSON object, as no beginning of one is
 * one itself; where the provider has finished properly, the loop tells the model what is wrong with them. Empty arguments
 * of the last call are the exception: a client writes `{}` where a call was cut off before its arguments began.
 */
function assertWhole(content: readonly Content[], finishReason: FinishReason): void {
  const reason = unify(finishReason);
  const raw = typeof finishReason === "object" ? finishReason.raw : undefined;
  const said = `"${raw ?? reason}"`;
  if (reason === "error") throw new Error(`the provider ended its answer with an error (${said})`);
  if (reason === "interrupted") throw new Error(`its answer was cut off (${said})`);
  if (reason === "stop" || reason === "tool-calls") return;
  const calls = content
    .filter((part) => part.type === "tool-call")
    .filter(({ providerExecuted }) => providerExecuted !== true);
  const cut = calls.find(({ input }, index) => {
    const value = parseObject(input);
    return value === undefined || (index === calls.length - 1 && Object.keys(value).length === 0);
  });
  if (cut !== undefined) throw new Error(`its answer was cut off (${said}) in a call of tool "${cut.toolName}"`);
}

/** More than a turn with many tools of the provider's takes. */
const MAX_PAUSES = 32;

/**
 * Tells whether the provider has paused in the middle of tools of its own, and goes on when it is sent what it has said so
 * far. Specification 2 does not tell.
 *
 * Source: `pause_turn` of https://docs.claude.com/en/api/handling-stop-reasons
 */
function isPaused({ content, finishReason }: Answered, pauses: number): boolean {
  if (typeof finishReason === "string" || finishReason.raw !== "pause_turn") return false;
  if (content.some((part) => part.type === "tool-call" && part.providerExecuted !== true)) return false;
  if (pauses < MAX_PAUSES) return true;
  throw new Error(`the provider paused its turn ("pause_turn") ${pauses + 1} times and gave no answer`);
}

function continued(request: ModelRequest, { content = [] }: Partial<ModelResponse> = {}): ModelRequest {
  return content.length === 0
    ? request
    : { ...request, messages: [...request.messages, { role: "assistant", content }] };
}

/** One answer of two halves; what was said beside the first has served its turn. */
function joined(first: ModelResponse | undefined, second: ModelResponse): ModelResponse {
  if (first === undefined) return second;
  const [one, two] = [first.usage ?? NO_TOKENS, second.usage ?? NO_TOKENS];
  return {
    ...second,
    content: [...first.content.filter((part) => !isNote(part)), ...second.content],
    usage: { inputTokens: one.inputTokens + two.inputTokens, outputTokens: one.outputTokens + two.outputTokens },
  };
}

const NO_TOKENS = { inputTokens: 0, outputTokens: 0 };

function isNote(part: AssistantPart): boolean {
  return part.type === "provider" && carriedPart(part).type === "response";
}

function unify(finishReason: FinishReason): string {
  return typeof finishReason === "string" ? finishReason : finishReason.unified;
}

function toCount(tokens: Finish["usage"]["inputTokens"]): number | undefined {
  const count = typeof tokens === "object" ? tokens.total : tokens;
  return typeof count === "number" && count >= 0 ? count : undefined;
}
