import { AIMessage } from "@langchain/core/messages";
import {
  Agent as OpenAiAgent,
  Runner as OpenAiRunner,
  tool as openAiTool,
  setTracingDisabled,
  Usage,
} from "@openai/agents";
import { createAgent, fakeModel, tool as langchainTool } from "langchain";
import { callsOf, DESCRIPTION, type LoopContender, NAME, PROMPT, schema, work } from "./loops.ts";

// Apart from ours and from the AI SDK, because to import these makes everybody's calls dearer.

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
