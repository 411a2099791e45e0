import {
  Agent,
  defineTool,
  extensionToken,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();

class Payment implements Tool<{ cents: number }, string, never> {
  readonly name = "pay";
  readonly input = z.object({ cents: z.number() });
  readonly #limit = 100;
  needsApproval({ cents }: { cents: number }): boolean {
    return cents > this.#limit;
  }
  call(): string {
    return "paid";
  }
}

describe("defineTool", () => {
  it("keeps what it is given", () => {
    const input = z.object({ id: z.number() });
    const tool = defineTool({
      name: "lookup",
      description: "Looks up.",
      input,
      requires: [Tenant],
      call: () => "found",
    });
    expect(tool).toMatchObject({ name: "lookup", description: "Looks up.", requires: [Tenant] });
    expect(tool.input).toBe(input);
  });

  it("gives a frozen tool", () => {
    expect(Object.isFrozen(defineTool({ name: "ping", input: {}, call: () => "pong" }))).toBe(true);
  });

  it("leaves callWithExtensions out where only call is given", () => {
    expect(defineTool({ name: "ping", input: {}, call: () => "pong" }).callWithExtensions).toBeUndefined();
  });

  it("makes call from callWithExtensions where only that is given", () => {
    const tool = defineTool({ name: "echo", input: {}, callWithExtensions: (input) => input });
    expect(tool.call({ a: 1 })).toEqual({ a: 1 });
  });

  it("hands callWithExtensions an empty read-only map when call is used directly", () => {
    const tool = defineTool({ name: "size", input: {}, callWithExtensions: (_input, extensions) => extensions });
    expect(tool.call({})).toMatchObject({ size: 0, isReadOnly: true });
  });

  it("fails by the token's name when call is used directly on a tool that needs it", () => {
    const tool = defineTool({
      name: "whose",
      input: {},
      requires: [Tenant],
      callWithExtensions: (_input, extensions) => extensions.require(Tenant),
    });
    expect(() => tool.call({})).toThrow(/\[missing-extension\] extension "tenant" missing/);
  });

  it("keeps call as it is where both are given", () => {
    const tool = defineTool({ name: "both", input: {}, call: () => "bare", callWithExtensions: () => "extended" });
    expect(tool.call({})).toBe("bare");
  });

  it("keeps `this` of a definition that is a class instance", async () => {
    class Counter {
      readonly name = "count";
      readonly input = {};
      #count = 0;
      call() {
        return ++this.#count;
      }
      callWithExtensions() {
        return ++this.#count;
      }
    }
    const tool = defineTool(new Counter());
    expect(tool.call({})).toBe(1);
    expect(await new ToolSet([tool]).call("count", {})).toEqual({ status: "completed", output: 2 });
  });

  it("keeps `this` of a needsApproval that is a method", async () => {
    const tools = new ToolSet([defineTool(new Payment())]);
    expect(await tools.call("pay", { cents: 5 })).toEqual({ status: "completed", output: "paid" });
    expect(await tools.call("pay", { cents: 500 })).toMatchObject({ error: { code: "approval-required" } });
  });
});

describe("the entry under dispatch", () => {
  it("is call for a tool without callWithExtensions", async () => {
    const tool = defineTool({ name: "ping", input: {}, call: () => "pong" });
    const outcome = await new ToolSet([tool]).callWithExtensions("ping", {}, new ToolCallExtensions());
    expect(outcome).toEqual({ status: "completed", output: "pong" });
  });

  it("is callWithExtensions alone for a tool that has both, with an empty map too", async () => {
    const entered: string[] = [];
    const tool = defineTool({
      name: "sentinel",
      input: {},
      call: () => entered.push("call"),
      callWithExtensions: () => entered.push("callWithExtensions"),
    });
    const tools = new ToolSet([tool]);
    await tools.call("sentinel", {});
    await tools.callWithExtensions("sentinel", {}, new ToolCallExtensions());
    await tools.callWithExtensions("sentinel", {}, new ToolCallExtensions().with(Tenant, "t-7"));
    expect(entered).toEqual(["callWithExtensions", "callWithExtensions", "callWithExtensions"]);
  });

  it("is handed a read-only map with the caller's values and the invocation", async () => {
    const tool = defineTool({
      name: "probe",
      input: {},
      callWithExtensions: (_input, extensions) => [extensions.isReadOnly, extensions.toJSON()],
    });
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    const outcome = await new ToolSet([tool]).callWithExtensions("probe", {}, extensions);
    expect(outcome).toEqual({ status: "completed", output: [true, ["tenant", "tool-invocation"]] });
  });
});

describe("a tool written by hand", () => {
  it("is called with its own `this`", async () => {
    const tool = {
      name: "greet",
      greeting: "Hello",
      input: { type: "object" },
      call() {
        return this.greeting;
      },
    };
    expect(await new ToolSet([tool]).call("greet", {})).toEqual({ status: "completed", output: "Hello" });
  });

  it("may leave callWithExtensions undefined", async () => {
    const tool: Tool<unknown, string, never> = {
      name: "ping",
      input: {},
      requires: undefined,
      call: () => "pong",
      callWithExtensions: undefined,
    };
    expect(await new ToolSet([tool]).call("ping", {})).toEqual({ status: "completed", output: "pong" });
  });

  it("is asked with its own `this` whether it needs approval", async () => {
    const tools = new ToolSet([new Payment()]);
    expect(await tools.call("pay", { cents: 5 })).toEqual({ status: "completed", output: "paid" });
    expect(await tools.call("pay", { cents: 500 })).toMatchObject({ error: { code: "approval-required" } });
  });

  it("may be a class instance whose methods are on the prototype", async () => {
    class Whose implements Tool<unknown, string, "tenant"> {
      readonly name = "whose";
      readonly input = { type: "object" };
      readonly requires = [Tenant];
      readonly #prefix = "tenant ";
      call(): string {
        throw new Error("the bare entry was taken");
      }
      callWithExtensions(_input: unknown, extensions: ToolCallExtensions<"tenant">): string {
        return this.#prefix + extensions.require(Tenant);
      }
    }
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    const outcome = await new ToolSet([new Whose()]).callWithExtensions("whose", {}, extensions);
    expect(outcome).toEqual({ status: "completed", output: "tenant t-7" });
  });
});

describe("a definition that cannot be used", () => {
  const input = { type: "object" };
  const call = () => "done";

  it.each([
    ["no name", { input, call }, "a tool's name must be a non-empty string; received undefined"],
    ["an empty name", { name: "", input, call }, "a tool's name must be a non-empty string; received an empty string"],
    ["a name that is a number", { name: 7, input, call }, "a tool's name must be a non-empty string; received 7"],
    ["neither entry", { name: "pay", input }, 'call of tool "pay" must be a function; received undefined'],
    ["a call that is a string", { name: "pay", input, call: "now" }, 'call of tool "pay" must be a function'],
    [
      "a callWithExtensions that is an object",
      { name: "pay", input, call, callWithExtensions: {} },
      'callWithExtensions of tool "pay" must be a function or left out; received an object',
    ],
    ["no input", { name: "pay", call }, 'the schema of tool "pay" must be a Standard Schema or a JSON Schema object'],
    ["an array as input", { name: "pay", input: [], call }, 'the schema of tool "pay" must be'],
    [
      "requires that is one token",
      { name: "pay", input, call, requires: Tenant },
      'requires of tool "pay" must be an array of tokens; received an object',
    ],
    [
      "a token that a cyclic import left undefined",
      { name: "pay", input, call, requires: [undefined] },
      'a token in requires of tool "pay" must be made by extensionToken(id).of(); received undefined',
    ],
    [
      "an id instead of a token",
      { name: "pay", input, call, requires: ["tenant"] },
      'a token in requires of tool "pay" must be made by extensionToken(id).of(); received a string',
    ],
  ])("is refused by name: %s", (_what, definition, message) => {
    expect(() => defineTool(definition as never)).toThrow(`[invalid-argument] ${message}`);
  });

  it.each([
    ["no name", { input, call }, "a tool's name must be a non-empty string"],
    [
      "an agent",
      new Agent({ name: "billing", model: scriptedModel([]) }),
      'a tool must be a tool; agent "billing" becomes one by .asTool({ name }); received an Agent',
    ],
    ["no call", { name: "pay", input, callWithExtensions: call }, 'call of tool "pay" must be a function'],
    [
      "null as callWithExtensions",
      { name: "pay", input, call, callWithExtensions: null },
      'callWithExtensions of tool "pay"',
    ],
    ["no input", { name: "pay", call }, 'the schema of tool "pay" must be'],
    [
      "a token that is undefined",
      { name: "pay", input, call, requires: [undefined] },
      'a token in requires of tool "pay"',
    ],
  ])("is refused by a ToolSet when written by hand: %s", (_what, tool, message) => {
    expect(() => new ToolSet([tool as never])).toThrow(`[invalid-argument] ${message}`);
  });

  it("does not show a secret that stands where a function belongs", () => {
    const definition = { name: "pay", input, call: "sk-canary-9f3" };
    expect(() => new ToolSet([definition as never])).toThrow(/^(?!.*canary)/s);
  });
});

describe("a tool that requires the invocation, which every call has", () => {
  it("can be called", async () => {
    const tool = defineTool({
      name: "who_am_i",
      input: {},
      requires: [ToolInvocationContext],
      callWithExtensions: (_input, extensions) => extensions.require(ToolInvocationContext).toolName,
    });
    const outcome = await new ToolSet([tool]).callWithExtensions("who_am_i", {}, new ToolCallExtensions<string>());
    expect(outcome).toEqual({ status: "completed", output: "who_am_i" });
  });

  it("can be run by an agent", async () => {
    const tool = recordingTool({ name: "who_am_i", requires: [ToolInvocationContext] });
    const model = scriptedModel([{ toolCalls: [{ toolName: "who_am_i", input: {} }] }, "Done."]);
    const request = new Agent({ name: "support", model, tools: [tool] }).prompt("Go.");
    const result = await request.toolExtensions(new ToolCallExtensions<string>()).run();
    expect(result.output).toBe("Done.");
    expect(tool.calls).toHaveLength(1);
  });
});
