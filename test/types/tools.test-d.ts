import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import {
  defineTool,
  extensionToken,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  type ToolOutcome,
  type ToolResult,
  ToolSet,
  toolResult,
  wrapTool,
} from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import * as v from "valibot";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();
const Locale = extensionToken("locale").of<"de" | "en">();
const Limit = extensionToken("limit").of({ default: () => 10 });
const input = z.object({ id: z.number() });

/** What a tool's call takes. */
type InputOfTool<Of> = Of extends Tool<infer Input, unknown, string> ? Input : "no tool";
/** The token ids a tool or a set needs. */
type NeedsOf<Of> = Of extends Tool<never, unknown, infer Needs> ? Needs : Of extends ToolSet<infer Needs> ? Needs : 0;

describe("the input of a tool", () => {
  it("is the output type of a zod schema", () => {
    const schema = z.object({ id: z.number(), tags: z.string().transform((text) => text.split(",")) });
    defineTool({
      name: "lookup",
      input: schema,
      call: (given) => expectTypeOf(given).toEqualTypeOf<{ id: number; tags: string[] }>(),
    });
  });

  it("is the output type of an arktype schema", () => {
    const schema = type({ id: "number", "note?": "string" });
    defineTool({
      name: "lookup",
      input: schema,
      call: (given) => expectTypeOf(given).toEqualTypeOf<{ id: number; note?: string }>(),
    });
  });

  it("is the output type of a valibot schema", () => {
    const schema = toStandardJsonSchema(v.object({ id: v.number(), at: v.pipe(v.string(), v.transform(Number)) }));
    defineTool({
      name: "lookup",
      input: schema,
      call: (given) => expectTypeOf(given).toEqualTypeOf<{ id: number; at: number }>(),
    });
  });

  it("is a record of unknown values under a raw JSON Schema", () => {
    defineTool({
      name: "lookup",
      input: { type: "object", properties: { id: { type: "number" } } },
      call: (given) => expectTypeOf(given).toEqualTypeOf<Record<string, unknown>>(),
    });
  });

  it("is the same for callWithExtensions", () => {
    defineTool({
      name: "lookup",
      input,
      callWithExtensions: (given) => expectTypeOf(given).toEqualTypeOf<{ id: number }>(),
    });
  });

  it("is in the tool's type", () => {
    const tool = defineTool({ name: "lookup", input, call: () => "found" });
    expectTypeOf<InputOfTool<typeof tool>>().toEqualTypeOf<{ id: number }>();
  });

  it("must be what the call takes", () => {
    // @ts-expect-error the schema gives a number, the function takes a string
    defineTool({ name: "lookup", input, call: ({ id }: { id: string }) => id });
  });
});

describe("a definition", () => {
  it("without call and callWithExtensions does not compile", () => {
    // @ts-expect-error one of the two entries is needed
    defineTool({ name: "lookup", input });
  });

  it("without input does not compile", () => {
    // @ts-expect-error the model has to be told what the tool takes
    defineTool({ name: "lookup", call: () => "found" });
  });

  it("takes the output of a promise and of a generator", () => {
    const eventual = defineTool({ name: "a", input, call: async () => 1 });
    const stepwise = defineTool({
      name: "b",
      input,
      async *call() {
        yield "10 %";
      },
    });
    expectTypeOf(eventual).toEqualTypeOf<Tool<{ id: number }, number, never>>();
    expectTypeOf(stepwise).toExtend<Tool<{ id: number }, unknown, never>>();
  });

  it("takes the output of a toolResult with it", () => {
    const tool = defineTool({ name: "a", input, call: () => toolResult(1, new ToolCallExtensions()) });
    expectTypeOf(tool).toEqualTypeOf<Tool<{ id: number }, ToolResult<number>, never>>();
  });
});

describe("the needs of a tool", () => {
  it("are the ids of the tokens it requires", () => {
    const tool = defineTool({ name: "whose", input, requires: [Tenant, Locale], call: () => "done" });
    expectTypeOf<NeedsOf<typeof tool>>().toEqualTypeOf<"tenant" | "locale">();
  });

  it("are never without requires, or with none", () => {
    const without = defineTool({ name: "ping", input, call: () => "pong" });
    const none = defineTool({ name: "ping", input, requires: [], call: () => "pong" });
    expectTypeOf(without).toEqualTypeOf<Tool<{ id: number }, string, never>>();
    expectTypeOf(none).toEqualTypeOf<Tool<{ id: number }, string, never>>();
  });

  it("leave out a token that has a default", () => {
    const tool = defineTool({ name: "list", input, requires: [Tenant, Limit], call: () => "done" });
    expectTypeOf<NeedsOf<typeof tool>>().toEqualTypeOf<"tenant">();
  });

  it("are never where every token has a default", () => {
    const tool = defineTool({ name: "list", input, requires: [Limit], call: () => "done" });
    expectTypeOf<NeedsOf<typeof tool>>().toEqualTypeOf<never>();
  });

  it("are the same for a recording tool", () => {
    const tool = recordingTool({ requires: [Tenant] });
    expectTypeOf<NeedsOf<typeof tool>>().toEqualTypeOf<"tenant">();
  });

  it("let the tool require what it declares, the invocation and what has a default", () => {
    defineTool({
      name: "whose",
      input,
      requires: [Tenant],
      callWithExtensions: (_given, extensions) => {
        expectTypeOf(extensions.require(Tenant)).toEqualTypeOf<string>();
        expectTypeOf(extensions.require(ToolInvocationContext).toolCallId).toEqualTypeOf<string>();
        expectTypeOf(extensions.require(Limit)).toEqualTypeOf<number>();
      },
    });
  });

  it("do not let it require a token it does not declare", () => {
    defineTool({
      name: "whose",
      input,
      requires: [Tenant],
      // @ts-expect-error "locale" is not in requires
      callWithExtensions: (_given, extensions) => extensions.require(Locale),
    });
  });

  it("let it get any token, which may be absent", () => {
    defineTool({
      name: "whose",
      input,
      callWithExtensions: (_given, extensions) =>
        expectTypeOf(extensions.get(Locale)).toEqualTypeOf<"de" | "en" | undefined>(),
    });
  });
});

describe("wrapTool", () => {
  const tool = defineTool({ name: "whose", input, requires: [Tenant], call: () => 1 });

  it("keeps the needs and adds the wrapper's", () => {
    const wrapped = wrapTool(tool, { requires: [Locale], callWithExtensions: () => 2 });
    expectTypeOf<NeedsOf<typeof wrapped>>().toEqualTypeOf<"tenant" | "locale">();
  });

  it("keeps the needs where the wrapper has none", () => {
    const wrapped = wrapTool(tool, { callWithExtensions: (given, extensions, next) => next(given, extensions) });
    expectTypeOf<NeedsOf<typeof wrapped>>().toEqualTypeOf<"tenant">();
  });

  it("keeps the input", () => {
    const wrapped = wrapTool(tool, {
      callWithExtensions: (given, extensions, next) => {
        expectTypeOf(given).toEqualTypeOf<{ id: number }>();
        return next(given, extensions);
      },
    });
    expectTypeOf<InputOfTool<typeof wrapped>>().toEqualTypeOf<{ id: number }>();
  });

  it("lets the wrapper require the tool's tokens and its own", () => {
    wrapTool(tool, {
      requires: [Locale],
      callWithExtensions: (_given, extensions) => {
        expectTypeOf(extensions.require(Tenant)).toEqualTypeOf<string>();
        expectTypeOf(extensions.require(Locale)).toEqualTypeOf<"de" | "en">();
        return 2;
      },
    });
  });

  it("does not let it hand the tool a map without what the tool needs", () => {
    const empty = new ToolCallExtensions();
    wrapTool(tool, {
      // @ts-expect-error the tool needs "tenant" and the invocation
      callWithExtensions: (given, _extensions, next) => next(given, empty),
    });
  });

  it("does not let it hand the tool another input", () => {
    wrapTool(tool, {
      // @ts-expect-error id is a number
      callWithExtensions: (_given, extensions, next) => next({ id: "1" }, extensions),
    });
  });

  it("of a tool written by hand without needs has none", () => {
    class Greeter implements Tool<unknown, string, never> {
      readonly name = "greet";
      readonly input = {};
      call(): string {
        return "Hello";
      }
    }
    const wrapped = wrapTool(new Greeter(), { callWithExtensions: () => "Hello!" });
    expectTypeOf<NeedsOf<typeof wrapped>>().toEqualTypeOf<never>();
  });
});

describe("a tool written by hand", () => {
  it("has no needs where it declares none", () => {
    const tools = new ToolSet([{ name: "ping", input: {}, call: () => "pong" }]);
    expectTypeOf(tools).toEqualTypeOf<ToolSet<never>>();
  });

  it("has the needs of its requires", () => {
    const tools = new ToolSet([{ name: "ping", input: {}, requires: [Tenant], call: () => "pong" }]);
    expectTypeOf(tools).toEqualTypeOf<ToolSet<"tenant">>();
  });

  it("has the needs of a class that implements Tool", () => {
    class Whose implements Tool<unknown, string, "tenant"> {
      readonly name = "whose";
      readonly input = {};
      readonly requires = [Tenant];
      call(): string {
        return "unknown";
      }
      callWithExtensions(_given: unknown, extensions: ToolCallExtensions<"tenant">): string {
        return extensions.require(Tenant);
      }
    }
    expectTypeOf(new ToolSet([new Whose()])).toEqualTypeOf<ToolSet<"tenant">>();
  });

  it("has the needs of what its callWithExtensions reads, declared or not", () => {
    const tools = new ToolSet([
      {
        name: "whose",
        input: {},
        call: () => "unknown",
        callWithExtensions: (_given: unknown, extensions: ToolCallExtensions<"tenant">) => extensions.require(Tenant),
      },
    ]);
    expectTypeOf(tools).toEqualTypeOf<ToolSet<"tenant">>();
  });
});

describe("a ToolSet", () => {
  const whose = defineTool({ name: "whose", input, requires: [Tenant], call: () => 1 });
  const spoken = defineTool({ name: "spoken", input, requires: [Locale], call: () => "de" });
  const ping = defineTool({ name: "ping", input: z.object({}), call: () => "pong" });
  const listed = defineTool({ name: "list", input: {}, requires: [Limit], call: () => [] });

  it("has the needs of all its tools", () => {
    expectTypeOf(new ToolSet([whose, spoken, ping])).toEqualTypeOf<ToolSet<"tenant" | "locale">>();
  });

  it("has no needs of a tool whose tokens all have a default", () => {
    expectTypeOf(new ToolSet([listed])).toEqualTypeOf<ToolSet<never>>();
    expectTypeOf(new ToolSet([listed, whose])).toEqualTypeOf<ToolSet<"tenant">>();
  });

  it("takes a map that has what is needed, and more", () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-7").with(Locale, "de");
    expectTypeOf(new ToolSet([whose]).callWithExtensions("whose", {}, extensions)).toEqualTypeOf<
      Promise<ToolOutcome>
    >();
  });

  it("does not take a map that lacks a token", () => {
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    // @ts-expect-error "locale" is missing
    new ToolSet([whose, spoken]).callWithExtensions("whose", {}, extensions);
  });

  it("does not take an empty map that is made in place", () => {
    // @ts-expect-error "tenant" is missing
    new ToolSet([whose]).callWithExtensions("whose", {}, new ToolCallExtensions());
  });

  it("takes the dynamic map, which is checked at run time", () => {
    const tools = new ToolSet([whose, spoken]);
    expectTypeOf(tools.callWithExtensions).toBeCallableWith("whose", {}, new ToolCallExtensions<string>());
  });

  it("has call() where nothing is needed", () => {
    expectTypeOf(new ToolSet([ping]).call("ping", {})).toEqualTypeOf<Promise<ToolOutcome>>();
  });

  it("has no call() where something is needed, and says what", () => {
    const tools = new ToolSet([whose]);
    // @ts-expect-error the type of call is the message
    tools.call("whose", {});
    expectTypeOf<
      keyof typeof tools.call
    >().toEqualTypeOf<"missing tool extension 'tenant': add it with .with(token, value)">();
  });

  it("of a wide array needs what nobody can know: it fails closed", () => {
    const wide: readonly Tool[] = [whose, ping];
    const tools = new ToolSet(wide);
    expectTypeOf(tools).toEqualTypeOf<ToolSet<string>>();
    // @ts-expect-error there is no call() where the needs are not known
    tools.call("whose", {});
    // @ts-expect-error a map with some tokens may lack the one that is needed
    tools.callWithExtensions("whose", {}, new ToolCallExtensions().with(Tenant, "t-7"));
    tools.callWithExtensions("whose", {}, new ToolCallExtensions<string>());
  });

  it("does not pass for one with fewer needs", () => {
    // @ts-expect-error the set needs "tenant", which the wider type forgets
    const forgetful: ToolSet<never> = new ToolSet([whose]);
    expectTypeOf(forgetful).toEqualTypeOf<ToolSet<never>>();
  });

  it("does not take a tool with needs where none are allowed", () => {
    // @ts-expect-error the tool needs "tenant"
    new ToolSet<never>([whose]);
  });
});

describe("a tool", () => {
  it("passes for one with more needs, not for one with fewer", () => {
    const ping = defineTool({ name: "ping", input, call: () => "pong" });
    const whose = defineTool({ name: "whose", input, requires: [Tenant], call: () => "t-7" });
    expectTypeOf(ping).toExtend<Tool<{ id: number }, string, "tenant">>();
    expectTypeOf(whose).not.toExtend<Tool<{ id: number }, string, never>>();
  });

  it("passes for the wide type", () => {
    expectTypeOf(defineTool({ name: "ping", input, requires: [Tenant], call: () => 1 })).toExtend<Tool>();
  });
});
