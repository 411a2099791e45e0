import { Agent, defineTool, type Model, type RunEvent, type Tool, type ToolEvent } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

describe("H21 openai/openai-agents-js #753: a throwing function tool had a start event and never an end", () => {
  const throwNow = (): never => {
    throw new Error("no");
  };
  const input = z.object({ prompt: z.string() });
  const functionTool = (call: () => unknown): Tool<never, unknown, never> => defineTool({ name: "tool", input, call });
  const subAgent = (generate: Model["generate"]) =>
    new Agent({ name: "inner", model: { generate } }).asTool({ name: "tool" });
  const fine = { prompt: "x" };

  it.each<[string, string, Tool<never, unknown, never>, unknown, string]>([
    ["function", "succeeds", functionTool(() => "ok"), fine, "tool-completed"],
    ["function", "throws", functionTool(throwNow), fine, "tool-failed"],
    ["function", "rejects", functionTool(() => Promise.reject(new Error("no"))), fine, "tool-failed"],
    ["function", "gets invalid arguments", functionTool(() => "ok"), { prompt: 7 }, "tool-failed"],
    ["function", "gets broken JSON", functionTool(() => "ok"), '{"prompt', "tool-failed"],
    ["sub-agent", "succeeds", subAgent(scriptedModel(() => "ok").generate), fine, "tool-completed"],
    ["sub-agent", "throws", subAgent(throwNow), fine, "tool-failed"],
    ["sub-agent", "rejects", subAgent(() => Promise.reject(new Error("no"))), fine, "tool-failed"],
    ["sub-agent", "gets invalid arguments", subAgent(throwNow), { prompt: 7 }, "tool-failed"],
    ["sub-agent", "gets broken JSON", subAgent(throwNow), '{"prompt', "tool-failed"],
  ])("pairs requests and ends by id when a %s tool %s twice in parallel", async (_kind, _how, tool, sent, end) => {
    const call = { toolName: "tool", input: sent };
    const model = scriptedModel([{ toolCalls: [call, call] }, "Done."]);
    const events: RunEvent[] = [];
    await new Agent({ name: "outer", model, tools: [tool] })
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    const ofOuter = events.filter((event): event is ToolEvent => "invocation" in event);
    const byId = new Map<string, ToolEvent[]>();
    for (const event of ofOuter) {
      byId.set(event.invocation.toolCallId, [...(byId.get(event.invocation.toolCallId) ?? []), event]);
    }
    expect(byId.size).toBe(2);
    for (const pair of byId.values()) {
      expect(pair.map(({ type }) => type)).toEqual(["tool-requested", end]);
      expect(new Set(pair.map(({ invocation }) => invocation.invocationKey)).size).toBe(1);
    }
    expect(events.at(-1)).toMatchObject({ type: "run-completed", agentName: "outer" });
  });
});
