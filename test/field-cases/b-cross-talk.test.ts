import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  Runner,
  ToolCallExtensions,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<string>();

interface Read {
  readonly run: string;
  readonly byArgument: string | undefined;
  readonly byAccessor: string | undefined;
}

/** One agent whose model makes two parallel calls under ids that begin with the prompt; each call reads three times. */
function readingAgent() {
  const reads: Read[] = [];
  const reader = defineTool({
    name: "reader",
    input: { type: "object" },
    callWithExtensions: async ({ run }, extensions) => {
      for (let point = 0; point < 3; point++) {
        await sleep(Math.random() * 20);
        const byAccessor = currentToolInvocation()?.providerToolCallId?.split("/")[0];
        reads.push({ run: String(run), byArgument: extensions.get(Session), byAccessor });
      }
    },
  });
  const { generate, stream } = scriptedModel(({ messages: [prompt, ...others] }) => {
    const run = prompt?.role === "user" ? prompt.text : "";
    const call = (index: number) => ({ toolName: "reader", input: { run }, toolCallId: `${run}/${index}` });
    return others.length === 0 ? { toolCalls: [call(0), call(1)] } : `${run} done.`;
  });
  return { reads, agent: new Agent({ name: "shared", model: { generate, stream }, tools: new ToolSet([reader]) }) };
}

describe("H06 langchain-ai/langgraphjs PR #2552: one user's tool saw another user's thread through a shared agent", () => {
  it("keeps 200 concurrent runs of one agent apart, half of them streaming, and the runs without a session among them", async () => {
    const { agent, reads } = readingAgent();
    const runner = new Runner();
    const before = inspect([agent, agent.tools, runner], { depth: 10, showHidden: true });
    const drive = async (index: number): Promise<void> => {
      const isWithout = index >= 200;
      const run = isWithout ? `without ${index}` : `session ${index}`;
      const extensions = isWithout ? new ToolCallExtensions() : new ToolCallExtensions().with(Session, run);
      const request = agent.prompt(run).toolExtensions(extensions);
      if (index % 2 === 0) {
        expect((await runner.run(request)).output).toBe(`${run} done.`);
        return;
      }
      for await (const _event of runner.stream(request)) expect(currentToolInvocation()).toBeUndefined();
    };
    await Promise.all(Array.from({ length: 220 }, (_, index) => drive(index)));

    const withSession = reads.filter(({ run }) => run.startsWith("session"));
    expect(withSession).toHaveLength(1_200);
    expect(withSession.filter(({ run, byArgument }) => byArgument !== run)).toEqual([]);
    const without = reads.filter(({ run }) => run.startsWith("without"));
    expect(without).toHaveLength(120);
    expect(without.filter(({ byArgument }) => byArgument !== undefined)).toEqual([]);
    expect(reads.filter(({ run, byAccessor }) => byAccessor !== run)).toEqual([]);
    expect(inspect([agent, agent.tools, runner], { depth: 10, showHidden: true })).toBe(before);
  });
});
