import { defineTool, ToolCallExtensions, ToolSet, toolResult } from "tool-call-extensions";
import { expect, it } from "vitest";
import { pausedState, pauseOf } from "../../src/tool/tool-result.ts";

// By these names every copy and version of the package in a process knows what another one made.
it("a map is known by its brand", () => {
  expect(Symbol.for("tool-call-extensions/map") in new ToolCallExtensions()).toBe(true);
  const foreign = Object.assign(Object.create({ [Symbol.for("tool-call-extensions/map")]: true }), {});
  expect(ToolCallExtensions.is(foreign)).toBe(true);
});

it("a tool's result is known by its brand", async () => {
  const brand = Symbol.for("tool-call-extensions/tool-result");
  expect(Object.getOwnPropertySymbols(toolResult("3 hits", new ToolCallExtensions()))).toEqual([brand]);
  const foreign = Object.defineProperty({ output: "3 hits", extensions: undefined }, brand, { value: true });
  const tool = defineTool({ name: "search", input: {}, call: () => foreign });
  expect(await new ToolSet([tool]).call("search", {})).toMatchObject({ status: "completed", output: "3 hits" });
});

it("a sub-agent's pause is known by its brand, and says what it is to a wrapper that catches it", () => {
  const state = { version: 1 };
  const brand = Symbol.for("tool-call-extensions/pause");
  const pause = pauseOf(state);
  expect(Object.getOwnPropertySymbols(pause)).toEqual([brand]);
  expect(pause.message).toBe("a sub-agent's run waits for approval");
  expect(pausedState(Object.assign(new Error("of another copy"), { [brand]: state }))).toBe(state);
});
