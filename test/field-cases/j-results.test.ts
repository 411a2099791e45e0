import { Agent, type RunEvent } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

describe("H20 mastra-ai/mastra #14462: a result with a cycle crashed the agent on its next message", () => {
  const cyclic: { name: string; self?: unknown } = { name: "order" };
  cyclic.self = cyclic;
  const throwing = {
    toJSON: () => {
      throw new Error("canary");
    },
  };

  async function runWith(output: object) {
    const probe = recordingTool({ name: "probe", result: () => output });
    const call = { toolCalls: [{ toolName: "probe", input: {} }] };
    const model = scriptedModel([call, "Once.", call, "Twice."]);
    const agent = new Agent({ name: "a", model, tools: [probe] });
    const events: RunEvent[] = [];
    const first = await agent
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const second = await agent.prompt("y").history(first.messages).run();
    return {
      probe,
      first,
      second,
      ends: events.filter(({ type }) => type === "tool-completed" || type === "tool-failed"),
    };
  }

  it("marks the cycle in the text for the model, and the next prompt goes on from it", async () => {
    const { first, second } = await runWith(cyclic);
    const text = '{"name":"order","self":"[Circular]"}';
    expect(first.messages[2]).toMatchObject({ role: "tool", text, isError: false });
    expect(second.output).toBe("Twice.");
    expect(JSON.parse(JSON.stringify(second.messages))).toEqual(second.messages);
  });

  it("does not let a throwing toJSON through, nor its message", async () => {
    const { first, second } = await runWith({ order: 42, throwing });
    expect(first.messages[2]).toMatchObject({ text: '{"order":42,"throwing":"[unreadable]"}', isError: false });
    expect(JSON.stringify(second.messages)).not.toContain("canary");
  });

  it.each([
    ["a cycle", cyclic],
    ["a throwing toJSON", throwing],
  ])("counts a call that returned %s as done, once, and keeps its output by reference", async (_what, output) => {
    const { probe, ends } = await runWith(output);
    expect(probe.calls).toHaveLength(2);
    expect(ends).toHaveLength(1);
    expect(ends[0]?.type === "tool-completed" && ends[0].output).toBe(output);
  });
});
