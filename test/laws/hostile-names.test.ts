import fc from "fast-check";
import {
  Agent,
  defineTool,
  deriveInvocationKey,
  type Tool,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { expect, test } from "vitest";
import { anything, codeOf, Ends, guardPrototypes, names, text, tryAll } from "./hostile-values.ts";

guardPrototypes();

const name = fc.oneof(text, names, text, anything);
const isUsable = (value: unknown): value is string => typeof value === "string" && value !== "";

test("tool names: a tool that is found by its name alone, or a refusal where it is made", {
  timeout: 120_000,
}, async () => {
  const ends = new Ends();
  await tryAll("tool names", fc.tuple(name, name), async ([given, other]) => {
    let end = "found";
    try {
      const tool = defineTool({ name: given as string, input: {}, call: () => "ok" });
      await checkFound(given as string, tool, other);
    } catch (error) {
      end = codeOf(error);
    }
    ends.add(end, ["found", "invalid-argument"]);
    expect(end === "found").toBe(isUsable(given));
  });
  expect(Math.min(ends.of("found"), ends.of("invalid-argument"))).toBeGreaterThan(500);
});

async function checkFound(
  given: string,
  tool: Tool<Record<string, unknown>, string, never>,
  other: unknown,
): Promise<void> {
  expect(() => new ToolSet([tool, tool])).toThrow(expect.objectContaining({ code: "duplicate-tool" }));
  const asked = isUsable(other) ? other : "other";
  const model = scriptedModel([{ toolCalls: [given, asked].map((toolName) => ({ toolName, input: {} })) }, "done"]);
  const sub = new Agent({ name: "sub", model: scriptedModel(() => "sub"), tools: [tool] });
  const tools = given === "sub" ? [tool] : [tool, sub.asTool({ name: "sub" })];
  const { messages } = await new Agent({ name: "a", model, tools }).prompt("x").run();
  const told = messages.flatMap((message) => (message.role === "tool" ? [message] : []));
  expect(told.map(({ toolName, isError }) => [toolName, isError])).toEqual([
    [given, false],
    [asked, asked !== given],
  ]);
  // A message is bounded, however long the name is that the model made up.
  expect(told.every(({ text: seen }) => seen.length <= 65_536)).toBe(true);
}

test("session keys and turn ids: one key for one call of one session, or a refusal", { timeout: 120_000 }, async () => {
  const ends = new Ends();
  const keys = new Map<string, string>();
  const look = defineTool({
    name: "look",
    input: {},
    callWithExtensions: (_input, extensions) => extensions.require(ToolInvocationContext).invocationKey,
  });
  const inputs = fc.tuple(name, fc.oneof(fc.constant(undefined), name));
  await tryAll("session keys and turn ids", inputs, async ([sessionKey, turnId]) => {
    let end = "keyed";
    try {
      const key = await keyOf(sessionKey as string, turnId as string | undefined);
      expect(key).toMatch(/^ik1_[0-9a-v]{32}$/);
      expect(deriveInvocationKey(key, "x")).not.toBe(key);
      const place = JSON.stringify([sessionKey, turnId]);
      expect(keys.get(key) ?? place).toBe(place);
      keys.set(key, place);
    } catch (error) {
      end = codeOf(error);
    }
    ends.add(end, ["keyed", "invalid-argument"]);
    expect(end === "keyed").toBe(isUsable(sessionKey) && (turnId === undefined || isUsable(turnId)));
  });
  expect(Math.min(ends.of("keyed"), ends.of("invalid-argument"))).toBeGreaterThan(200);

  async function keyOf(sessionKey: string, turnId: string | undefined): Promise<string> {
    const model = scriptedModel([{ toolCalls: [{ toolName: "look", input: {} }] }, "done"]);
    const { messages } = await new Agent({ name: "a", model, tools: [look] })
      .prompt("x")
      .session(sessionKey, { turnId })
      .run();
    const result = messages.find(({ role }) => role === "tool");
    return result?.role === "tool" ? result.text : "no result";
  }
});
