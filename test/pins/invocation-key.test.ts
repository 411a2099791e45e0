import { readFileSync } from "node:fs";
import { deriveInvocationKey, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { invocationKey } from "../../src/invocation/invocation-key.ts";

// The vectors were computed once from the recipe with node:crypto and an encoder of their own. What they say never changes:
// downstream systems keep these keys. They live in JSON so that test/runtimes reads the same ones in every runtime.

type Text = string | { readonly repeat: string; readonly times: number };

interface Vectors {
  readonly invocationKeys: readonly {
    readonly name: string;
    readonly sessionKey: Text;
    readonly toolCallId: string;
    readonly key: string;
  }[];
  readonly derivedKeys: readonly {
    readonly name: string;
    readonly key: string;
    readonly label: Text;
    readonly derivedKey: string;
  }[];
}

const { invocationKeys, derivedKeys }: Vectors = JSON.parse(
  readFileSync(new URL("invocation-key.vectors.json", import.meta.url), "utf8"),
);

const textOf = (text: Text) => (typeof text === "string" ? text : text.repeat.repeat(text.times));
/** A session key and a call id are never empty; the recipe is fixed for those as well. */
const possible = invocationKeys.filter(({ sessionKey, toolCallId }) => sessionKey !== "" && toolCallId !== "");

describe("the invocation key", () => {
  it.each(invocationKeys)("of $name is $key", ({ sessionKey, toolCallId, key }) => {
    expect(invocationKey(textOf(sessionKey), toolCallId)).toBe(key);
  });

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
