import { z } from "zod";
import { Agent, defineTool, type Message, type ModelRequest, type ModelResponse } from "../dist/index.js";

/** So many turns with so many calls each, then an answer. */
export interface Script {
  readonly turns: number;
  readonly calls: number;
}

/** One way to drive a loop; `run` gives the number of tool results in the conversation. */
export interface LoopContender {
  readonly name: string;
  readonly run: (script: Script) => Promise<number>;
}

export const NAME: string = "lookup_order";
export const DESCRIPTION: string = "Looks an order up";
export const PROMPT: string = "Where are my orders?";
export const schema: z.ZodObject<{ order: z.ZodNumber; note: z.ZodString }> = z.object({
  order: z.number(),
  note: z.string(),
});
type Input = z.infer<typeof schema>;
export const work = async ({ order, note }: Input): Promise<string> => `order ${order} ${note}`;

interface Call {
  readonly id: string;
  readonly input: string;
}

export function callsOf({ turns, calls }: Script, turn: number): readonly Call[] {
  if (turn >= turns) return [];
  return Array.from({ length: calls }, (_, index) => {
    return { id: `call_${turn}x${index}y`, input: JSON.stringify({ order: turn, note: "by the door" }) };
  });
}

function respond(script: Script, turn: number): ModelResponse {
  const calls = callsOf(script, turn);
  if (calls.length === 0) return { content: [{ type: "text", text: "Done." }] };
  return { content: calls.map(({ id, input }) => ({ type: "tool-call", toolCallId: id, toolName: NAME, input })) };
}

type ToolMessage = Extract<Message, { readonly role: "tool" }>;
type ToolCall = Extract<ModelResponse["content"][number], { readonly type: "tool-call" }>;

async function answer({ toolCallId = "", toolName, input }: ToolCall): Promise<ToolMessage> {
  const result = await schema["~standard"].validate(JSON.parse(String(input)));
  if (result.issues !== undefined) return { role: "tool", toolCallId, toolName, text: "not valid", isError: true };
  return { role: "tool", toolCallId, toolName, text: await work(result.value), isError: false };
}

/** What one would write by hand for one tool: parses, validates, awaits and records. */
export const bareLoop: LoopContender = {
  name: "bare loop",
  run: async (script) => {
    const messages: Message[] = [{ role: "user", text: PROMPT }];
    let turn = 0;
    const generate = async (_messages: readonly Message[]): Promise<ModelResponse> => respond(script, turn++);
    for (;;) {
      const { content } = await generate(messages);
      messages.push({ role: "assistant", content });
      const calls = content.filter((part) => part.type === "tool-call");
      if (calls.length === 0) return countResults(messages);
      messages.push(...(await Promise.all(calls.map(answer))));
    }
  },
};

function countResults(messages: readonly { readonly role?: string }[]): number {
  return messages.filter(({ role }) => role === "tool").length;
}

const lookup = defineTool({ name: NAME, description: DESCRIPTION, input: schema, call: work });

function request(script: Script): ReturnType<Agent["prompt"]> {
  let turn = 0;
  const generate = async (_request: ModelRequest): Promise<ModelResponse> => respond(script, turn++);
  const agent = new Agent({ name: "bench", model: { generate }, tools: [lookup] });
  return agent.prompt(PROMPT).maxTurns(script.turns + 1);
}

export const ours: LoopContender = {
  name: "ours",
  run: async (script) => countResults((await request(script).run()).messages),
};

export const oursListened: LoopContender = {
  name: "ours, a listener",
  run: async (script) => {
    let completed = 0;
    const listened = request(script).on(({ type }) => {
      if (type === "tool-completed") completed++;
    });
    await listened.run();
    return completed;
  },
};
