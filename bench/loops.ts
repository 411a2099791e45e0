import { AIMessage } from "@langchain/core/messages";
import {
  Agent as OpenAiAgent,
  Runner as OpenAiRunner,
  tool as openAiTool,
  setTracingDisabled,
  Usage,
} from "@openai/agents";
import { tool as aiTool, generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { createAgent, fakeModel, tool as langchainTool } from "langchain";
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

const NAME = "lookup_order";
const DESCRIPTION = "Looks an order up";
const PROMPT = "Where are my orders?";
const schema = z.object({ order: z.number(), note: z.string() });
type Input = z.infer<typeof schema>;
const work = async ({ order, note }: Input): Promise<string> => `order ${order} ${note}`;

interface Call {
  readonly id: string;
  readonly input: string;
}

function callsOf({ turns, calls }: Script, turn: number): readonly Call[] {
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

const NO_TOKENS = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0, text: 0, reasoning: 0 };
const aiLookup = aiTool({ description: DESCRIPTION, inputSchema: schema, execute: work });

export const ai: LoopContender = {
  name: "ai",
  run: async (script) => {
    let turn = 0;
    const model = new MockLanguageModelV4({
      doGenerate: async () => {
        const calls = callsOf(script, turn++);
        const content = calls.map(({ id, input }) => ({
          type: "tool-call" as const,
          toolCallId: id,
          toolName: NAME,
          input,
        }));
        const unified = calls.length > 0 ? ("tool-calls" as const) : ("stop" as const);
        return {
          content: calls.length > 0 ? content : [{ type: "text" as const, text: "Done." }],
          finishReason: { unified, raw: unified },
          usage: { inputTokens: NO_TOKENS, outputTokens: NO_TOKENS },
          warnings: [],
        };
      },
    });
    const result = await generateText({
      model,
      prompt: PROMPT,
      tools: { [NAME]: aiLookup },
      stopWhen: stepCountIs(script.turns + 1),
    });
    return result.steps.reduce((count, { toolResults }) => count + toolResults.length, 0);
  },
};

setTracingDisabled(true);
const openAiLookup = openAiTool({ name: NAME, description: DESCRIPTION, parameters: schema, execute: work });
const openAiRunner = new OpenAiRunner({ tracingDisabled: true });

export const agents: LoopContender = {
  name: "@openai/agents",
  run: async (script) => {
    let turn = 0;
    const model = {
      getResponse: async () => {
        const calls = callsOf(script, turn++);
        const output = calls.map(({ id, input }) => {
          const status = "completed" as const;
          return { type: "function_call" as const, callId: id, name: NAME, status, arguments: input };
        });
        const content = [{ type: "output_text" as const, text: "Done." }];
        const done = { type: "message" as const, role: "assistant" as const, status: "completed" as const, content };
        return { usage: new Usage(), output: calls.length > 0 ? output : [done] };
      },
      getStreamedResponse: () => {
        throw new Error("not streamed");
      },
    };
    const agent = new OpenAiAgent({ name: "bench", model, tools: [openAiLookup] });
    const result = await openAiRunner.run(agent, PROMPT, { maxTurns: script.turns + 1 });
    return result.newItems.filter(({ type }) => type === "tool_call_output_item").length;
  },
};

const langchainLookup = langchainTool(work, { name: NAME, description: DESCRIPTION, schema });

export const langchain: LoopContender = {
  name: "langchain",
  run: async (script) => {
    const model = fakeModel();
    for (let turn = 0; turn <= script.turns; turn++) {
      const calls = callsOf(script, turn);
      const tool_calls = calls.map(({ id, input }) => {
        return { id, name: NAME, args: JSON.parse(input) as Record<string, unknown>, type: "tool_call" as const };
      });
      model.respond(() => new AIMessage({ content: calls.length > 0 ? "" : "Done.", tool_calls }));
    }
    const agent = createAgent({ model, tools: [langchainLookup] });
    const result = await agent.invoke(
      { messages: [{ role: "user", content: PROMPT }] },
      { recursionLimit: 2 * script.turns + 10 },
    );
    return result.messages.filter((message) => message.getType() === "tool").length;
  },
};
