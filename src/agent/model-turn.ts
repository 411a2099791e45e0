import { ToolCallExtensionsError } from "../errors.ts";
import type { Cancellation } from "../invocation/cancellation.ts";
import type { JsonSchema } from "../tool/input-schema.ts";
import type { Agent } from "./agent.ts";
import type { AssistantPart, Message, Model, ModelRequest, ModelResponse, Usage } from "./model.ts";
import type { RunState } from "./run-state.ts";

export interface TurnQuestion {
  readonly turn: number;
  /** A copy, because a model may keep its request and the run goes on appending. */
  readonly messages: readonly Message[];
  readonly outputSchema: JsonSchema | undefined;
  readonly isStreaming: boolean;
  readonly cancellation: Cancellation;
  readonly onText: ((text: string) => void) | undefined;
  /** Gives the run before the question, for the error: to write it down each turn costs as much as the turn's calls. */
  readonly state: () => RunState;
}

/**
 * Asks the agent's model for one turn.
 *
 * @throws ToolCallExtensionsError `model-failed` with the model's error as `cause`; the abort's reason when it was aborted.
 */
export function askModel(agent: Agent<string>, question: TurnQuestion): Promise<ModelResponse> {
  const { cancellation } = question;
  const modelRequest: ModelRequest = {
    instructions: agent.instructions,
    messages: question.messages,
    tools: agent.tools.definitions,
    outputSchema: question.outputSchema,
    signal: cancellation.signal,
  };
  return cancellation.raceTo(answer(agent.model, modelRequest, question), {
    done: (response) => response,
    failed: (cause) => {
      cancellation.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ToolCallExtensionsError(
        "model-failed",
        `the model of agent "${agent.name}" failed in turn ${question.turn}: ${reason}`,
        withState({ agentName: agent.name, turn: question.turn }, question.state()),
        { cause },
      );
    },
  });
}

async function answer(model: Model, request: ModelRequest, question: TurnQuestion): Promise<ModelResponse> {
  const { onText, cancellation } = question;
  if (question.isStreaming && model.stream !== undefined) {
    for await (const part of model.stream(request)) {
      cancellation.throwIfAborted();
      if (part?.type === "response") return checkResponse(part.response);
      if (part?.type !== "text-delta" || typeof part.text !== "string") {
        throw new TypeError("its stream has a part that is neither a text-delta with a text nor a response");
      }
      onText?.(part.text);
    }
    throw new Error("its stream ended without a response part");
  }
  const response = checkResponse(await model.generate(request));
  if (onText === undefined || cancellation.isAborted) return response;
  for (const part of response.content) {
    if (part.type === "text" && part.text !== "") onText(part.text);
  }
  return response;
}

/** A model is somebody else's code: what it answers is checked before the loop reads it. */
function checkResponse(response: ModelResponse): ModelResponse {
  if (!Array.isArray(response?.content)) throw new TypeError("its response has no content array");
  for (const part of response.content as readonly (Partial<AssistantPart> | null | undefined)[]) {
    if (typeof part?.type !== "string") throw new TypeError("its response has a part without a type");
    if (part.type === "text" && typeof part.text !== "string")
      throw new TypeError("a text part of its response has no text");
    if (part.type === "tool-call" && typeof part.toolName !== "string") {
      throw new TypeError("a tool call of its response has no toolName");
    }
  }
  return response;
}

/** What is no number counts for nothing: a provider that counts oddly is no reason to lose a run. */
export function totalUsage(total: Usage, more: Usage): Usage {
  const inputTokens = total.inputTokens + countOf(more.inputTokens);
  return { inputTokens, outputTokens: total.outputTokens + countOf(more.outputTokens) };
}

function countOf(tokens: unknown): number {
  return typeof tokens === "number" && Number.isFinite(tokens) ? tokens : 0;
}

export function tooManyTurns(agentName: string, maxTurns: number, state: RunState): ToolCallExtensionsError {
  const message = `agent "${agentName}" still called tools after ${maxTurns} turns; raise .maxTurns()`;
  return new ToolCallExtensionsError("max-turns", message, withState({ maxTurns }, state));
}

/** There to be read, and not among what is printed or logged of an error: a state holds the conversation. */
function withState<Details extends object>(details: Details, state: RunState): Details & { readonly state: RunState } {
  return Object.defineProperty({ ...details, state }, "state", { enumerable: false });
}
