import type { AssistantPart, Message, Model, ModelRequest, ModelStreamPart } from "tool-call-extensions";

/** Makes a model of Acme's chat API, whose answers are lines of JSON: `{ delta }` or `{ call }`, and at last `{ tokens }`. */
export function acmeModel(url: string, key: string): Model {
  async function* stream({ signal, ...asked }: ModelRequest): AsyncGenerator<ModelStreamPart> {
    const { instructions: system, messages, tools: functions, outputSchema: answer } = asked;
    const body = JSON.stringify({ system, turns: messages.map(toTurn), functions, answer });
    // With the signal an aborted run leaves the provider, and rejects with its caller's reason.
    const response = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${key}` }, body, signal });
    if (!response.ok) throw new Error(`Acme answered HTTP ${response.status}`);
    const content: AssistantPart[] = [];
    for await (const line of linesOf(response)) {
      const { delta, call, tokens } = JSON.parse(line);
      if (delta !== undefined) yield { type: "text-delta", text: delta };
      if (delta !== undefined) content.push({ type: "text", text: delta });
      if (call !== undefined)
        content.push({ type: "tool-call", toolCallId: call.id, toolName: call.name, input: call.args });
      if (tokens === undefined) continue;
      yield { type: "response", response: { content, usage: { inputTokens: tokens[0], outputTokens: tokens[1] } } };
    }
  }
  const generate = async (request: ModelRequest) => {
    for await (const part of stream(request)) if (part.type === "response") return part.response;
    throw new Error("Acme's answer was cut off");
  };
  return { generate, stream };
}
function toTurn(message: Message): object {
  if (message.role === "user") return { from: "user", text: message.text };
  if (message.role === "tool") return { from: "function", call: message.toolCallId, text: message.text };
  return { from: "model", said: message.content };
}
async function* linesOf(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = "", piece = await reader?.read(); piece?.done === false; piece = await reader?.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
}
