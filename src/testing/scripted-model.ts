import {
  type AssistantPart,
  invalidArgument,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  ToolCallExtensionsError,
  type Usage,
} from "../index.ts";

/** One answer of a scripted model: text, calls, both, or an error to fail with. */
export type ScriptedTurn =
  | string
  | Error
  | {
      readonly text?: string | undefined;
      readonly toolCalls?:
        | readonly { readonly toolName: string; readonly input: unknown; readonly toolCallId?: string | undefined }[]
        | undefined;
      readonly usage?: Usage | undefined;
    };

/** A model that plays a script and keeps what it was asked. */
export interface ScriptedModel extends Model {
  /** What the model was asked, in order: all that it was ever shown. */
  readonly requests: readonly ModelRequest[];
  stream(request: ModelRequest): AsyncIterable<ModelStreamPart>;
  /** @throws ToolCallExtensionsError `script-mismatch` when turns of the script are left over. */
  assertDone(): void;
}

/**
 * Plays a script instead of asking a model: a list gives one turn for each request in order, a function answers from the
 * request and so serves concurrent runs. Text is streamed in pieces of a few characters.
 *
 * A request after the script's end fails the run with `model-failed`, whose cause has the code `script-mismatch`.
 *
 * @example
 * ```ts
 * import { Agent } from "tool-call-extensions";
 * import { scriptedModel } from "tool-call-extensions/testing";
 *
 * const model = scriptedModel(["Hello!"]);
 * const result = await new Agent({ name: "greeter", model }).prompt("Hi").run();
 * if (result.output !== "Hello!") throw new Error("another answer");
 * if (model.requests[0]?.messages[0]?.role !== "user") throw new Error("the prompt was not sent");
 * model.assertDone();
 * ```
 */
export function scriptedModel(
  script: readonly ScriptedTurn[] | ((request: ModelRequest) => ScriptedTurn),
): ScriptedModel {
  if (typeof script !== "function" && !Array.isArray(script)) {
    throw invalidArgument("the script of scriptedModel()", script, "a list of turns or a function");
  }
  const requests: ModelRequest[] = [];
  const respond = (request: ModelRequest): ModelResponse => {
    request.signal.throwIfAborted();
    requests.push(request);
    const turn = typeof script === "function" ? script(request) : script[requests.length - 1];
    if (turn === undefined) throw mismatch(`was asked for turn ${requests.length}`, requests.length, script.length);
    if (turn instanceof Error) throw turn;
    return toResponse(turn);
  };
  return {
    requests,
    async generate(request) {
      const response = respond(request);
      await heed(request);
      return response;
    },
    async *stream(request) {
      const response = respond(request);
      await heed(request);
      for (const part of response.content) {
        if (part.type !== "text") continue;
        for (const text of part.text.match(/.{1,7}/gsu) ?? []) yield { type: "text-delta", text };
      }
      yield { type: "response", response };
    },
    assertDone: () => {
      if (typeof script === "function" || requests.length >= script.length) return;
      throw mismatch(`was asked only ${requests.length} times`, requests.length, script.length);
    },
  };
}

/** A moment in which the request can be aborted, as there is with every provider. */
async function heed({ signal }: ModelRequest): Promise<void> {
  await null;
  signal.throwIfAborted();
}

function toResponse(turn: Exclude<ScriptedTurn, Error>): ModelResponse {
  const { text, toolCalls = [], usage } = typeof turn === "string" ? { text: turn } : turn;
  const calls = toolCalls.map((call): AssistantPart => ({ type: "tool-call", ...call }));
  const content = text === undefined ? calls : [{ type: "text", text } as const, ...calls];
  return { content, usage, finishReason: calls.length > 0 ? "tool-calls" : "stop" };
}

function mismatch(what: string, turn: number, turnsInScript: number): ToolCallExtensionsError {
  const turns = turnsInScript === 1 ? "1 turn" : `${turnsInScript} turns`;
  const message = `the scripted model has ${turns} and ${what}`;
  return new ToolCallExtensionsError("script-mismatch", message, { turn, turnsInScript });
}
