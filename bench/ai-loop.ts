import { tool as aiTool, generateText, stepCountIs } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { callsOf, DESCRIPTION, type LoopContender, NAME, PROMPT, schema, work } from "./loops.ts";

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
