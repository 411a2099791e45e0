import { isSameJson } from "./same-json.ts";

/** What is read of the AI SDK's messages, which 5, 6 and 7 have alike. */
interface HostMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

interface HostPart {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly toolCallId?: unknown;
  readonly toolName?: unknown;
  readonly input?: unknown;
  readonly approvalId?: unknown;
  readonly approved?: unknown;
}

interface Place {
  /** From 1, since the last message of the user. */
  readonly turn: number;
  readonly earlierCallIds: readonly string[];
  readonly isApproved: boolean;
  /** Whether the call is in the messages itself, as one that had to wait for approval is. */
  readonly isWaiting: boolean;
  /** Tells the run from others of the conversation: the place and the text of what the user asked. */
  readonly question: readonly string[];
}

/** A call, as its tool is handed it. */
interface CallToPlace {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/**
 * Finds out where a call stands from the messages that its tool is handed: those that the model was sent, without the
 * answer that made the call. A call that had to wait for approval is in them itself, and the approval after it.
 */
export function placeInConversation(call: CallToPlace, messages: readonly unknown[]): Place {
  // Only known fields are read, and each is checked.
  const list = messages as readonly HostMessage[];
  const asked = list.findLastIndex(({ role }) => role === "user");
  const answers = list.flatMap((message, index) => {
    return message.role === "assistant" ? [{ index, parts: partsOf(message) }] : [];
  });
  const last = answers.at(-1);
  const replies = list.slice(last?.index).flatMap((message) => (message.role === "tool" ? partsOf(message) : []));
  const request = last && waitingRequest(call, last.parts, replies);
  const earlier = request === undefined ? answers : answers.slice(0, -1);
  return {
    turn: earlier.filter(({ index }) => index > asked).length + 1,
    earlierCallIds: earlier.flatMap(({ parts }) => {
      return parts.flatMap(({ type, toolCallId: id }) => (type === "tool-call" && typeof id === "string" ? [id] : []));
    }),
    isApproved: request !== undefined && replies.some((reply) => approves(reply, request.approvalId)),
    isWaiting: request !== undefined,
    question: [String(asked), ...textsOf(list[asked])],
  };
}

/**
 * Gives the request for approval of this very call. Once the messages hold a result under its id, or where tool or
 * arguments are others, the id has come again for another call, which nobody approved.
 */
function waitingRequest(
  { toolCallId, toolName, input }: CallToPlace,
  parts: readonly HostPart[],
  replies: readonly HostPart[],
): HostPart | undefined {
  if (replies.some((part) => part.type === "tool-result" && part.toolCallId === toolCallId)) return undefined;
  const ofCall = parts.filter((part) => part.toolCallId === toolCallId);
  const isIn = ofCall.some((part) => {
    return part.type === "tool-call" && part.toolName === toolName && isSameJson(part.input, input);
  });
  return isIn ? ofCall.find(({ type }) => type === "tool-approval-request") : undefined;
}

function approves(part: HostPart, approvalId: unknown): boolean {
  return part.type === "tool-approval-response" && part.approvalId === approvalId && part.approved === true;
}

/** The texts alone: a picture takes seconds to read, and not everything beside a text can be written down. */
function textsOf(message: HostMessage | undefined): readonly string[] {
  if (typeof message?.content === "string") return [message.content];
  const parts = message === undefined ? [] : partsOf(message);
  return parts.flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []));
}

function partsOf({ content }: HostMessage): readonly HostPart[] {
  return Array.isArray(content) ? content : [];
}
