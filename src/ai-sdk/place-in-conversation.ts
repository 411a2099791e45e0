/** What is read of the AI SDK's messages, which 5, 6 and 7 have alike. */
interface HostMessage {
  readonly role?: unknown;
  readonly content?: unknown;
}

interface HostPart {
  readonly type?: unknown;
  readonly toolCallId?: unknown;
  readonly approvalId?: unknown;
  readonly approved?: unknown;
}

interface Place {
  /** From 1, since the last message of the user. */
  readonly turn: number;
  readonly earlierCallIds: readonly string[];
  readonly isApproved: boolean;
  /** Tells the run from others of the conversation: the place and the text of what the user asked. */
  readonly question: readonly string[];
}

/**
 * Finds out where a call stands from the messages that its tool is handed: those that the model was sent, without the
 * answer that made the call. A call that had to wait for approval is in them itself, and the approval after it.
 */
export function placeInConversation(toolCallId: string, messages: readonly unknown[]): Place {
  // Only known fields are read, and each is checked.
  const list = messages as readonly HostMessage[];
  const asked = list.findLastIndex(({ role }) => role === "user");
  const answers = list.flatMap((message, index) => {
    return message.role === "assistant" ? [{ index, parts: partsOf(message) }] : [];
  });
  const last = answers.at(-1);
  const request = last?.parts.find((part) => part.type === "tool-approval-request" && part.toolCallId === toolCallId);
  const isInLast = request !== undefined;
  const earlier = isInLast ? answers.slice(0, -1) : answers;
  return {
    turn: earlier.filter(({ index }) => index > asked).length + 1,
    earlierCallIds: earlier.flatMap(({ parts }) => {
      return parts.flatMap(({ type, toolCallId: id }) => (type === "tool-call" && typeof id === "string" ? [id] : []));
    }),
    isApproved: isInLast && list.some((message) => message.role === "tool" && approves(message, request.approvalId)),
    question: [String(asked), JSON.stringify(list[asked]?.content) ?? ""],
  };
}

function approves(message: HostMessage, approvalId: unknown): boolean {
  return partsOf(message).some((part) => {
    return part.type === "tool-approval-response" && part.approvalId === approvalId && part.approved === true;
  });
}

function partsOf({ content }: HostMessage): readonly HostPart[] {
  return Array.isArray(content) ? content : [];
}
