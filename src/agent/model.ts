import type { JsonSchema } from "../tool/input-schema.ts";
import type { ToolDefinitionForModel } from "../tool/tool-set.ts";

/** Data of a provider that this library does not read: reasoning signatures, item ids. Carried back untouched. */
interface ProviderData {
  readonly providerData?: unknown;
}

interface TextPart extends ProviderData {
  readonly type: "text";
  readonly text: string;
}

/** A tool call as the model made it. */
export interface ToolCallPart extends ProviderData {
  readonly type: "tool-call";
  /** The provider's id; some send none or an empty one. */
  readonly toolCallId?: string | undefined;
  readonly toolName: string;
  /** The arguments, parsed or as JSON text. */
  readonly input: unknown;
}

/** A part that only its provider understands, such as reasoning. */
interface ProviderPart extends ProviderData {
  readonly type: "provider";
}

/** One piece of what a model answers. */
export type AssistantPart = TextPart | ToolCallPart | ProviderPart;

interface UserMessage {
  readonly role: "user";
  readonly text: string;
}

export interface AssistantMessage {
  readonly role: "assistant";
  readonly content: readonly AssistantPart[];
}

/** The result of one call. */
interface ToolMessage {
  readonly role: "tool";
  /** The id under which the model knows the call. */
  readonly toolCallId: string;
  readonly toolName: string;
  readonly text: string;
  readonly isError: boolean;
}

/** One entry of a conversation; plain JSON as long as the provider's data is. */
export type Message = UserMessage | AssistantMessage | ToolMessage;

/** Tokens, as the provider counts them. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** What a model is asked in one turn; it never holds an extension value. */
export interface ModelRequest {
  readonly instructions: string | undefined;
  readonly messages: readonly Message[];
  readonly tools: readonly ToolDefinitionForModel[];
  /** The JSON Schema of the final answer, when `.output(schema)` was asked for. */
  readonly outputSchema: JsonSchema | undefined;
  readonly signal: AbortSignal;
}

/** What a model answers in one turn. */
export interface ModelResponse {
  readonly content: readonly AssistantPart[];
  readonly usage?: Usage | undefined;
  /** The provider's word, such as `stop`, `tool-calls`, `length`. */
  readonly finishReason?: string | undefined;
}

/** A piece of a streamed turn. The last one is the whole response, so that a run is the same streamed and blocking. */
export type ModelStreamPart =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "response"; readonly response: ModelResponse };

/** Answers one turn. A model without `stream` is asked by `generate` in streaming runs too. */
export interface Model {
  generate(request: ModelRequest): Promise<ModelResponse>;
  stream?(request: ModelRequest): AsyncIterable<ModelStreamPart>;
}
