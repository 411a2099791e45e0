import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { ScriptedAnswer } from "./scripts.ts";

export interface ScriptedProvider extends AsyncDisposable {
  /** The base URL for any OpenAI-compatible client. */
  readonly url: string;
}

interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly stream?: boolean;
}

/** Serves OpenAI's chat completions on loopback: each model plays its script, blocking and streaming. */
export async function startScriptedProvider(
  scripts: Readonly<Record<string, readonly ScriptedAnswer[]>>,
): Promise<ScriptedProvider> {
  const server = createServer(async (request, response) => {
    const { model, messages, stream } = await read(request);
    const answer = scripts[model]?.[messages.filter(({ role }) => role === "assistant").length];
    if (answer === undefined) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { message: `the script of model "${model}" is over` } }));
    } else if (stream) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const data of toEvents(answer, model)) response.write(`data: ${data}\n\n`);
      response.end();
    } else {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(toCompletion(answer, model)));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(() => resolve()));
  };
  return { url: `http://127.0.0.1:${port}/v1`, [Symbol.asyncDispose]: close };
}

async function read(request: IncomingMessage): Promise<ChatRequest> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

function toCalls({ calls = [] }: ScriptedAnswer): readonly { readonly function: { readonly arguments: string } }[] {
  return calls.map(({ name, input }, index) => {
    const id = `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    return { index, id, type: "function", function: { name, arguments: JSON.stringify(input) } };
  });
}

function toCompletion(answer: ScriptedAnswer, model: string): object {
  const tool_calls = toCalls(answer);
  const message = { role: "assistant", content: answer.text ?? null, ...(tool_calls.length > 0 && { tool_calls }) };
  const choice = { index: 0, message, finish_reason: tool_calls.length > 0 ? "tool_calls" : "stop" };
  return { id: "c", object: "chat.completion", created: 0, model, choices: [choice], usage: USAGE };
}

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

/** Text in words and arguments in two halves, as a real stream brings them. */
function* toEvents(answer: ScriptedAnswer, model: string): Generator<string> {
  const chunk = (delta: object, finish_reason: string | null = null): string => {
    const choices = [{ index: 0, delta, finish_reason }];
    const usage = finish_reason === null ? null : USAGE;
    return JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model, choices, usage });
  };
  for (const word of answer.text?.match(/\S+\s*/g) ?? []) yield chunk({ role: "assistant", content: word });
  const calls = toCalls(answer);
  for (const [index, call] of calls.entries()) {
    const { arguments: text } = call.function;
    const half = Math.ceil(text.length / 2);
    yield chunk({ tool_calls: [{ ...call, function: { ...call.function, arguments: text.slice(0, half) } }] });
    yield chunk({ tool_calls: [{ index, function: { arguments: text.slice(half) } }] });
  }
  yield chunk({}, calls.length > 0 ? "tool_calls" : "stop");
  yield "[DONE]";
}
