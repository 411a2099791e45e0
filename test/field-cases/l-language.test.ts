import { Agent, extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const inherited = ["constructor", "toString", "hasOwnProperty", "__proto__", "then", "valueOf"];

describe("H24 openai/openai-node PR #2333: a name of Object.prototype was taken for a tool", () => {
  it.each(inherited)("treats a call of %s as one of an unknown tool", async (toolName) => {
    const ping = recordingTool({ name: "ping" });
    const model = scriptedModel([{ toolCalls: [{ toolName, input: { polluted: true } }] }, "Done."]);
    const { messages, output } = await new Agent({ name: "a", model, tools: [ping] }).prompt("x").run();
    expect(messages[2]).toMatchObject({ isError: true, text: `There is no tool "${toolName}". Available: ping.` });
    expect(output).toBe("Done.");
    expect(ping.calls).toEqual([]);
  });

  it.each(inherited)("calls a tool that is named %s, and it alone", async (name) => {
    const tool = recordingTool({ name });
    const toolCalls = [name, "isPrototypeOf"].map((toolName) => ({ toolName, input: {} }));
    const model = scriptedModel([{ toolCalls }, "Done."]);
    const { messages } = await new Agent({ name: "a", model, tools: [tool] }).prompt("x").run();
    expect(messages[2]).toMatchObject({ toolName: name, text: "recorded", isError: false });
    expect(messages[3]).toMatchObject({ toolName: "isPrototypeOf", isError: true });
    expect(tool.calls).toHaveLength(1);
  });

  it("leaves Object.prototype as it is, whatever the arguments", async () => {
    const input = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    const tools = new ToolSet([recordingTool({ name: "ping" })]);
    await tools.call("ping", input);
    await tools.call("__proto__", input);
    expect("polluted" in {}).toBe(false);
  });

  it.each(inherited)("stores and reads a token with the id %s as any other", (id) => {
    const token = extensionToken(id).of<string>();
    const extensions = new ToolCallExtensions().with(token, "value");
    expect(extensions.get(token)).toBe("value");
    expect(extensions.toJSON()).toEqual([id]);
    expect(new ToolCallExtensions().has(token)).toBe(false);
  });

  it("carries tokens with such ids to a tool", async () => {
    const tokens = inherited.map((id) => extensionToken(id).of<string>());
    const extensions = new ToolCallExtensions<string>();
    for (const token of tokens) extensions.insert(token, token.id);
    const probe = recordingTool({ name: "probe" });
    const model = scriptedModel([{ toolCalls: [{ toolName: "probe", input: {} }] }, "Done."]);
    await new Agent({ name: "a", model, tools: [probe] }).prompt("x").toolExtensions(extensions).run();
    expect(tokens.map((token) => probe.calls[0]?.extensions.get(token))).toEqual(inherited);
  });
});

describe("H25 apollographql/apollo-server #2501: a lazy query builder with then() ran twice for each use", () => {
  function counting() {
    const counter = recordingTool({ name: "counter" });
    const model = scriptedModel(({ messages }) =>
      messages.length === 1 ? { toolCalls: [{ toolName: "counter", input: {}, toolCallId: "toolu_01" }] } : "Done.",
    );
    const request = new Agent({ name: "a", model, tools: [counter] })
      .prompt("x")
      .toolExtensions(new ToolCallExtensions());
    return { counter, model, request };
  }

  it("has no then, catch or finally", () => {
    const { request } = counting();
    expect("then" in request || "catch" in request || "finally" in request).toBe(false);
  });

  it("runs nothing when it is awaited, and is what await gives", async () => {
    const { counter, model, request } = counting();
    expect(await request).toBe(request);
    expect(await Promise.all([request, request])).toEqual([request, request]);
    expect(await (async () => request)()).toBe(request);
    expect(model.requests).toEqual([]);
    expect(counter.calls).toEqual([]);
  });

  it("runs once for each .run(), with equal results", async () => {
    const { counter, request } = counting();
    const results = [await request.run(), await request.run()];
    expect(counter.calls).toHaveLength(2);
    expect(results[0]?.output).toBe(results[1]?.output);
    expect(results[0]?.messages).toEqual(results[1]?.messages);
    expect(results[0]?.runId).not.toBe(results[1]?.runId);
  });

  it("runs once for each .stream() that is iterated", async () => {
    const { counter, request } = counting();
    for (const stream of [request.stream(), request.stream()]) {
      for await (const event of stream) expect(event.at).toBeGreaterThan(0);
    }
    request.stream();
    expect(counter.calls).toHaveLength(2);
  });
});
