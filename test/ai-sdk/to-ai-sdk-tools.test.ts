import { inspect } from "node:util";
import {
  defineTool,
  extensionToken,
  type Tool,
  ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { type AiSdkTool, toAiSdkTools } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<string>();
const Other = extensionToken("other").of<string>();
const Limit = extensionToken("limit").of({ default: () => 10 });
const extensions = new ToolCallExtensions().with(Tenant, "canary-2d4");
const options = { toolCallId: "call_abc", messages: [] };
const SCHEMA: unique symbol = Symbol.for("vercel.ai.schema");

interface Schema {
  readonly jsonSchema: unknown;
  readonly validate: (value: unknown) => Promise<object>;
}

function only(tools: Readonly<Record<string, AiSdkTool>>): AiSdkTool {
  const [tool] = Object.values(tools);
  if (tool === undefined) throw new Error("no tool");
  return tool;
}

/** What the AI SDK makes of the schema function. */
function schemaOf(tool: AiSdkTool): Schema {
  const schema: Schema & { readonly [SCHEMA]?: unknown } = tool.inputSchema();
  expect(schema[SCHEMA]).toBe(true);
  return schema;
}

function returning(output: unknown): AiSdkTool {
  return only(toAiSdkTools(new ToolSet([recordingTool({ result: () => output })]), new ToolCallExtensions()));
}

describe("what the AI SDK is given", () => {
  test("names, descriptions, JSON schemas, and a validation that leaves the input as it came", async () => {
    const input = z.object({ n: z.string().transform(Number) });
    const seen: number[] = [];
    const tool = defineTool({ name: "__proto__", description: "Counts", input, call: ({ n }) => seen.push(n) });
    const tools = toAiSdkTools(new ToolSet([tool]), new ToolCallExtensions());
    expect(Object.keys(tools)).toEqual(["__proto__"]);
    const given = only(tools);
    expect(given.description).toBe("Counts");
    expect(schemaOf(given).jsonSchema).toMatchObject({ type: "object", properties: { n: { type: "string" } } });
    expect(await schemaOf(given).validate({ n: "4" })).toEqual({ success: true, value: { n: "4" } });
    expect(await schemaOf(given).validate({ n: 4 })).toMatchObject({
      success: false,
      error: new ToolError(
        'The arguments for tool "__proto__" are not valid: n: Invalid input: expected string, received number',
      ),
    });
    await given.execute({ n: "4" }, options);
    expect(seen).toEqual([4]);
  });

  test("no tool under a name that every object has", () => {
    const tools = toAiSdkTools(new ToolSet([recordingTool()]), new ToolCallExtensions());
    for (const name of ["constructor", "toString", "__proto__"]) expect(tools[name]).toBeUndefined();
  });

  test.each<[string, unknown, unknown]>([
    ["text", "hi", "hi"],
    ["nothing", undefined, "(no output)"],
    ["an object with a date", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["a number", 7, 7],
    ["a BigInt", 7n, "7"],
    ["an extension map", { extensions }, { extensions: ["tenant"] }],
  ])("%s as JSON values", async (_title, output, expected) => {
    expect(await returning(output).execute({}, options)).toEqual(expected);
  });

  test("a cycle that is marked, and a text that is bounded", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    expect(await returning(cycle).execute({}, options)).toEqual({ self: "[Circular]" });
    const long = await returning({ text: "x".repeat(99_999) }).execute({}, options);
    expect(JSON.stringify(long).length).toBeLessThan(66_000);
  });

  test("no value, however the tools are printed", () => {
    const tools = toAiSdkTools(new ToolSet([recordingTool({ requires: [Tenant] })]), extensions);
    expect(JSON.stringify(tools) + inspect(tools, { depth: 20, showHidden: true })).not.toContain("canary");
  });

  test("a map as it was when the tools were made", async () => {
    const own = new ToolCallExtensions<string>();
    own.insert(Tenant, "t-7");
    const tool = recordingTool({ requires: [Tenant] });
    const tools = toAiSdkTools(new ToolSet([tool]), own);
    own.insert(Tenant, "t-8");
    await only(tools).execute({}, options);
    expect(tool.calls[0]?.extensions.get(Tenant)).toBe("t-7");
  });
});

describe("what is missing", () => {
  const needy = new ToolSet([recordingTool({ requires: [Tenant, Limit] })]);

  test("is named before any request, and by the compiler", () => {
    // @ts-expect-error the tenant is missing
    expect(() => toAiSdkTools(needy, new ToolCallExtensions())).toThrow(/\[missing-extension\] extension "tenant"/);
    expect(() => toAiSdkTools(needy, extensions)).not.toThrow();
  });

  test("in a context is named by its schema and by the call, without a value", async () => {
    const tool = only(toAiSdkTools(needy, "from-context"));
    const run = (context: unknown): Promise<unknown> => tool.execute({}, { ...options, context });
    await expect(run(new ToolCallExtensions())).rejects.toThrow(/extension "tenant" missing/);
    await expect(run(undefined)).rejects.toThrow(/must be a ToolCallExtensions in toolsContext.*received undefined/);
    // What a context becomes that was saved with a step.
    await expect(run(JSON.parse(JSON.stringify(extensions)))).rejects.toThrow(/received an array/);
    await expect(run(extensions)).resolves.toBe("recorded");
    await expect(tool.execute({}, { ...options, experimental_context: extensions })).resolves.toBe("recorded");

    const { contextSchema } = Object(tool) as { readonly contextSchema: z.ZodType };
    const validate = contextSchema["~standard"].validate;
    expect(validate(extensions)).toEqual({ value: extensions });
    expect(validate({ tenant: "canary" })).toMatchObject({ issues: [{ message: expect.stringContaining("object") }] });
  });
});

test("one that a tool reads without having required it is named to the caller, without a value", async () => {
  const late = defineTool({
    name: "late",
    input: { type: "object" },
    // What JavaScript may read.
    callWithExtensions: (_input, seen) => (seen as ToolCallExtensions<never>).require(Other as never),
  });
  const tool = only(toAiSdkTools(new ToolSet([late]), extensions));
  await expect(tool.execute({}, options)).rejects.toThrow(/\[missing-extension\] extension "other" missing/);
});

test.each<[string, readonly unknown[], RegExp]>([
  ["no tools", [undefined, extensions], /the tools must be a ToolSet; received undefined/],
  ["a list of tools", [[], extensions], /the tools must be a ToolSet; received an array/],
  ["no extensions", [new ToolSet([])], /the extensions of these tools must be a ToolCallExtensions or "from-context"/],
  ["an object for the extensions", [new ToolSet([]), { tenant: "t-7" }], /received an object/],
  ["null for the options", [new ToolSet([]), extensions, null], /the options of these tools must be an object/],
])("%s: named at once", (_title, given, message) => {
  // What JavaScript may pass.
  expect(() => toAiSdkTools(...(given as Parameters<typeof toAiSdkTools>))).toThrow(message);
});

describe("a session", () => {
  test.each(["chat-7", 7, null, { key: "" }, {}, { key: "chat-7", turnId: 7 }, { key: "chat-7", turnId: "" }])(
    "without a key, or with a turn that is no text, is refused at once or, from a function, by the call: %o",
    async (given) => {
      // What JavaScript may pass.
      const session = given as { readonly key: string };
      const tools = new ToolSet([recordingTool()]);
      expect(() => toAiSdkTools(tools, new ToolCallExtensions(), { session })).toThrow(/option session must be { key/);
      const later = only(toAiSdkTools(tools, new ToolCallExtensions(), { session: () => session }));
      await expect(later.execute({}, options)).rejects.toThrow(/option session must be { key, turnId }/);
    },
  );

  test("whose function fails says nothing of the error, which may hold a value", async () => {
    const session = (seen: ToolCallExtensions): never => {
      throw new Error(`no session for ${seen.get(Tenant)}`);
    };
    const tool = only(toAiSdkTools(new ToolSet([recordingTool()]), extensions, { session }));
    const error: unknown = await tool.execute({}, options).catch((thrown: unknown) => thrown);
    expect(error).toEqual(new ToolError('Tool "recording" failed.'));
    expect(inspect(error, { showHidden: true, depth: 9 })).not.toContain("canary");
  });
});

test("a validation that fails says nothing of its error, which may hold a secret, and the tool is not entered", async () => {
  const input = z.object({}).refine(() => {
    throw new Error("postgres://user:canary@db");
  });
  const calls: unknown[] = [];
  const tool = only(
    toAiSdkTools(
      new ToolSet([defineTool({ name: "checked", input, call: () => calls.push(1) })]),
      new ToolCallExtensions(),
    ),
  );
  expect(await schemaOf(tool).validate({})).toEqual({ success: true, value: {} });
  await expect(tool.execute({}, options)).rejects.toEqual(new ToolError('Tool "checked" failed.'));
  expect(calls).toEqual([]);
});

describe("the place in the conversation", () => {
  const user = { role: "user", content: "Go" };
  const called = (...ids: string[]) => ({
    role: "assistant",
    content: ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "recording", input: {} })),
  });
  const asked = { type: "tool-approval-request", toolCallId: "call_abc", approvalId: "ap_1" };
  const answered = (approvalId: string, approved: boolean) => ({
    role: "tool",
    content: [{ type: "tool-approval-response", approvalId, approved }],
  });

  const yes = { type: "tool-approval-response", approvalId: "ap_1", approved: true };
  const result = { type: "tool-result", toolCallId: "call_abc", toolName: "pay", output: { type: "text", value: "1" } };

  async function place(toolCallId: string, messages: readonly unknown[], session?: { key: string; turnId?: string }) {
    const tool = recordingTool();
    const tools = toAiSdkTools(new ToolSet([tool]), new ToolCallExtensions(), { session });
    await only(tools).execute({}, { toolCallId, messages });
    const invocation = tool.calls[0]?.invocation;
    if (invocation === undefined) throw new Error("the tool was not called");
    return invocation;
  }

  test("turns count from the last message of the user", async () => {
    expect((await place("call_abc", [user])).turn).toBe(1);
    expect((await place("call_abc", [user, called("call_a"), { role: "tool", content: [] }])).turn).toBe(2);
    expect((await place("call_abc", [user, called("call_a"), user])).turn).toBe(1);
    expect((await place("call_abc", [{ role: "assistant", content: "Hello" }, user])).turn).toBe(1);
  });

  test.each([
    ["an id that the conversation has", "call_a"],
    ["an empty one", ""],
    ["the tool's name", "recording"],
    ["a position", "recording:0"],
  ])("%s is replaced by one of the place", async (_title, id) => {
    const session = { key: "chat-7" };
    const first = await place(id, [user, called("call_a")], session);
    expect(first.toolCallId).toMatch(/^[0-9A-Za-z]{9}$/);
    expect(first.providerToolCallId).toBe(id);
    expect((await place(id, [user, called("call_a")], session)).toolCallId).toBe(first.toolCallId);
    expect((await place(id, [user, called("call_a"), called("call_b")], session)).toolCallId).not.toBe(
      first.toolCallId,
    );
  });

  test("runs of one session differ by their turn id or, without one, by what was asked and where", async () => {
    const runIdOf = async (messages: readonly unknown[], session?: { key: string; turnId?: string }) =>
      (await place("call_abc", messages, session)).runId;
    const chat = { key: "chat-7" };
    const first = await runIdOf([user], chat);
    expect(await runIdOf([user, called("call_a")], chat)).toBe(first);
    const others = [
      await runIdOf([user, called("call_a"), user], chat),
      await runIdOf([{ ...user, content: "Stop" }], chat),
      await runIdOf([user], { key: "chat-8" }),
      await runIdOf([user], { ...chat, turnId: "m-1" }),
      await runIdOf([user], { ...chat, turnId: "m-2" }),
      await runIdOf([user]),
      await runIdOf([user]),
    ];
    expect(new Set([first, ...others]).size).toBe(8);
    expect(await runIdOf([user, called("x"), user], { ...chat, turnId: "m-1" })).toBe(others[3]);
  });

  test("what is no text of the question is not read", async () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const text = { type: "text", text: "Go", providerOptions: { a: { n: 1n, cycle } } };
    const picture = {
      type: "image",
      get image(): never {
        throw new Error("read the picture");
      },
    };
    const runIdOf = async (content: unknown) =>
      (await place("call_abc", [{ role: "user", content }], { key: "chat-7" })).runId;
    const first = await runIdOf([text, picture]);
    expect(await runIdOf("Go")).toBe(first);
    expect(await runIdOf([{ ...text, text: "Stop" }, picture])).not.toBe(first);
    expect(await runIdOf([picture, text, { type: "text", text: "!" }])).not.toBe(first);
  });

  test("a caller that leaves the messages out has its call run", async () => {
    const tool = recordingTool();
    const given = only(toAiSdkTools(new ToolSet([tool]), new ToolCallExtensions()));
    // What JavaScript may leave out.
    await given.execute({}, { toolCallId: "call_abc" } as typeof options);
    expect(tool.calls[0]?.invocation.toolCallId).toBe("call_abc");
  });

  test("calls of one answer under one id are told apart over several sets; those of two answers by their place", async () => {
    const [one, two] = [recordingTool({ name: "one" }), recordingTool({ name: "two" })];
    const given = [one, two, one].map((tool) =>
      only(toAiSdkTools(new ToolSet([tool]), new ToolCallExtensions(), { session: { key: "chat-7" } })),
    );
    const ids = async (): Promise<readonly unknown[]> => {
      const messages = [user];
      for (const tool of given) await tool.execute({}, { toolCallId: "call_abc", messages });
      return [...one.calls, ...two.calls].map(({ invocation }) => invocation.toolCallId);
    };
    const first = await ids();
    expect(first[0]).toBe("call_abc");
    expect(new Set(first).size).toBe(3);
    expect(new Set(await ids())).toEqual(new Set(first));
  });

  test("loops inside one call are numbered as they are made, in whatever order they come to their calls", async () => {
    const runIdsOf = async (order: readonly number[]): Promise<readonly unknown[]> => {
      const tool = recordingTool();
      const outer = defineTool({
        name: "outer",
        input: { type: "object" },
        callWithExtensions: async (_input, seen) => {
          const loops = [0, 1].map(() => only(toAiSdkTools(new ToolSet([tool]), seen)));
          for (const index of order)
            await loops[index]?.execute({}, { toolCallId: `call_x${index}`, messages: [user] });
        },
      });
      await new ToolSet([outer]).call("outer", {}, { toolCallId: "call_out", remote: { invocationKey: "ik1_a" } });
      const sorted = tool.calls
        .map(({ invocation }) => invocation)
        .sort((a, b) => a.toolCallId.localeCompare(b.toolCallId));
      return sorted.map(({ runId }) => runId);
    };
    const made = await runIdsOf([0, 1]);
    expect(new Set(made).size).toBe(2);
    expect(await runIdsOf([1, 0])).toEqual(made);
  });

  test("without a session the requests' maps tell the runs of one set of tools apart", async () => {
    const tool = recordingTool();
    const tools = toAiSdkTools(new ToolSet([tool]), "from-context");
    const [first, second] = [new ToolCallExtensions(), new ToolCallExtensions()];
    for (const context of [first, first, second]) await only(tools).execute({}, { ...options, context });
    const [a, b, c] = tool.calls.map(({ invocation }) => invocation.runId);
    expect(a).toBe(b);
    expect(a).not.toBe(c);
  });

  test("a call that waited for approval keeps the turn and the id that it had", async () => {
    const assistant = { role: "assistant", content: [...called("call_abc").content, asked] };
    const invocation = await place("call_abc", [user, called("call_a"), assistant, answered("ap_1", true)]);
    expect(invocation).toMatchObject({ toolCallId: "call_abc", turn: 2 });
  });

  test.each<[string, readonly unknown[], boolean]>([
    ["approved", [answered("ap_1", true)], true],
    ["refused", [answered("ap_1", false)], false],
    ["another's approval", [answered("ap_2", true)], false],
    ["a word that is no yes", [{ role: "tool", content: [{ ...yes, approved: "no" }] }], false],
    ["approved, and run already", [answered("ap_1", true), { role: "tool", content: [result] }], false],
    ["no answer", [], false],
  ])("%s: a call that needs approval runs only when it was given", async (_title, answers, runs) => {
    const calls: unknown[] = [];
    const pay = defineTool({ name: "pay", input: { type: "object" }, needsApproval: true, call: () => calls.push(1) });
    const waiting = { type: "tool-call", toolCallId: "call_abc", toolName: "pay", input: {} };
    const assistant = { role: "assistant", content: [waiting, asked] };
    const tool = only(toAiSdkTools(new ToolSet([pay]), new ToolCallExtensions()));
    const run = tool.execute({}, { toolCallId: "call_abc", messages: [user, assistant, ...answers] });
    if (runs) await expect(run).resolves.toBe(1);
    else await expect(run).rejects.toThrow('Tool "pay" needs approval, and the conversation holds none for this call.');
    expect(calls).toHaveLength(runs ? 1 : 0);
  });
});

describe("an approval", () => {
  const user = { role: "user", content: "Pay" };
  const asked = { type: "tool-approval-request", toolCallId: "call_abc", approvalId: "ap_1" };
  const answered = { role: "tool", content: [{ type: "tool-approval-response", approvalId: "ap_1", approved: true }] };

  async function pay(stored: object, input: unknown): Promise<readonly unknown[]> {
    const calls: unknown[] = [];
    const tool = defineTool({ name: "pay", input: { type: "object" }, needsApproval: true, call: () => calls.push(1) });
    const waiting = { type: "tool-call", toolCallId: "call_abc", toolName: "pay", ...stored };
    const messages = [user, { role: "assistant", content: [waiting, asked] }, answered];
    const given = only(toAiSdkTools(new ToolSet([tool]), new ToolCallExtensions()));
    await given.execute(input, { toolCallId: "call_abc", messages }).catch(() => undefined);
    return calls;
  }

  test.each<[string, object, unknown, boolean]>([
    ["the same arguments", { input: { cents: 5, to: { a: [1] } } }, { cents: 5, to: { a: [1] } }, true],
    ["a database's order of keys", { input: { to: "a", cents: 5 } }, { cents: 5, to: "a" }, true],
    ["a key without a value", { input: { cents: 5 } }, { cents: 5, to: undefined }, true],
    ["another amount", { input: { cents: 5 } }, { cents: 500 }, false],
    ["one key more", { input: { cents: 5 } }, { cents: 5, to: "a" }, false],
    ["one key less", { input: { cents: 5, to: "a" } }, { cents: 5 }, false],
    ["a list for an object", { input: { ids: ["a"] } }, { ids: { 0: "a" } }, false],
    ["another tool", { toolName: "refund", input: {} }, {}, false],
  ])("is for one tool and its arguments: %s", async (_title, stored, input, runs) => {
    expect(await pay(stored, input)).toHaveLength(runs ? 1 : 0);
  });
});

describe("approval", () => {
  const asks = async (
    needsApproval: Tool<{ cents: number }, unknown, never>["needsApproval"],
    input: unknown = { cents: 5 },
  ) => {
    const pay = defineTool({ name: "pay", input: z.object({ cents: z.number() }), needsApproval, call: () => "paid" });
    const given = only(toAiSdkTools(new ToolSet([pay]), extensions)).needsApproval;
    return typeof given === "function" ? given(input, options) : given;
  };

  test("is asked for as the tool says", async () => {
    expect(await asks(undefined)).toBeUndefined();
    expect(await asks(false)).toBe(false);
    expect(await asks(true)).toBe(true);
    expect(await asks(({ cents }) => cents > 4)).toBe(true);
    expect(await asks(({ cents }) => cents > 5)).toBe(false);
    expect(await asks((_input, seen) => seen.get(Tenant) === "canary-2d4")).toBe(true);
  });

  test("is asked for where the question cannot be put", async () => {
    const question = (): boolean => {
      throw new Error("no database");
    };
    expect(await asks(question)).toBe(true);
    expect(await asks(() => false, { cents: "5" })).toBe(true);
  });

  test("is asked for with the invocation of the call itself, also inside another call", async () => {
    const asked: (ToolInvocationContext | undefined)[] = [];
    const tool = defineTool({
      name: "pay",
      input: { type: "object" },
      needsApproval: (_input, seen) => asked.push(seen.get(ToolInvocationContext)) === 0,
      callWithExtensions: (_input, seen) => asked.push(seen.get(ToolInvocationContext)),
    });
    const run = async (given: ToolCallExtensions): Promise<void> => {
      const { needsApproval, execute } = only(
        toAiSdkTools(new ToolSet([tool]), given, { session: { key: "chat-7", turnId: "m-1" } }),
      );
      const call = { toolCallId: "pay:0", messages: [{ role: "user", content: "Pay" }] };
      expect(typeof needsApproval === "function" && (await needsApproval({}, call))).toBe(false);
      await execute({}, call);
    };
    const outer = defineTool({
      name: "outer",
      input: { type: "object" },
      callWithExtensions: (_input, seen) => run(seen),
    });
    await run(new ToolCallExtensions());
    await new ToolSet([outer]).call("outer", {}, { sessionKey: "chat-7" });
    expect(asked.map((seen) => seen?.toolName)).toEqual(Array(6).fill("pay"));
    expect(asked.map((seen) => seen?.parent?.toolName)).toEqual([...Array(3), ...Array(3).fill("outer")]);
    const keys = asked.map((seen) => [seen?.toolCallId, seen?.invocationKey]);
    expect(keys[0]).toEqual(keys[2]);
    expect(keys[3]).toEqual(keys[5]);
    expect(keys[0]).not.toEqual(keys[3]);
  });
});
