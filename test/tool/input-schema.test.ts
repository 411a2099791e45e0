import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { defineTool, type InputSchema, ToolSet } from "tool-call-extensions";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import * as mini from "zod/mini";
import { z as zod3 } from "zod/v3";

const define = (input: InputSchema) => defineTool({ name: "lookup", input, call: () => "found" });

describe("what the model is told of the input", () => {
  it.each([
    ["zod 4", z.object({ id: z.number() })],
    ["arktype", type({ id: "number" })],
    ["valibot through toStandardJsonSchema", toStandardJsonSchema(v.object({ id: v.number() }))],
    ["zod/mini through z.toJSONSchema", z.toJSONSchema(mini.object({ id: mini.number() }))],
  ])("is the JSON Schema of %s", (_library, input) => {
    expect(new ToolSet([define(input)]).definitions).toEqual([
      {
        name: "lookup",
        description: undefined,
        inputSchema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: { id: { type: "number" } },
          required: ["id"],
        },
      },
    ]);
  });

  it("is a raw JSON Schema as it stands", () => {
    const input = { type: "object", properties: { id: { type: "number" } } };
    expect(new ToolSet([define(input)]).definitions[0]?.inputSchema).toBe(input);
  });

  it("is the type before a transform, which is what the model has to send", () => {
    const input = z.object({ tags: z.string().transform((text) => text.split(",")) });
    expect(new ToolSet([define(input)]).definitions[0]?.inputSchema).toMatchObject({
      properties: { tags: { type: "string" } },
    });
  });

  it("leaves a field with a default optional", () => {
    const input = z.object({ limit: z.number().default(10) });
    expect(new ToolSet([define(input)]).definitions[0]?.inputSchema).not.toHaveProperty("required");
  });

  it("carries the descriptions of the fields", () => {
    const input = z.object({ id: z.number().describe("The order's number.") });
    expect(new ToolSet([define(input)]).definitions[0]?.inputSchema).toMatchObject({
      properties: { id: { description: "The order's number." } },
    });
  });

  it("is asked of the schema once, whatever it is used for", () => {
    let conversions = 0;
    const convert = () => {
      conversions++;
      return { type: "object" };
    };
    const input = {
      "~standard": {
        version: 1,
        vendor: "acme",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: convert, output: convert },
      },
    } as const;
    const tool = define(input);
    new ToolSet([tool]);
    new ToolSet([tool]);
    expect(conversions).toBe(1);
  });

  it("is asked for in draft 2020-12 and for the input", () => {
    const asked: unknown[] = [];
    const convert = (direction: string) => (options: unknown) => {
      asked.push([direction, options]);
      return { type: "object" };
    };
    define({
      "~standard": {
        version: 1,
        vendor: "acme",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: convert("input"), output: convert("output") },
      },
    });
    expect(asked).toEqual([["input", { target: "draft-2020-12" }]]);
  });

  it("is of a schema without a type at its root left to the schema", () => {
    const input = z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("a") }),
      z.object({ kind: z.literal("b") }),
    ]);
    expect(() => define(input)).not.toThrow();
    expect(() => define({})).not.toThrow();
  });
});

describe("a schema that gives no JSON Schema", () => {
  it("of zod/mini is refused with the ways to get one", () => {
    expect(() => define(mini.object({ id: mini.number() }))).toThrow(
      '[unsupported-schema] tool "lookup": its schema (zod) gives no JSON Schema for the model; ' +
        'zod/mini schemas carry none: use z.toJSONSchema(schema), or import z from "zod"',
    );
  });

  it("of zod 3 is refused as one of zod 3", () => {
    const message =
      '[unsupported-schema] tool "lookup": its schema (zod) gives no JSON Schema for the model; ' +
      'it is of zod 3: install zod 4, or import z from "zod/v4"';
    expect(() => define(zod3.object({ id: zod3.number() }))).toThrow(message);
    // As before version 3.24, which knew no Standard Schema.
    const { parse, _def } = zod3.object({ id: zod3.number() });
    expect(() => define({ parse, _def })).toThrow(message.replace(" (zod)", ""));
  });

  it.each([
    ["zod", { id: z.number(), name: z.string() }],
    ["zod 3", { id: zod3.number(), name: zod3.string() }],
    ["arktype", { id: type("number"), name: type("string") }],
    ["valibot", { id: v.number(), name: v.string() }],
  ])("an object of schemas of %s is not taken for a JSON Schema, by which nothing would be validated", (_of, input) => {
    expect(() => define(input as InputSchema)).toThrow(
      '[unsupported-schema] tool "lookup": its schema is an object of schemas ("id", "name"); wrap it: z.object({ … })',
    );
  });

  it("of a server may say anything that JSON can", () => {
    const input = { properties: {}, parse: "x", id: { "~standard": { validate: true }, parse: 1 }, list: [null] };
    expect(() => define(input)).not.toThrow();
  });

  it("of valibot is refused with the way to get one", () => {
    expect(() => define(v.object({ id: v.number() }))).toThrow(
      '[unsupported-schema] tool "lookup": its schema (valibot) gives no JSON Schema for the model; ' +
        'wrap it: toStandardJsonSchema(schema) from "@valibot/to-json-schema"',
    );
  });

  it.each(["acme", "constructor", "__proto__"])(
    "of the unknown vendor %s is refused with what would work",
    (vendor) => {
      const schema = { "~standard": { version: 1, vendor, validate: (value: unknown) => ({ value }) } } as const;
      expect(() => define(schema)).toThrow(
        `[unsupported-schema] tool "lookup": its schema (${vendor}) gives no JSON Schema for the model; ` +
          "pass its JSON Schema instead, or a schema that implements Standard JSON Schema",
      );
    },
  );

  it("because a part cannot be expressed is refused with the library's reason", () => {
    expect(() => define(z.object({ day: z.date() }))).toThrow(
      '[unsupported-schema] tool "lookup": zod cannot express its schema as JSON Schema: Date cannot be represented',
    );
  });

  it("because a part cannot be expressed keeps the library's error as cause", () => {
    expect(() => define(z.object({ day: z.date() }))).toThrow(
      expect.objectContaining({
        code: "unsupported-schema",
        details: { schemaOf: 'tool "lookup"', vendor: "zod" },
        cause: expect.any(Error),
      }),
    );
  });

  it("because its converter throws what is no error is refused all the same", () => {
    const convert = () => {
      throw "not today";
    };
    const input = {
      "~standard": {
        version: 1,
        vendor: "acme",
        validate: (value: unknown) => ({ value }),
        jsonSchema: { input: convert, output: convert },
      },
    } as const;
    expect(() => define(input)).toThrow(
      expect.objectContaining({
        message: '[unsupported-schema] tool "lookup": acme cannot express its schema as JSON Schema: no reason given',
        cause: "not today",
      }),
    );
  });

  it("is refused by a ToolSet where a tool written by hand has it", () => {
    const tool = { name: "lookup", input: v.object({ id: v.number() }), call: () => "found" };
    expect(() => new ToolSet([tool])).toThrow('[unsupported-schema] tool "lookup"');
  });
});

describe("a root that is not an object", () => {
  it.each([
    ["string", "zod", z.string()],
    ["array", "zod", z.array(z.string())],
    ["array", "arktype", type("string[]")],
    ["array", "valibot", toStandardJsonSchema(v.array(v.string()))],
    ["array", "JSON Schema", { type: "array", items: { type: "string" } }],
  ])("is refused: %s of %s", (jsonType, vendor, input) => {
    expect(() => define(input)).toThrow(
      expect.objectContaining({
        message: `[unsupported-schema] tool "lookup": its input is a JSON ${jsonType}; a model can only pass an object`,
        details: { schemaOf: 'tool "lookup"', vendor },
      }),
    );
  });
});

describe("what is no schema at all", () => {
  it.each([
    ["undefined", undefined],
    ["null", null],
    ["a string", "string"],
    ["an array", []],
    ["true", true],
    ["a function", () => ({})],
  ])("is refused: %s", (received, input) => {
    expect(() => define(input as never)).toThrow(
      `[invalid-argument] the schema of tool "lookup" must be a Standard Schema or a JSON Schema object; received ${received}`,
    );
  });
});
