import { Agent, ToolSet } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

describe("new Agent", () => {
  const model = scriptedModel(["Hello!"]);
  const make = (options: object) => () => new Agent({ name: "support", model, ...options });

  it.each([
    ["an agent's name must be a non-empty string; received an empty string", { name: "" }],
    ["an agent's name must be a non-empty string; received undefined", { name: undefined }],
    ['the model of agent "support" must be an object with generate(request); received a string', { model: "gpt" }],
    ['the model of agent "support" must be an object with generate(request); received an object', { model: {} }],
    ['the model of agent "support" must be an object with generate(request); received undefined', { model: undefined }],
    ["maxTurns must be a positive integer; received 0", { maxTurns: 0 }],
    ["the tools of a ToolSet must be an array of tools; received an object", { tools: {} }],
  ])("refuses a bad option by name: %s", (message, options) => {
    expect(make(options)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: `[invalid-argument] ${message}` }),
    );
  });

  it("takes a set of tools as it is, and makes one of an array or of nothing", () => {
    const tool = recordingTool({ name: "probe" });
    const tools = new ToolSet([tool]);
    expect(new Agent({ name: "support", model, tools }).tools).toBe(tools);
    expect(new Agent({ name: "support", model, tools: [tool] }).tools.get("probe")).toBe(tool);
    expect(new Agent({ name: "support", model }).tools.size).toBe(0);
  });

  it("gives an agent that nobody can change", () => {
    expect(Object.isFrozen(new Agent({ name: "support", model }))).toBe(true);
  });
});
