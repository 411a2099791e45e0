import { Agent, deriveInvocationKey, type Model, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { derivedKeys, invocationKeys, textOf } from "./invocation-key-vectors.ts";

/** A session key and a call id are never empty; the test of the recipe itself has those vectors as well. */
const possible = invocationKeys.filter(({ sessionKey, toolCallId }) => sessionKey !== "" && toolCallId !== "");

describe("the invocation key", () => {
  it.each(possible)("that a tool reads, of $name, is $key", async ({ sessionKey, toolCallId, key }) => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {}, { sessionKey: textOf(sessionKey), toolCallId });
    expect(tool.calls[0]?.invocation.invocationKey).toBe(key);
  });

  it("is another one for every vector", () => {
    expect(new Set(invocationKeys.map(({ key }) => key)).size).toBe(invocationKeys.length);
  });

  it("is 36 characters, which every API that takes such keys accepts", () => {
    for (const { key } of invocationKeys) {
      expect(key).toHaveLength(36);
      expect(key).toMatch(/^ik1_[0-9a-v]{32}$/);
    }
  });
});

/** Calls one tool twice, with an id that another turn repeats or with none, and ends. */
const asking = (toolName: string, toolCallId: string | undefined): Model => ({
  generate: async ({ messages }) => {
    const isDone = messages.filter(({ role }) => role === "assistant").length > 1;
    const call = { type: "tool-call", toolName, toolCallId, input: { prompt: "x" } } as const;
    return { content: isDone ? [{ type: "text", text: "Done." }] : [call] };
  },
});

describe("a run in a session", () => {
  it("gives these ids and keys, wherever and however often it is made", async () => {
    const inner = new Agent({
      name: "inner",
      model: asking("leaf", "leaf:0"),
      tools: [recordingTool({ name: "leaf" })],
    });
    const outer = new Agent({ name: "outer", model: asking("ask", undefined), tools: [inner.asTool({ name: "ask" })] });
    const calls: unknown[] = [];
    for await (const event of outer.prompt("x").session("chat-7").stream()) {
      if (event.type !== "tool-requested") continue;
      const { toolName, toolCallId, invocationKey, parent } = event.invocation;
      calls.push([toolName, toolCallId, invocationKey, parent?.toolCallId]);
    }
    expect(calls).toEqual([
      ["ask", "NNfSKqUqH", "ik1_45116u0sde5iv38drl7l68jaeij8hhfs", undefined],
      ["leaf", "k386l1zDS", "ik1_bu1q9htl1fmkgguf6o3fgjt65naq5fov", "NNfSKqUqH"],
      ["leaf", "nGj0m7rDO", "ik1_9gg4t160mjg4ertfpb85jbnu40gfd8a9", "NNfSKqUqH"],
      ["ask", "b6a7DpIUf", "ik1_dvovntggi40aocv3lc53fdo0fdd3tget", undefined],
      ["leaf", "7slwNWq1Q", "ik1_4b7rd6q0vnuq01de5d6r0vhsfb5idq9h", "b6a7DpIUf"],
      ["leaf", "Hi9FQMWiF", "ik1_i128m2mes5dp134d24dljrngpjml3mqf", "b6a7DpIUf"],
    ]);
  });
});

describe("deriveInvocationKey", () => {
  it.each(derivedKeys)("gives $derivedKey for $name", ({ key, label, derivedKey }) => {
    expect(deriveInvocationKey(key, textOf(label))).toBe(derivedKey);
  });

  it("gives another key for every vector, none of which is an invocation key", () => {
    const keys = [...invocationKeys.map(({ key }) => key), ...derivedKeys.map(({ derivedKey }) => derivedKey)];
    expect(new Set(keys).size).toBe(invocationKeys.length + derivedKeys.length);
  });

  it("gives keys of the same format", () => {
    for (const { derivedKey } of derivedKeys) expect(derivedKey).toMatch(/^ik1_[0-9a-v]{32}$/);
  });

  it.each([undefined, null, ""])("refuses to derive from %j, and says that the run needs a session", (key) => {
    expect(() => Reflect.apply(deriveInvocationKey, undefined, [key, "charge"])).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: expect.stringMatching(
          /^\[invalid-argument\] the key to derive from must be an invocation key: give the request a \.session\(key\); received /,
        ),
      }),
    );
  });

  it("refuses a label that is no string", () => {
    expect(() => Reflect.apply(deriveInvocationKey, undefined, ["ik1_0"])).toThrow(
      expect.objectContaining({
        code: "invalid-argument",
        message: "[invalid-argument] the label must be a string; received undefined",
      }),
    );
  });
});
