/** What a provider says beside the content, by the provider's name; JSON. */
export type ProviderMetadata = Readonly<Record<string, unknown>>;

interface WithMetadata {
  readonly providerMetadata?: ProviderMetadata | undefined;
}

/** A file as the specifications give it: bytes or base64 text in 2 and 3, `{ type: "data" | "url" }` around them in 4. */
export type FileData =
  | string
  | Uint8Array
  | { readonly type: "data"; readonly data: string | Uint8Array }
  | { readonly type: "url"; readonly url: URL | string };

/** A call as the model made it; `input` is JSON text. */
export interface ToolCallContent extends WithMetadata {
  readonly type: "tool-call";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
  readonly providerExecuted?: boolean | undefined;
}

/** The result of a tool that the provider ran. */
interface ToolResultContent extends WithMetadata {
  readonly type: "tool-result";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly result: unknown;
  readonly isError?: boolean | undefined;
  /** Followed by another result of the same call. */
  readonly preliminary?: boolean | undefined;
}

/** The provider asks whether it may run a call of its own. */
interface ApprovalRequest extends WithMetadata {
  readonly type: "tool-approval-request";
  readonly approvalId: string;
  readonly toolCallId: string;
}

/** What a model answers with; `custom` and `reasoning-file` are of specification 4. */
export type Content =
  | ({ readonly type: "text"; readonly text: string } & WithMetadata)
  | ({ readonly type: "reasoning"; readonly text: string } & WithMetadata)
  | ({ readonly type: "file" | "reasoning-file"; readonly mediaType: string; readonly data: FileData } & WithMetadata)
  | ({ readonly type: "custom"; readonly kind: string } & WithMetadata)
  | ({ readonly type: "source"; readonly id: string } & WithMetadata)
  | ToolCallContent
  | ToolResultContent
  | ApprovalRequest;

/** A word in specification 2, the word and the provider's own from 3 on. */
export type FinishReason = string | { readonly unified: string; readonly raw: string | undefined };

/** A number in specification 2, parts and their total from 3 on. */
type TokenCount = number | undefined | { readonly total: number | undefined };

/** How a model's answer ended. */
export interface Finish extends WithMetadata {
  readonly finishReason: FinishReason;
  readonly usage: { readonly inputTokens: TokenCount; readonly outputTokens: TokenCount };
}

/** Something the provider could not do as it was asked. */
export interface Warning {
  readonly type: string;
  readonly feature?: string;
  readonly setting?: unknown;
  readonly tool?: { readonly name: string };
  readonly details?: string;
  readonly message?: string;
}

interface GenerateResult extends Finish {
  readonly content: readonly Content[];
  readonly warnings: readonly Warning[];
}

interface Block extends WithMetadata {
  readonly id: string;
}

/** A piece of a streamed answer. */
export type StreamPart =
  | ({ readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end" } & Block)
  | ({ readonly type: "text-delta" | "reasoning-delta"; readonly delta: string } & Block)
  | ({ readonly type: "tool-input-start"; readonly toolName: string } & Block)
  | ({ readonly type: "tool-input-delta"; readonly delta: string } & Block)
  | ({ readonly type: "tool-input-end" } & Block)
  | { readonly type: "stream-start"; readonly warnings: readonly Warning[] }
  | { readonly type: "response-metadata" | "raw" | "ping" }
  | { readonly type: "error"; readonly error: unknown }
  | ({ readonly type: "finish" } & Finish)
  | Exclude<Content, { readonly type: "text" | "reasoning" }>;

/** What a model is asked. The prompt and the tools are as the specification in question has them. */
export interface CallOptions {
  readonly prompt: readonly object[];
  readonly tools?: readonly object[] | undefined;
  readonly responseFormat?: object | undefined;
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * A language model of the AI SDK, of specification 2, 3 or 4: what `openai("gpt-5")` and the like give. Structural, so that
 * neither the AI SDK nor any of its versions has to be installed.
 *
 * Source: `LanguageModelV2`, `LanguageModelV3` and `LanguageModelV4` of `@ai-sdk/provider` 2, 3 and 4.
 */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: CallOptions): PromiseLike<GenerateResult>;
  doStream(options: CallOptions): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>;
}
