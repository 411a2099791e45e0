import { getEventListeners } from "node:events";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
  type ToolMiddleware,
  ToolSet,
} from "tool-call-extensions";
import { type RecordedCall, recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";

const Tenant = extensionToken("tenant").of<object>();
const session = { sessionKey: "chat-7" };
const none = new ToolCallExtensions();
const soon = { minDelayMs: 0 };

/** Fails until the attempt, and then tells it. */
const untilAttempt =
  (attempt: number, error: unknown = new Error("socket closed")) =>
  ({ invocation }: RecordedCall): string => {
    if (invocation.attempt < attempt) throw error;
    return `attempt ${invocation.attempt}`;
  };

const attemptsOf = ({ calls }: { readonly calls: readonly RecordedCall[] }) =>
  calls.map(({ invocation }) => invocation.attempt);

describe("a tool with retries", () => {
  it("counts the attempts up under one id and one key", async () => {
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(3) }), retries: { max: 4, ...soon } };
    const outcome = await new ToolSet([flaky]).callWithExtensions("flaky", {}, none, session);
    expect(outcome).toEqual({ status: "completed", output: "attempt 3" });
    expect(attemptsOf(flaky)).toEqual([1, 2, 3]);
    expect(new Set(flaky.calls.map(({ invocation }) => invocation.toolCallId)).size).toBe(1);
    const keys = new Set(flaky.calls.map(({ invocation }) => invocation.invocationKey));
    expect([...keys]).toEqual([expect.stringMatching(/^ik1_/)]);
  });

  it("is entered once more than the number says, and fails with the last error", async () => {
    const errors = [1, 2, 3].map((attempt) => new Error(`attempt ${attempt}`));
    const flaky = {
      ...recordingTool({ name: "flaky", result: ({ invocation }) => Promise.reject(errors[invocation.attempt - 1]) }),
      retries: { max: 2, ...soon },
    };
    const outcome = await new ToolSet([flaky]).call("flaky", {});
    expect(attemptsOf(flaky)).toEqual([1, 2, 3]);
    expect(outcome.status === "failed" && outcome.error).toBe(errors[2]);
  });

  it.each([undefined, 0, { max: 0 }])("is entered once where retries are %j", async (retries) => {
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(2) }), retries };
    expect(await new ToolSet([flaky]).call("flaky", {})).toMatchObject({ status: "failed", kind: "error" });
    expect(attemptsOf(flaky)).toEqual([1]);
  });

  it("sees in every attempt its own invocation and the same values", async () => {
    const tenant = { id: "t-7" };
    const current: unknown[] = [];
    const flaky = {
      ...recordingTool({
        name: "flaky",
        result: (call) => {
          current.push(currentToolInvocation());
          return untilAttempt(3)(call);
        },
      }),
      retries: { max: 2, ...soon },
    };
    await new ToolSet([flaky]).callWithExtensions("flaky", {}, new ToolCallExtensions().with(Tenant, tenant));
    expect(current).toEqual(flaky.calls.map(({ invocation }) => invocation));
    for (const { extensions, invocation } of flaky.calls) {
      expect(extensions.require(ToolInvocationContext)).toBe(invocation);
      expect(extensions.get(Tenant)).toBe(tenant);
      expect(extensions.isReadOnly && Object.isFrozen(invocation)).toBe(true);
    }
  });

  it("gives the calls it makes itself the same ids and keys in every attempt", async () => {
    const inside = recordingTool({ name: "inside" });
    const tools = new ToolSet([inside]);
    const flaky = defineTool({
      name: "flaky",
      input: { type: "object" },
      retries: { max: 1, ...soon },
      callWithExtensions: async (_input, extensions) => {
        for (const n of [1, 2]) await tools.callWithExtensions("inside", { n }, extensions);
        if (extensions.require(ToolInvocationContext).attempt === 1) throw new Error("socket closed");
      },
    });
    await new ToolSet([flaky]).callWithExtensions("flaky", {}, none, session);
    const keys = inside.calls.map(({ invocation }) => invocation.invocationKey);
    expect(keys.slice(2)).toEqual(keys.slice(0, 2));
    expect(new Set(keys).size).toBe(2);
    expect(inside.calls.map(({ invocation }) => invocation.parent?.attempt)).toEqual([1, 1, 2, 2]);
  });

  it("is one call for its listeners, which ends in the attempt that ended it", async () => {
    const error = new Error("socket closed");
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(3, error) }), retries: { max: 2, ...soon } };
    const model = scriptedModel([{ toolCalls: [{ toolName: "flaky", input: {} }] }, "Done."]);
    const events: RunEvent[] = [];
    await new Agent({ name: "a", model, tools: [flaky] })
      .prompt("x")
      .on((event) => events.push(event))
      .run();
    expect(events.filter((event) => "invocation" in event)).toMatchObject([
      { type: "tool-requested", invocation: { attempt: 1 } },
      { type: "tool-retried", invocation: { attempt: 2 }, error, at: expect.any(Number) },
      { type: "tool-retried", invocation: { attempt: 3 }, error, at: expect.any(Number) },
      { type: "tool-completed", invocation: { attempt: 3 } },
    ]);
    expect(events.filter((event) => event.type === "tool-retried").map((event) => event.invocation)).toEqual(
      flaky.calls.slice(1).map(({ invocation }) => invocation),
    );
  });

  it("is one call for its middleware", async () => {
    const seen: string[] = [];
    const watch: ToolMiddleware = async (call, next) => {
      const outcome = await next(call);
      seen.push(outcome.status);
      return outcome;
    };
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(3) }), retries: { max: 2, ...soon } };
    await new ToolSet([flaky], { middleware: [watch] }).call("flaky", {});
    expect(seen).toEqual(["completed"]);
  });
});

describe("what is tried again", () => {
  const run = async (error: unknown, retries: object = {}) => {
    const flaky = {
      ...recordingTool({ name: "flaky", input: z.object({}), result: untilAttempt(2, error) }),
      retries: { max: 1, ...soon, ...retries },
    };
    await new ToolSet([flaky]).call("flaky", {});
    return attemptsOf(flaky);
  };

  it("is any thrown value", async () => {
    expect(await run(new Error("socket closed"))).toEqual([1, 2]);
    expect(await run("a string")).toEqual([1, 2]);
  });

  it("is not a ToolError, which is the tool's word to the model", async () => {
    expect(await run(new ToolError("Order 42 does not exist."))).toEqual([1]);
  });

  it("is what isRetryable says of the original error", async () => {
    const error = new ToolError("Busy.");
    const asked: unknown[] = [];
    const isRetryable = (given: unknown) => asked.push(given) > 0;
    expect(await run(error, { isRetryable })).toEqual([1, 2]);
    expect(asked).toEqual([error]);
    expect(await run(new Error("socket closed"), { isRetryable: () => false })).toEqual([1]);
  });

  it("is not a call whose arguments are invalid, whose tool is unknown or which lacks an extension", async () => {
    const isRetryable = vi.fn(() => true);
    const rules = { retries: { max: 2, ...soon, isRetryable } };
    const strict = { ...recordingTool({ name: "strict", input: z.object({ n: z.number() }) }), ...rules };
    const needy = {
      ...recordingTool({ name: "needy", result: ({ extensions }) => extensions.require(Tenant) }),
      ...rules,
    };
    const tools = new ToolSet([strict, needy]);
    expect(await tools.call("strict", {})).toMatchObject({ kind: "invalid-input" });
    expect(await tools.call("stric", {})).toMatchObject({ kind: "unknown-tool" });
    expect(await tools.call("needy", {})).toMatchObject({ kind: "missing-extension" });
    expect([strict.calls.length, needy.calls.length, isRetryable.mock.calls.length]).toEqual([0, 1, 0]);
  });
});

describe("the wait before an attempt", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** The waits of a tool that always fails, with the random part as given. */
  async function waits(retries: { readonly max: number }, random: number): Promise<number[]> {
    vi.useFakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(random);
    const entered: number[] = [];
    const flaky = {
      ...recordingTool({ name: "flaky", result: () => Promise.reject(new Error(String(entered.push(Date.now())))) }),
      retries,
    };
    const call = new ToolSet([flaky]).call("flaky", {});
    await vi.runAllTimersAsync();
    await call;
    return entered.slice(1).map((at, index) => at - (entered[index] ?? 0));
  }

  it("doubles up to the greatest", async () => {
    expect(await waits({ max: 5, minDelayMs: 10, maxDelayMs: 60 } as { max: number }, 1)).toEqual([10, 20, 40, 60, 60]);
  });

  it("is a random part of that, from none to all", async () => {
    expect(await waits({ max: 2, minDelayMs: 100 } as { max: number }, 0.5)).toEqual([50, 100]);
    expect(await waits({ max: 2, minDelayMs: 100 } as { max: number }, 0)).toEqual([0, 0]);
  });

  it("grows from 100 ms to 5 s where nothing is said", async () => {
    expect(await waits({ max: 8 }, 1)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  });

  it("ends at once when the call is aborted, and the tool is not entered again", async () => {
    const controller = new AbortController();
    const flaky = {
      ...recordingTool({ name: "flaky", result: untilAttempt(9) }),
      retries: { max: 9, minDelayMs: 1e6 },
    };
    vi.spyOn(Math, "random").mockReturnValue(1);
    const call = new ToolSet([flaky]).callWithExtensions("flaky", {}, none, { signal: controller.signal });
    setTimeout(() => controller.abort("enough"), 5);
    expect(await call).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    expect(attemptsOf(flaky)).toEqual([1]);
    const { signal } = flaky.calls[0]?.invocation ?? {};
    expect(signal && getEventListeners(signal, "abort")).toEqual([]);
  });

  it("is an aborted outcome for the middleware too, not an exception", async () => {
    const controller = new AbortController();
    const seen: unknown[] = [];
    const watch: ToolMiddleware = async (call, next) => {
      const outcome = await next(call).catch((error: unknown) => ({ status: "failed", kind: "error", error }) as const);
      seen.push(outcome);
      return outcome;
    };
    const flaky = {
      ...recordingTool({ name: "flaky", result: untilAttempt(9) }),
      retries: { max: 9, minDelayMs: 1e6 },
    };
    const tools = new ToolSet([flaky], { middleware: [watch] });
    const call = tools.callWithExtensions("flaky", {}, none, { signal: controller.signal });
    setTimeout(() => controller.abort("enough"), 5);
    await call;
    await vi.waitFor(() => expect(seen).toEqual([{ status: "failed", kind: "aborted", error: "enough" }]));
  });

  it("leaves no listener on the call's signal", async () => {
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(3) }), retries: { max: 2, ...soon } };
    await new ToolSet([flaky]).call("flaky", {});
    const [call] = flaky.calls;
    expect(call && getEventListeners(call.invocation.signal, "abort")).toEqual([]);
  });

  it("is not begun when an attempt was aborted", async () => {
    const controller = new AbortController();
    const flaky = {
      ...recordingTool({
        name: "flaky",
        result: () => {
          controller.abort("enough");
          throw new Error("interrupted");
        },
      }),
      retries: { max: 2, ...soon },
    };
    const call = new ToolSet([flaky]).callWithExtensions("flaky", {}, none, { signal: controller.signal });
    expect(await call).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    expect(attemptsOf(flaky)).toEqual([1]);
  });
});

describe("a number for retries", () => {
  it("is how often a failed call is tried again", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const flaky = { ...recordingTool({ name: "flaky", result: untilAttempt(3) }), retries: 2 };
    expect(await new ToolSet([flaky]).call("flaky", {})).toEqual({ status: "completed", output: "attempt 3" });
    const down = { ...recordingTool({ name: "down", result: untilAttempt(9) }), retries: 1 };
    expect(await new ToolSet([down]).call("down", {})).toMatchObject({ status: "failed", kind: "error" });
    expect(attemptsOf(down)).toEqual([1, 2]);
  });
});

describe("a middleware between the attempts", () => {
  it("may hand on a plain copy of the invocation, which has no attempts to count", async () => {
    let entered = 0;
    const flaky = defineTool({
      name: "flaky",
      input: { type: "object" },
      retries: { max: 1, minDelayMs: 0 },
      call: () => {
        entered += 1;
        if (entered === 1) throw new Error("down");
        return "up";
      },
    });
    const copying: ToolMiddleware = (call, next) => {
      const { toolCallId, toolName, runId, turn, index, batchSize, attempt, parent, signal } = call.invocation;
      const ids = { toolCallId, providerToolCallId: undefined, toolName, runId, agentName: undefined };
      const keys = { invocationKey: undefined, sessionKey: undefined, isRemote: false };
      return next({ ...call, invocation: { ...ids, ...keys, turn, index, batchSize, attempt, parent, signal } });
    };
    const outcome = await new ToolSet([flaky], { middleware: [copying] }).call("flaky", {});
    expect(outcome).toEqual({ status: "completed", output: "up" });
  });
});

describe("a bad rule for retries", () => {
  const max = 'retries of tool "flaky" must be a whole number from 0, or { max, … }';
  const bad: [string, unknown][] = [
    [`${max}; received -1`, -1],
    [`${max}; received 1.5`, 1.5],
    [`${max}; received NaN`, Number.NaN],
    [`${max}; received Infinity`, Number.POSITIVE_INFINITY],
    [`${max}; received a string`, "2"],
    [`${max}; received true`, true],
    [`${max}; received null`, null],
    [`${max}; received an array`, []],
    [`${max}; received an object`, {}],
    [`${max}; received an object`, { max: "2" }],
    ['retries.minDelayMs of tool "flaky" must be milliseconds from 0; received -1', { max: 1, minDelayMs: -1 }],
    [
      'retries.minDelayMs of tool "flaky" must be milliseconds from 0; received a string',
      { max: 1, minDelayMs: "soon" },
    ],
    ['retries.minDelayMs of tool "flaky" must be milliseconds from 0; received a string', { max: 1, minDelayMs: "5" }],
    ['retries.maxDelayMs of tool "flaky" must be milliseconds from 0; received null', { max: 1, maxDelayMs: null }],
    [
      'retries.minDelayMs of tool "flaky" must be milliseconds from 0; received NaN',
      { max: 1, minDelayMs: Number.NaN },
    ],
    [
      'retries.maxDelayMs of tool "flaky" must be milliseconds from 0; received NaN',
      { max: 1, maxDelayMs: Number.NaN },
    ],
    [
      'retries.maxDelayMs of tool "flaky" must be milliseconds from 0; received a string',
      { max: 1, maxDelayMs: "late" },
    ],
    ['retries.isRetryable of tool "flaky" must be a function; received true', { max: 1, isRetryable: true }],
  ];

  it.each(bad)("is refused before any call: %s", (message, retries) => {
    const define = () =>
      defineTool({ name: "flaky", input: { type: "object" }, call: () => "", retries: retries as number });
    expect(define).toThrow(expect.objectContaining({ message: `[invalid-argument] ${message}` }));
  });
});
