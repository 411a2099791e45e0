import { defineTool, extensionToken, type Tool, ToolCallExtensions, ToolSet, wrapTool } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<string>();

describe("wrapTool", () => {
  it("keeps the name, the description and the input", () => {
    const input = z.object({ id: z.number() });
    const tool = defineTool({ name: "lookup", description: "Looks up.", input, call: () => "found" });
    const wrapped = wrapTool(tool, { callWithExtensions: (given, extensions, next) => next(given, extensions) });
    expect(wrapped).toMatchObject({ name: "lookup", description: "Looks up." });
    expect(wrapped.input).toBe(input);
  });

  it("may rename and describe anew", () => {
    const wrapped = wrapTool(recordingTool({ name: "old" }), {
      name: "new",
      description: "Fresh.",
      callWithExtensions: (input, extensions, next) => next(input, extensions),
    });
    expect(wrapped).toMatchObject({ name: "new", description: "Fresh." });
  });

  it("keeps the needs and adds the wrapper's", () => {
    const wrapped = wrapTool(recordingTool({ requires: [Tenant] }), {
      requires: [Locale],
      callWithExtensions: (input, extensions, next) => next(input, extensions),
    });
    expect(wrapped.requires).toEqual([Tenant, Locale]);
  });

  it("leaves the wrapped tool as it is", async () => {
    const tool = recordingTool({ requires: [Tenant] });
    wrapTool(tool, { requires: [Locale], callWithExtensions: () => "replaced" });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    expect(tool.requires).toEqual([Tenant]);
    expect(await new ToolSet([tool]).callWithExtensions("recording", {}, extensions)).toEqual({
      status: "completed",
      output: "recorded",
    });
  });

  it("is refused by name when one of the tool's needs is missing", async () => {
    const wrapped = wrapTool(recordingTool({ requires: [Tenant] }), {
      requires: [Locale],
      callWithExtensions: (input, extensions, next) => next(input, extensions),
    });
    const extensions: ToolCallExtensions<string> = new ToolCallExtensions<string>().with(Locale, "de");
    expect(await new ToolSet([wrapped]).callWithExtensions("recording", {}, extensions)).toMatchObject({
      status: "failed",
      kind: "missing-extension",
      error: { details: { missing: ["tenant"] } },
    });
  });

  it("carries the map to the tool", async () => {
    const tool = recordingTool({ requires: [Tenant] });
    const wrapped = wrapTool(tool, { callWithExtensions: (input, extensions, next) => next(input, extensions) });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    await new ToolSet([wrapped]).callWithExtensions("recording", { a: 1 }, extensions);
    expect(tool.calls[0]?.input).toEqual({ a: 1 });
    expect(tool.calls[0]?.extensions.get(Tenant)).toBe("t-7");
  });

  it("hands on a changed input", async () => {
    const tool = defineTool({ name: "double", input: z.object({ n: z.number() }), call: ({ n }) => n * 2 });
    const wrapped = wrapTool(tool, {
      callWithExtensions: ({ n }, extensions, next) => next({ n: n + 1 }, extensions),
    });
    expect(await new ToolSet([wrapped]).call("double", { n: 20 })).toEqual({ status: "completed", output: 42 });
  });

  it("hands on changed extensions", async () => {
    const tool = recordingTool();
    const wrapped = wrapTool(tool, {
      callWithExtensions: (input, extensions, next) => next(input, extensions.with(Tenant, "t-8")),
    });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    await new ToolSet([wrapped]).callWithExtensions("recording", {}, extensions);
    expect(tool.calls[0]?.extensions.get(Tenant)).toBe("t-8");
    expect(extensions.get(Tenant)).toBe("t-7");
  });

  it("changes the result", async () => {
    const tool = defineTool({ name: "greet", input: {}, call: async () => "Hello" });
    const wrapped = wrapTool(tool, {
      callWithExtensions: async (input, extensions, next) => `${await next(input, extensions)}!`,
    });
    expect(await new ToolSet([wrapped]).call("greet", {})).toEqual({ status: "completed", output: "Hello!" });
  });

  it("may answer without the tool", async () => {
    const tool = recordingTool();
    const wrapped = wrapTool(tool, { callWithExtensions: () => "cached" });
    expect(await new ToolSet([wrapped]).call("recording", {})).toEqual({ status: "completed", output: "cached" });
    expect(tool.calls).toEqual([]);
  });

  it("enters a tool that has both entries by callWithExtensions", async () => {
    const tool = defineTool({ name: "both", input: {}, call: () => "bare", callWithExtensions: () => "extended" });
    const wrapped = wrapTool(tool, { callWithExtensions: (input, extensions, next) => next(input, extensions) });
    expect(await new ToolSet([wrapped]).call("both", {})).toEqual({ status: "completed", output: "extended" });
  });

  it("enters a tool that has only call", async () => {
    const tool = defineTool({ name: "bare", input: {}, call: () => "bare" });
    const wrapped = wrapTool(tool, { callWithExtensions: (input, extensions, next) => next(input, extensions) });
    expect(await new ToolSet([wrapped]).call("bare", {})).toEqual({ status: "completed", output: "bare" });
  });

  it("goes through the wrapper when call is used directly", () => {
    const tool = defineTool({ name: "greet", input: {}, call: () => "Hello" });
    const wrapped = wrapTool(tool, {
      callWithExtensions: (input, extensions, next) => `${next(input, extensions)}!`,
    });
    expect(wrapped.call({})).toBe("Hello!");
  });

  it("keeps the `this` of a tool that is a class instance", async () => {
    class Greeter implements Tool<unknown, string, never> {
      readonly name = "greet";
      readonly input = {};
      readonly #greeting = "Hello";
      call(): string {
        return this.#greeting;
      }
    }
    const wrapped = wrapTool(new Greeter(), {
      callWithExtensions: (input, extensions, next) => next(input, extensions),
    });
    const outcome = await new ToolSet([wrapped]).callWithExtensions("greet", {}, new ToolCallExtensions<string>());
    expect(outcome).toEqual({ status: "completed", output: "Hello" });
  });

  it("keeps the rules for approval, retries and repetition", () => {
    const rules = { needsApproval: true, retries: 2, idempotent: true };
    const tool = defineTool({ name: "pay", input: {}, ...rules, call: () => "paid" });
    expect(wrapTool(tool, { callWithExtensions: () => "paid" })).toMatchObject(rules);
  });

  it("runs a generator tool to its last step", async () => {
    const tool = defineTool({
      name: "count",
      input: {},
      async *call() {
        yield 1;
        yield 2;
      },
    });
    const wrapped = wrapTool(tool, { callWithExtensions: (input, extensions, next) => next(input, extensions) });
    expect(await new ToolSet([wrapped]).call("count", {})).toEqual({ status: "completed", output: 2 });
  });

  it("runs a generator tool that an async wrapper hands back", async () => {
    const tool = defineTool({
      name: "count",
      input: {},
      async *call() {
        yield 1;
        yield 2;
      },
    });
    const wrapped = wrapTool(tool, {
      callWithExtensions: async (input, extensions, next) => next(input, extensions),
    });
    expect(await new ToolSet([wrapped]).call("count", {})).toEqual({ status: "completed", output: 2 });
  });

  it("nests, the last wrapper outermost", async () => {
    const tool = defineTool({ name: "greet", input: {}, call: () => "Hello" });
    const inner = wrapTool(tool, { callWithExtensions: (input, extensions, next) => `${next(input, extensions)}!` });
    const outer = wrapTool(inner, { callWithExtensions: (input, extensions, next) => `${next(input, extensions)}?` });
    expect(await new ToolSet([outer]).call("greet", {})).toEqual({ status: "completed", output: "Hello!?" });
  });

  it("refuses a wrapper without callWithExtensions, naming the tool", () => {
    expect(() => wrapTool(recordingTool({ name: "pay" }), { name: "pay_now" } as never)).toThrow(
      '[invalid-argument] callWithExtensions of the wrapper of tool "pay" must be a function; received undefined',
    );
  });

  it("refuses a wrapper's token that a cyclic import left undefined, naming the tool", () => {
    const wrapper = { requires: [undefined], callWithExtensions: () => "done" };
    expect(() => wrapTool(recordingTool({ name: "pay" }), wrapper as never)).toThrow(
      'a token in requires of tool "pay" must be made by extensionToken(id).of(); received undefined',
    );
  });
});
