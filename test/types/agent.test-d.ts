import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  type PromptRequest,
  type RunEvent,
  Runner,
  type RunResult,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

interface User {
  readonly id: string;
}

const Session = extensionToken("session").of<User>();
const Tenant = extensionToken("tenant").of<string>();
const Limit = extensionToken("limit").of<number>({ default: () => 10 });

const model = scriptedModel([]);
const needsSession = recordingTool({ name: "needs_session", requires: [Session] });
const needsTenant = recordingTool({ name: "needs_tenant", requires: [Tenant] });
const needsNothing = recordingTool({ name: "needs_nothing", requires: [Limit] });
const session = new ToolCallExtensions().with(Session, { id: "s-1" });
const tenant = new ToolCallExtensions().with(Tenant, "t-7");

describe("an agent", () => {
  it("needs what its tools need, each once", () => {
    const agent = new Agent({ name: "a", model, tools: [needsSession, needsTenant, needsNothing, needsSession] });
    expectTypeOf(agent).toEqualTypeOf<Agent<"session" | "tenant">>();
  });

  it("needs what its tool set needs", () => {
    const tools = new ToolSet([needsSession, needsTenant]);
    expectTypeOf(new Agent({ name: "a", model, tools })).toEqualTypeOf<Agent<"session" | "tenant">>();
  });

  it("needs nothing where it has no tools or they need nothing", () => {
    expectTypeOf(new Agent({ name: "a", model })).toEqualTypeOf<Agent<never>>();
    expectTypeOf(new Agent({ name: "a", model, tools: [needsNothing] })).toEqualTypeOf<Agent<never>>();
  });

  it("needs every id there is where its tools' needs are not known", () => {
    const tools: Tool[] = [needsSession];
    const request = new Agent({ name: "a", model, tools }).prompt("x");
    // @ts-expect-error a wide list of tools may need anything
    request.toolExtensions(session).run();
    request.toolExtensions(new ToolCallExtensions<string>()).run();
  });
});

describe("a request", () => {
  const request = new Agent({ name: "a", model, tools: [needsSession, needsTenant] }).prompt("x");

  it("does not run while a token is missing", () => {
    // @ts-expect-error session and tenant are missing
    request.run();
    // @ts-expect-error tenant is missing
    request.toolExtensions(session).run();
    // @ts-expect-error an empty map adds nothing
    request.toolExtensions(new ToolCallExtensions()).run();
  });

  it("does not stream while a token is missing", () => {
    // @ts-expect-error session and tenant are missing
    request.stream();
    // @ts-expect-error session is missing
    request.toolExtensions(tenant).stream();
  });

  it("is not taken by a runner while a token is missing", () => {
    // @ts-expect-error session and tenant are missing
    new Runner().run(request);
    // @ts-expect-error tenant is missing
    new Runner().stream(request.toolExtensions(session));
  });

  it("runs and streams once every token is given, in one map or in several", () => {
    const inOne = request.toolExtensions(session.with(Tenant, "t-7"));
    expectTypeOf(inOne.run()).toEqualTypeOf<Promise<RunResult<string>>>();
    expectTypeOf(inOne.stream()).toEqualTypeOf<AsyncGenerator<RunEvent, void>>();
    const inTwo = request.toolExtensions(session).toolExtensions(tenant);
    expectTypeOf(inTwo.run()).toEqualTypeOf<Promise<RunResult<string>>>();
    expectTypeOf(new Runner().run(inTwo)).toEqualTypeOf<Promise<RunResult<string>>>();
  });

  it("takes a map with more than is needed", () => {
    const Locale = extensionToken("locale").of<string>();
    expectTypeOf(request.toolExtensions(session.with(Tenant, "t-7").with(Locale, "en")).run).toBeFunction();
  });

  it("takes a dynamic map, which is checked when it runs", () => {
    expectTypeOf(request.toolExtensions(new ToolCallExtensions<string>()).run).toBeFunction();
  });

  it("takes a dynamic map's proof", () => {
    const dynamic: ToolCallExtensions<never> = new ToolCallExtensions<string>();
    expectTypeOf(request.toolExtensions(dynamic.expect(Session, Tenant)).run).toBeFunction();
    // @ts-expect-error only session was proven
    request.toolExtensions(dynamic.expect(Session)).run();
  });

  it("keeps what is missing through every other method", () => {
    const built = request
      .history([])
      .signal(AbortSignal.abort())
      .maxTurns(2)
      .on(() => {})
      .output(z.string());
    expectTypeOf(built).toEqualTypeOf<PromptRequest<"session" | "tenant", string>>();
    // @ts-expect-error session and tenant are still missing
    built.run();
  });

  it("with a token under the id of another counts as given, which the run then finds", () => {
    const OtherSession = extensionToken("session").of<number>();
    const other = new ToolCallExtensions().with(OtherSession, 7).with(Tenant, "t-7");
    expectTypeOf(request.toolExtensions(other).run).toBeFunction();
  });

  it("takes no wrong arguments", () => {
    // @ts-expect-error a Map is no ToolCallExtensions
    request.toolExtensions(new Map());
    // @ts-expect-error a controller is no signal
    request.signal(new AbortController());
    // @ts-expect-error a JSON Schema has no type for the output
    request.output({ type: "object" });
  });
});

describe("a result's output", () => {
  const request = new Agent({ name: "a", model }).prompt("x");

  it("is text where no schema was given", () => {
    type Result = Awaited<ReturnType<typeof request.run>>;
    expectTypeOf<Extract<Result, { readonly status: "completed" }>["output"]>().toEqualTypeOf<string>();
  });

  it("is undefined where the run paused", () => {
    type Result = Awaited<ReturnType<typeof request.run>>;
    expectTypeOf<Extract<Result, { readonly status: "paused" }>["output"]>().toEqualTypeOf<undefined>();
  });

  it("is the type that the schema gives", async () => {
    const weather = request.output(z.object({ city: z.string(), celsius: z.number().optional() }));
    expectTypeOf((await weather.run()).output).toEqualTypeOf<
      { city: string; celsius?: number | undefined } | undefined
    >();
  });

  it("is the type that the schema transforms to", async () => {
    const length = request.output(z.string().transform((text) => text.length));
    expectTypeOf((await length.run()).output).toEqualTypeOf<number | undefined>();
    expectTypeOf((await new Runner().run(length)).output).toEqualTypeOf<number | undefined>();
  });
});

describe("a sub-agent's tool", () => {
  const inner = new Agent({ name: "inner", model, tools: [needsSession, needsTenant] });
  const needsOf = <Needs extends string>(tool: Tool<never, unknown, Needs>) =>
    new Agent({ name: "a", model, tools: [tool] });

  it("needs what the sub-agent needs where it inherits", () => {
    expectTypeOf(needsOf(inner.asTool({ name: "ask" }))).toEqualTypeOf<Agent<"session" | "tenant">>();
    const inherits = inner.asTool({ name: "ask", extensions: "inherit" });
    expectTypeOf(needsOf(inherits)).toEqualTypeOf<Agent<"session" | "tenant">>();
  });

  it('does not compile with "none" where the sub-agent needs a token', () => {
    // @ts-expect-error session and tenant are missing
    inner.asTool({ name: "ask", extensions: "none" });
  });

  it('needs nothing with "none" where the sub-agent needs nothing', () => {
    const free = new Agent({ name: "free", model, tools: [needsNothing] });
    expectTypeOf(needsOf(free.asTool({ name: "ask", extensions: "none" }))).toEqualTypeOf<Agent<never>>();
  });

  it("does not compile with a list that drops a needed token", () => {
    // @ts-expect-error tenant is missing
    inner.asTool({ name: "ask", extensions: [Session] });
    // @ts-expect-error session and tenant are missing
    inner.asTool({ name: "ask", extensions: [] });
    // @ts-expect-error session and tenant are missing
    inner.asTool({ name: "ask", extensions: [Limit] });
  });

  it("needs what the sub-agent needs where a list keeps it, and not the list's other tokens", () => {
    const Locale = extensionToken("locale").of<string>();
    const ask = inner.asTool({ name: "ask", extensions: [Session, Tenant, Locale] });
    expectTypeOf(needsOf(ask)).toEqualTypeOf<Agent<"session" | "tenant">>();
  });

  it("does not compile with a function whose map lacks a needed token", () => {
    // @ts-expect-error tenant is missing
    inner.asTool({ name: "ask", extensions: () => new ToolCallExtensions().with(Session, { id: "s-1" }) });
    // @ts-expect-error session and tenant are missing
    inner.asTool({ name: "ask", extensions: () => new ToolCallExtensions() });
    // @ts-expect-error the caller's map is not known to hold what the sub-agent needs
    inner.asTool({ name: "ask", extensions: (caller) => caller });
  });

  it("needs what a function declares to read", () => {
    const ask = inner.asTool({
      name: "ask",
      requires: [Session],
      extensions: (caller) => {
        expectTypeOf(caller.require(Session)).toEqualTypeOf<User>();
        return new ToolCallExtensions().with(Session, caller.require(Session)).with(Tenant, "t-7");
      },
    });
    expectTypeOf(needsOf(ask)).toEqualTypeOf<Agent<"session">>();
  });

  it("needs nothing where a function provides everything", () => {
    const ask = inner.asTool({ name: "ask", extensions: () => session.with(Tenant, "t-7") });
    expectTypeOf(needsOf(ask)).toEqualTypeOf<Agent<never>>();
  });

  it("does not let a function read what it did not declare", () => {
    inner.asTool({
      name: "ask",
      // @ts-expect-error tenant was not declared in requires
      extensions: (caller) => session.with(Tenant, caller.require(Tenant)),
    });
  });

  it("makes what it needs the outer request's need", () => {
    const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask" })] });
    // @ts-expect-error session and tenant are missing
    outer.prompt("x").run();
    expectTypeOf(outer.prompt("x").toolExtensions(session).toolExtensions(tenant).run).toBeFunction();
  });

  it("passes its needs up through three agents", () => {
    const middle = new Agent({ name: "middle", model, tools: [inner.asTool({ name: "ask" })] });
    const outer = new Agent({ name: "outer", model, tools: [middle.asTool({ name: "ask_middle" }), needsNothing] });
    expectTypeOf(outer).toEqualTypeOf<Agent<"session" | "tenant">>();
  });
});

describe("H26 mastra-ai/mastra #4931: a context value came as unknown, and leaving out a required one compiled", () => {
  it("gives a tool its values with their types", () => {
    defineTool({
      name: "typed",
      input: z.object({ n: z.number() }),
      requires: [Session],
      callWithExtensions: ({ n }, extensions) => {
        expectTypeOf(n).toEqualTypeOf<number>();
        expectTypeOf(extensions.require(Session)).toEqualTypeOf<User>();
        expectTypeOf(extensions.get(Session)).toEqualTypeOf<User | undefined>();
        expectTypeOf(extensions.get(Limit)).toEqualTypeOf<number>();
        expectTypeOf(extensions.require(ToolInvocationContext)).toEqualTypeOf<ToolInvocationContext>();
        expectTypeOf(currentToolInvocation()).toEqualTypeOf<ToolInvocationContext | undefined>();
        // @ts-expect-error tenant was not declared in requires
        return extensions.require(Tenant);
      },
    });
  });

  it("does not take a value of another type", () => {
    // @ts-expect-error an id is a string
    new ToolCallExtensions().insert(Session, { id: 1 });
    // @ts-expect-error an id is a string
    new ToolCallExtensions().with(Session, { id: 1 });
  });

  it("does not take one token for another of the same shape", () => {
    const OtherUser = extensionToken("other-user").of<User>();
    const request = new Agent({ name: "a", model, tools: [needsSession] }).prompt("x");
    // @ts-expect-error other-user is not session
    request.toolExtensions(new ToolCallExtensions().with(OtherUser, { id: "s-1" })).run();
  });

  it("does not compile a run that leaves out what a tool declared", () => {
    const request = new Agent({ name: "a", model, tools: [needsSession] }).prompt("x");
    // @ts-expect-error session is missing
    request.run();
  });
});
