import type { AssistantPart } from "../index.ts";
import type { Content, FileData, ProviderMetadata, ToolCallContent } from "./language-model.ts";

/** What a provider said of a whole answer, kept at the end of the message and sent to nobody. */
interface ResponseNote {
  readonly type: "response";
  readonly providerMetadata: ProviderMetadata;
}

/** What a provider's part is carried as; plain JSON, since a conversation may be saved. */
export type CarriedPart = Exclude<Content, { readonly type: "text" | "tool-approval-request" }> | ResponseNote;

/** What is carried with a text or a call besides what the loop reads. */
interface CarriedData {
  readonly providerMetadata?: ProviderMetadata | undefined;
  /** The provider runs the call itself once it has been approved under this id. */
  readonly approvalId?: string | undefined;
}

/** Under a key of its own, so that another model's data is not taken for ours. */
interface Carrier<Data> {
  readonly aiSdk: Data;
}

function carrier<Data>(aiSdk: Data): Carrier<Data> {
  return { aiSdk };
}

/** Gives what a text or a call carries; nothing where another kind of model made it. */
export function carriedWith(part: AssistantPart | undefined): CarriedData {
  return readCarrier<CarriedData>(part) ?? {};
}

/** Gives the provider's own part. @throws Error where another kind of model made it: only that one understands it. */
export function carriedPart(part: AssistantPart): CarriedPart {
  const carried = readCarrier<CarriedPart>(part);
  if (carried !== undefined) return carried;
  throw new Error("the conversation holds a provider part that no AI SDK model made, and that none would understand");
}

/** The cast is the boundary: what stands under the key was written by {@link toAssistantParts}. */
function readCarrier<Data>(part: AssistantPart | undefined): Data | undefined {
  return (part?.providerData as Partial<Carrier<Data>> | undefined)?.aiSdk;
}

/** Turns an answer's content into parts of our own, with everything in them that its provider may want back. */
export function toAssistantParts(
  content: readonly Content[],
  providerMetadata: ProviderMetadata | undefined,
): readonly AssistantPart[] {
  const approvals = new Map(
    content.flatMap((part) => (part.type === "tool-approval-request" ? [[part.toolCallId, part.approvalId]] : [])),
  );
  const parts = content.flatMap((part) => toAssistantPart(part, approvals));
  if (providerMetadata === undefined) return parts;
  const note: CarriedPart = { type: "response", providerMetadata };
  return [...parts, { type: "provider", providerData: carrier(note) }];
}

function toAssistantPart(part: Content, approvals: ReadonlyMap<string, string>): readonly AssistantPart[] {
  switch (part.type) {
    case "text": {
      const { type, text, ...rest } = part;
      // Providers differ on whether no text is a part, and refuse to have an empty one back.
      if (text === "" && rest.providerMetadata === undefined) return [];
      const isBare = Object.values(rest).every((value) => value === undefined);
      return [{ type, text, ...(!isBare && { providerData: carrier(rest) }) }];
    }
    case "tool-call":
      return [toCallPart(part, approvals.get(part.toolCallId))];
    case "tool-approval-request":
      return [];
    case "tool-result":
      return part.preliminary === true ? [] : [providerPart(part)];
    case "file":
    case "reasoning-file":
      return [providerPart({ ...part, data: toJsonData(part.data) })];
    case "reasoning":
      return part.text === "" && part.providerMetadata === undefined ? [] : [providerPart(part)];
    case "custom":
    case "source":
      return [providerPart(part)];
    default:
      throw unknownPart(part);
  }
}

/** A call is the loop's, unless the provider runs it; one that waits for approval is the loop's until it is approved. */
function toCallPart(part: ToolCallContent, approvalId: string | undefined): AssistantPart {
  const { type, toolCallId, toolName, providerMetadata } = part;
  if (part.providerExecuted === true && approvalId === undefined) return providerPart(part);
  const data: CarriedData = {
    ...(providerMetadata !== undefined && { providerMetadata }),
    ...(approvalId !== undefined && { approvalId }),
  };
  const carried = Object.keys(data).length > 0 && { providerData: carrier(data) };
  return { type, toolCallId, toolName, input: parseInput(part.input), ...carried };
}

function providerPart(part: CarriedPart): AssistantPart {
  return { type: "provider", providerData: carrier(part) };
}

function unknownPart(part: never): Error {
  const { type } = part as { readonly type: unknown };
  return new Error(`its answer has a part of type "${String(type)}", which this version of the adapter does not know`);
}

/** Reads arguments that are a whole JSON object; gives any other text as it came, for the loop to say what is wrong. */
export function parseInput(input: string): unknown {
  if (input.trim() === "") return {};
  return parseObject(input) ?? input;
}

export function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    // Text that is no JSON is no object; whoever asks has the text.
    return undefined;
  }
}

function toJsonData(data: FileData): FileData {
  if (typeof data === "string") return data;
  if (data instanceof Uint8Array) return toBase64(data);
  if (data.type === "url") return { type: "url", url: String(data.url) };
  return { type: "data", data: typeof data.data === "string" ? data.data : toBase64(data.data) };
}

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
