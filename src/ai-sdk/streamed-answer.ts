import type { Content, Finish, FinishReason, ProviderMetadata, StreamPart } from "./language-model.ts";

interface OpenBlock {
  readonly type: "text" | "reasoning";
  text: string;
  providerMetadata?: ProviderMetadata;
}

/** Puts a streamed answer together, so that it is the one a blocking request would have given. */
export class StreamedAnswer {
  readonly #content: Content[] = [];
  readonly #blocks = new Map<string, OpenBlock>();
  /** The tools of calls whose arguments have begun and not ended, by the provider's id. */
  readonly #begunCalls = new Map<string, string>();
  #finish: Finish | undefined;

  /**
   * Takes the next part.
   *
   * @throws The provider's error when the part is one: what was streamed before it is no answer.
   */
  add(part: StreamPart): void {
    switch (part.type) {
      case "text-start":
      case "text-delta":
      case "text-end":
        this.#addToBlock("text", part);
        break;
      case "reasoning-start":
      case "reasoning-delta":
      case "reasoning-end":
        this.#addToBlock("reasoning", part);
        break;
      case "tool-input-start":
        this.#begunCalls.set(part.id, part.toolName);
        break;
      case "finish":
        this.#finish = part;
        break;
      case "error":
        throw part.error instanceof Error ? part.error : new Error(textOf(part.error), { cause: part.error });
      case "tool-input-delta":
      case "tool-input-end":
      case "stream-start":
      case "response-metadata":
      case "raw":
      case "ping":
        break;
      default:
        if (part.type === "tool-call") this.#begunCalls.delete(part.toolCallId);
        this.#content.push(part);
    }
  }

  /** Gives the whole answer. @throws Error when the stream ended before the provider had finished it. */
  end(): Finish & { readonly content: readonly Content[] } {
    const [begunTool] = this.#begunCalls.values();
    if (begunTool !== undefined) throw new Error(`its stream ended in the middle of a call of tool "${begunTool}"`);
    if (this.#finish === undefined) throw new Error("its stream ended before the provider had finished");
    const { finishReason } = this.#finish;
    if (isUnsaid(finishReason)) {
      throw new Error("its stream ended without a finish reason, so the answer may have been cut off");
    }
    return { ...this.#finish, content: this.#content };
  }

  /** Blocks may be interleaved; each stands where it began. Of what the provider said beside it, the last word counts. */
  #addToBlock(type: OpenBlock["type"], part: Extract<StreamPart, { readonly id: string }>): void {
    const key = `${type} ${part.id}`;
    let block = part.type.endsWith("-start") ? undefined : this.#blocks.get(key);
    if (block === undefined) {
      block = { type, text: "" };
      this.#blocks.set(key, block);
      this.#content.push(block);
    }
    const { type: _type, id: _id, delta = "", providerMetadata, ...rest } = { delta: undefined, ...part };
    block.text += delta;
    Object.assign(block, rest, providerMetadata && { providerMetadata });
  }
}

/**
 * Tells what a client makes of a stream in which the provider never said why it ended. A blocking answer without a reason
 * is let pass: it came whole, or the client could not have read it.
 */
function isUnsaid(reason: FinishReason): boolean {
  return typeof reason === "string" ? reason === "unknown" : reason.unified === "other" && reason.raw === undefined;
}

function textOf(error: unknown): string {
  if (typeof error === "string") return error;
  const { message } = Object(error) as { readonly message?: unknown };
  return typeof message === "string" ? message : `the provider reported ${JSON.stringify(error)}`;
}
