import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { defineTool, type InputSchema, outcomeText, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";

const echo = <Schema extends InputSchema>(input: Schema) =>
  new ToolSet([defineTool({ name: "echo", input, call: (value) => value })]);

describe("a validated input", () => {
  it.each([
    ["zod 4", z.object({ id: z.number() })],
    ["arktype", type({ id: "number" })],
    ["valibot", toStandardJsonSchema(v.object({ id: v.number() }))],
    ["zod/mini through z.toJSONSchema", z.toJSONSchema(mini.object({ id: mini.number() }))],
    ["raw JSON Schema", { type: "object" }],
  ])("reaches the tool: %s", async (_library, schema) => {
    expect(await echo(schema).call("echo", { id: 42 })).toEqual({ status: "completed", output: { id: 42 } });
  });

  it("is what a transform made of it", async () => {
    const tools = echo(z.object({ tags: z.string().transform((text) => text.split(",")) }));
    expect(await tools.call("echo", { tags: "a,b" })).toEqual({ status: "completed", output: { tags: ["a", "b"] } });
  });

  it("has the defaults of the schema", async () => {
    const tools = echo(z.object({ limit: z.number().default(10) }));
    expect(await tools.call("echo", {})).toEqual({ status: "completed", output: { limit: 10 } });
  });

  it("is waited for where the schema validates asynchronously", async () => {
    const tools = echo(z.object({ id: z.number().transform(async (id) => id + 1) }));
    expect(await tools.call("echo", { id: 41 })).toEqual({ status: "completed", output: { id: 42 } });
  });

  it("under a raw JSON Schema is a copy, so that what the tool does to it stays with the tool", async () => {
    const tool = recordingTool({ input: { type: "object", properties: { id: { type: "number" } } } });
    const input = { id: "not what the schema says" };
    await new ToolSet([tool]).call("recording", input);
    expect(tool.calls[0]?.input).toEqual(input);
    expect(tool.calls[0]?.input).not.toBe(input);
  });
});

describe("what a tool does to its input", () => {
  it("stays with the tool, in lists and in objects without a prototype too", async () => {
    const spoil = (input: Readonly<Record<string, unknown>>): string => {
      (input["list"] as unknown[]).push("spoilt");
      Object.assign(input["bare"] as object, { spoilt: true });
      return "done";
    };
    const bare: object = Object.assign(Object.create(null), { a: 1 });
    const input = { list: [1], bare };
    const tool = defineTool({ name: "spoil", input: { type: "object" }, call: spoil });
    expect(await new ToolSet([tool]).call("spoil", input)).toEqual({ status: "completed", output: "done" });
    expect([input.list, { ...bare }]).toEqual([[1], { a: 1 }]);
  });

  it("does not stay with the tool in what is no plain data, as a copy would no longer be what it was", async () => {
    const [at, ids] = [new Date(0), new Set([1])];
    const tool = defineTool({ name: "book", input: { type: "object" }, call: (input) => [input["at"], input["ids"]] });
    const outcome = await new ToolSet([tool]).call("book", { at, ids });
    expect(outcome.status === "completed" && outcome.output).toSatisfy(([a, b]) => a === at && b === ids);
  });
});

describe("what a schema finds wrong", () => {
  it("is told to the model, each issue at its place or without one", async () => {
    const input: InputSchema = {
      "~standard": {
        version: 1,
        vendor: "acme",
        validate: () => ({ issues: [{ message: "too late" }, { message: "too many", path: ["rows", { key: 0 }] }] }),
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    };
    const outcome = await echo(input).call("echo", {});
    expect(outcomeText(outcome, "echo")).toBe(
      'The arguments for tool "echo" are not valid: too late; rows.0: too many',
    );
  });
});

describe("arguments as JSON text", () => {
  it("are parsed for a Standard Schema", async () => {
    const tools = echo(z.object({ id: z.number() }));
    expect(await tools.call("echo", '{"id":42}')).toEqual({ status: "completed", output: { id: 42 } });
  });

  it("are parsed for a raw JSON Schema", async () => {
    expect(await echo({}).call("echo", '{"id":42}')).toEqual({ status: "completed", output: { id: 42 } });
  });

  it.each(["", "  ", "\n"])("that are empty (%j) are no arguments", async (text) => {
    expect(await echo(z.object({})).call("echo", text)).toEqual({ status: "completed", output: {} });
    expect(await echo({}).call("echo", text)).toEqual({ status: "completed", output: {} });
  });

  it("that are empty fail for a field that is required", async () => {
    const outcome = await echo(z.object({ id: z.number() })).call("echo", "");
    expect(outcomeText(outcome, "echo")).toMatch(/^The arguments for tool "echo" are not valid: id: /);
  });

  it("that are cut off are invalid input", async () => {
    const outcome = await echo(z.object({ id: z.number() })).call("echo", '{"id": 4');
    expect(outcome).toMatchObject({ status: "failed", kind: "invalid-input" });
    expect(outcomeText(outcome, "echo")).toMatch(
      /^The arguments for tool "echo" are not valid: the arguments are not valid JSON: /,
    );
  });

  it("keep a key named __proto__ as a key", async () => {
    const outcome = await echo({}).call("echo", '{"__proto__":{"polluted":true}}');
    expect(outcome.status === "completed" && Object.keys(Object(outcome.output))).toEqual(["__proto__"]);
    expect("polluted" in {}).toBe(false);
  });
});

describe("arguments of the wrong type", () => {
  const customer = { customer: { tags: ["a", 5] } };

  it.each([
    ["zod 4", z.object({ customer: z.object({ tags: z.array(z.string()) }) })],
    ["arktype", type({ customer: { tags: "string[]" } })],
    ["valibot", toStandardJsonSchema(v.object({ customer: v.object({ tags: v.array(v.string()) }) }))],
  ])("are told to the model with their path: %s", async (_library, schema) => {
    const outcome = await echo(schema).call("echo", customer);
    expect(outcomeText(outcome, "echo")).toMatch(
      /^The arguments for tool "echo" are not valid: customer\.tags\.1: .*string/,
    );
  });

  it("are an outcome with one issue for each thing wrong", async () => {
    const outcome = await echo(z.object({ a: z.number(), b: z.number() })).call("echo", { a: "1", b: "2" });
    expect(outcome).toMatchObject({
      status: "failed",
      kind: "invalid-input",
      error: {
        code: "invalid-input",
        details: { toolName: "echo", issues: [expect.stringMatching(/^a: /), expect.stringMatching(/^b: /)] },
      },
    });
  });

  it("are told without a path where the whole is wrong", async () => {
    const outcome = await echo(z.object({ id: z.number() })).call("echo", null);
    expect(outcomeText(outcome, "echo")).toMatch(/^The arguments for tool "echo" are not valid: Invalid input: /);
  });

  it("found asynchronously are invalid input", async () => {
    const schema = z.object({ id: z.number().refine(async (id) => id > 100, "is no order of ours") });
    const outcome = await echo(schema).call("echo", { id: 42 });
    expect(outcomeText(outcome, "echo")).toBe('The arguments for tool "echo" are not valid: id: is no order of ours');
  });

  it("name a key that is a symbol or an object with a key", async () => {
    const issues = [{ message: "is wrong", path: [{ key: "a" }, Symbol("b"), 0] }];
    const convert = () => ({ type: "object" });
    const schema = {
      "~standard": {
        version: 1,
        vendor: "acme",
        validate: () => ({ issues }),
        jsonSchema: { input: convert, output: convert },
      },
    } as const;
    const outcome = await echo(schema).call("echo", {});
    expect(outcomeText(outcome, "echo")).toBe('The arguments for tool "echo" are not valid: a.Symbol(b).0: is wrong');
  });

  it("do not enter the tool", async () => {
    let entered = false;
    const call = () => (entered = true);
    const tool = defineTool({ name: "pay", input: z.object({ cents: z.number() }), call });
    await new ToolSet([tool]).call("pay", { cents: "all" });
    expect(entered).toBe(false);
  });

  it.each([
    ["null", null],
    ["undefined", undefined],
    ["a number", 5],
    ["a boolean", true],
    ["an array", [1]],
    ["the text of an array", "[1]"],
    ["the text of null", "null"],
    ["the text of a text", '"{}"'],
  ])("are refused by a raw JSON Schema: %s", async (_what, input) => {
    expect(await echo({ type: "object" }).call("echo", input)).toMatchObject({
      status: "failed",
      kind: "invalid-input",
      error: { details: { issues: ["the arguments must be a JSON object"] } },
    });
  });

  it("do not reach the model as a validator's exception, whose text may hold a secret", async () => {
    const schema = z.object({
      id: z.string().refine(() => {
        throw new Error("connect ECONNREFUSED, token=canary-9f3");
      }),
    });
    const outcome = await echo(schema).call("echo", { id: "x" });
    expect(outcome).toMatchObject({ status: "failed", kind: "error", error: { message: /canary/ } });
    expect(outcomeText(outcome, "echo")).toBe('Tool "echo" failed.');
  });
});
