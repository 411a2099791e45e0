import type { Message, PromptRequest, RunEvent, RunResult } from "tool-call-extensions";

export type Mode = "blocking" | "streaming";
export const MODES: readonly Mode[] = ["blocking", "streaming"];

export interface Ran<Output> {
  readonly result: RunResult<Output>;
  readonly events: readonly RunEvent[];
}

export async function runInMode<Output>(request: PromptRequest<never, Output>, mode: Mode): Promise<Ran<Output>> {
  const events: RunEvent[] = [];
  if (mode === "blocking") {
    const result = await request.on((event) => events.push(event)).run();
    return { result, events };
  }
  let result: RunResult<Output> | undefined;
  const finish = request.on((event) => {
    if (event.type !== "run-completed" || event.parent !== undefined) return;
    // The request's own run completed, and its output's type is the request's.
    result = event.result as RunResult<Output>;
  });
  for await (const event of finish.stream()) events.push(event);
  if (result === undefined) throw new Error("the run did not complete");
  return { result, events };
}

export interface SeenCall {
  readonly toolName: string;
  readonly input: unknown;
  readonly toolCallId: string;
  readonly providerToolCallId: string | undefined;
  readonly turn: number;
  readonly index: number;
}

/** The calls of a run in call order, as its events tell of them. */
export function callsOf(events: readonly RunEvent[]): readonly SeenCall[] {
  return events
    .flatMap((event) => {
      if (event.type !== "tool-completed") return [];
      const { toolName, toolCallId, providerToolCallId, turn, index } = event.invocation;
      return [{ toolName, input: event.input, toolCallId, providerToolCallId, turn, index }];
    })
    .sort((a, b) => a.turn - b.turn || a.index - b.index);
}

export function resultIdsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []));
}

export function textDeltasOf(events: readonly RunEvent[]): readonly string[] {
  return events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
}
