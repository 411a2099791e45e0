import type { AssistantPart, Message, ModelRequest } from "../index.ts";
import { type CarriedPart, carriedPart, carriedWith, parseInput } from "./carried-part.ts";
import type { FileData, LanguageModel, ProviderMetadata } from "./language-model.ts";

type Version = LanguageModel["specificationVersion"];
type ToolMessage = Extract<Message, { readonly role: "tool" }>;
type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user" | "assistant" | "tool"; readonly content: object[] };

/**
 * Gives the conversation as a prompt of the specification. What a provider said beside a part goes back with it, as the
 * part's `providerOptions`.
 *
 * @throws Error when a part cannot be put into this version of the specification.
 */
export function toPrompt({ instructions, messages }: ModelRequest, version: Version): readonly object[] {
  const prompt: PromptMessage[] = instructions === undefined ? [] : [{ role: "system", content: instructions }];
  const calls = new Map<string, AssistantPart>();
  for (const message of messages) {
    if (message.role === "user") prompt.push({ role: "user", content: [{ type: "text", text: message.text }] });
    else if (message.role === "assistant") {
      for (const part of message.content) {
        if (part.type === "tool-call") calls.set(part.toolCallId ?? "", part);
      }
      const content = message.content.flatMap((part) => toPromptPart(part, version));
      if (content.length > 0) prompt.push({ role: "assistant", content });
    } else {
      const result = toResultPart(message, calls.get(message.toolCallId));
      const last = prompt.at(-1);
      // The results of one turn are one message: providers that alternate roles need them together.
      if (last?.role === "tool") last.content.push(result);
      else prompt.push({ role: "tool", content: [result] });
    }
  }
  return prompt;
}

function toPromptPart(part: AssistantPart, version: Version): readonly object[] {
  if (part.type === "provider") return toProviderPart(carriedPart(part), version);
  const { providerMetadata, approvalId } = carriedWith(part);
  const options = providerOptions(providerMetadata);
  if (part.type === "text") return [{ type: "text", text: part.text, ...options }];
  const { type, toolCallId, toolName } = part;
  if (!toolCallId) throw new Error(`the conversation holds a call of tool "${toolName}" without an id`);
  const input = toInput(part.input);
  return [
    { type, toolCallId, toolName, input, ...(approvalId !== undefined && { providerExecuted: true }), ...options },
  ];
}

/** Arguments that were no JSON object go back inside one: most providers refuse anything else, and the model sees its slip. */
function toInput(input: unknown): object {
  const value = typeof input === "string" ? parseInput(input) : input;
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? value : { invalidArguments: value };
}

function toProviderPart(part: CarriedPart, version: Version): readonly object[] {
  const options = providerOptions(part.providerMetadata);
  switch (part.type) {
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...options }];
    case "tool-call": {
      const { type, toolCallId, toolName, input } = part;
      return [{ type, toolCallId, toolName, input: toInput(input), providerExecuted: true, ...options }];
    }
    case "tool-result": {
      const { type, toolCallId, toolName, result = null, isError } = part;
      return [
        { type, toolCallId, toolName, output: { type: isError ? "error-json" : "json", value: result }, ...options },
      ];
    }
    case "file":
      return [{ type: "file", mediaType: part.mediaType, data: toFileData(part.data, version), ...options }];
    case "reasoning-file":
      if (version !== "v4") throw notInVersion(part.type, version);
      return [{ type: part.type, mediaType: part.mediaType, data: toFileData(part.data, version), ...options }];
    case "custom":
      if (version !== "v4") throw notInVersion(part.type, version);
      return [{ type: part.type, kind: part.kind, ...options }];
    // No prompt has a place for them: a source was quoted in a text, and a note is for the caller.
    case "source":
    case "response":
      return [];
  }
}

/** The answer to a provider that asked for approval, or the result of a call that ran here. */
function toResultPart({ toolCallId, toolName, text, isError }: ToolMessage, call: AssistantPart | undefined): object {
  const { providerMetadata, approvalId } = carriedWith(call);
  if (approvalId !== undefined) {
    return { type: "tool-approval-response", approvalId, approved: !isError, ...(isError && { reason: text }) };
  }
  const output = { type: isError ? "error-text" : "text", value: text };
  return { type: "tool-result", toolCallId, toolName, output, ...providerOptions(providerMetadata) };
}

function providerOptions(metadata: ProviderMetadata | undefined): object {
  return metadata === undefined ? {} : { providerOptions: metadata };
}

function toFileData(data: FileData, version: Version): unknown {
  const isPlain = typeof data === "string" || data instanceof Uint8Array;
  if (version === "v4") {
    if (isPlain) return { type: "data", data };
    return data.type === "url" ? { type: "url", url: new URL(data.url) } : data;
  }
  if (isPlain) return data;
  return data.type === "url" ? new URL(data.url) : data.data;
}

function notInVersion(type: string, version: Version): Error {
  return new Error(`the conversation holds a part of type "${type}", which specification ${version} has no place for`);
}
