import {
  currentToolInvocation,
  defineTool,
  extensionToken,
  ToolCallExtensions,
  ToolSet,
  toolResult,
} from "tool-call-extensions";
import { describe, expect, it } from "vitest";

const pause = (ms = 1) => new Promise((resolve) => setTimeout(resolve, ms));

describe("the result of a generator tool", () => {
  it("is its last yield", async () => {
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "10 %";
        yield "all 3 rows";
      },
    });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: "all 3 rows" });
  });

  it("is its return value where it has one", async () => {
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "10 %";
        return "all 3 rows";
      },
    });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: "all 3 rows" });
  });

  it("is null where it returns null", async () => {
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "10 %";
        return null;
      },
    });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: null });
  });

  it("is undefined where it neither yields nor returns", async () => {
    const tool = defineTool({ name: "load", input: {}, async *call() {} });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: undefined });
  });

  it("may be a toolResult", async () => {
    const Cost = extensionToken("cost").of<number>();
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield toolResult("all 3 rows", new ToolCallExtensions().with(Cost, 2));
      },
    });
    const outcome = await new ToolSet([tool]).call("load", {});
    expect(outcome).toMatchObject({ status: "completed", output: "all 3 rows" });
    expect(outcome.status === "completed" && outcome.resultExtensions?.get(Cost)).toBe(2);
  });

  it("is the same for a function whose promise resolves to a generator", async () => {
    async function* rows() {
      yield "10 %";
      yield "all 3 rows";
    }
    const tool = defineTool({ name: "load", input: {}, call: async () => rows() });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: "all 3 rows" });
  });

  it("is the same for an async iterable written by hand", async () => {
    let count = 0;
    const iterable: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: count === 3, value: ++count }) }),
    };
    const tool = defineTool({ name: "load", input: {}, call: () => iterable });
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "completed", output: 4 });
  });
});

describe("a generator tool that throws in the middle", () => {
  const error = new Error("the disk is full");
  const tool = defineTool({
    name: "load",
    input: {},
    async *call() {
      yield "10 %";
      throw error;
    },
  });

  it("fails with what it threw", async () => {
    expect(await new ToolSet([tool]).call("load", {})).toEqual({ status: "failed", kind: "error", error });
  });
});

describe("the current invocation in a generator tool", () => {
  it("is the call's own in every step and in finally", async () => {
    const seen: (string | undefined)[] = [];
    const note = () => void seen.push(currentToolInvocation()?.toolCallId);
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        try {
          note();
          yield 1;
          note();
          await pause();
          note();
          yield 2;
          note();
        } finally {
          await pause();
          note();
        }
      },
    });
    await new ToolSet([tool]).call("load", {}, { toolCallId: "call_a" });
    expect(seen).toEqual(Array(5).fill("call_a"));
  });

  it("is the call's own in the finally of one that is aborted", async () => {
    const controller = new AbortController();
    let note: (toolCallId: string | undefined) => void = () => {};
    const inFinally = new Promise<string | undefined>((resolve) => (note = resolve));
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        try {
          for (;;) {
            yield 1;
            await pause();
          }
        } finally {
          note(currentToolInvocation()?.toolCallId);
        }
      },
    });
    const options = { toolCallId: "call_a", signal: controller.signal };
    const pending = new ToolSet([tool]).call("load", {}, options);
    setTimeout(() => controller.abort("enough"), 5);
    expect(await pending).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    expect(await inFinally).toBe("call_a");
  });

  it("does not leak between two that take turns", async () => {
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        const ids = new Set<string | undefined>();
        for (let step = 0; step < 20; step++) {
          ids.add(currentToolInvocation()?.toolCallId);
          yield step;
          await pause(0);
        }
        return [...ids];
      },
    });
    const tools = new ToolSet([tool]);
    const outcomes = await Promise.all(["a", "b", "c"].map((toolCallId) => tools.call("load", {}, { toolCallId })));
    expect(outcomes.map((outcome) => outcome.status === "completed" && outcome.output)).toEqual([["a"], ["b"], ["c"]]);
  });
});

describe("a tool that gives an iterator of its own", () => {
  /** Gives a step after a moment, for ever, and cannot be told to stop. */
  const endless = defineTool({
    name: "endless",
    input: {},
    call: (): AsyncIterable<string> => ({
      [Symbol.asyncIterator]: () => ({ next: () => pause().then(() => ({ done: false, value: "step" })) }),
    }),
  });

  it("is left where it is when the call is aborted, with the abort's reason for the middleware", async () => {
    const controller = new AbortController();
    const seen: unknown[] = [];
    const tools = new ToolSet([endless], {
      middleware: [
        async (call, next) => {
          const outcome = await next(call);
          seen.push(outcome);
          return outcome;
        },
      ],
    });
    const call = tools.call("endless", {}, { signal: controller.signal });
    setTimeout(() => controller.abort("enough"), 5);
    expect(await call).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    await pause(5);
    expect(seen).toEqual([{ status: "failed", kind: "aborted", error: "enough" }]);
  });
});

describe("a generator tool under a middleware that hands on a plain copy of the invocation", () => {
  it("completes, and nobody hears of its progress", async () => {
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        yield "half";
        yield "all";
      },
    });
    const heard: string[] = [];
    const tools = new ToolSet([tool], {
      middleware: [(call, next) => next({ ...call, invocation: { ...call.invocation } })],
    });
    const listener = ({ type }: { readonly type: string }) => heard.push(type);
    const outcome = await tools.call("load", {}, { listener });
    expect(outcome).toEqual({ status: "completed", output: "all" });
    expect(heard).toEqual(["tool-requested", "tool-completed"]);
  });
});

describe("a generator tool that is aborted", () => {
  it("is not asked for a step it has not begun", async () => {
    const controller = new AbortController();
    const steps: number[] = [];
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        for (let step = 1; step <= 3; step++) {
          steps.push(step);
          if (step === 2) controller.abort("enough");
          yield step;
        }
      },
    });
    await new ToolSet([tool]).call("load", {}, { signal: controller.signal });
    await pause();
    expect(steps).toEqual([1, 2]);
  });

  it("takes no step more where a listener aborts it at one, and is closed there", async () => {
    const controller = new AbortController();
    const seen: string[] = [];
    const tool = defineTool({
      name: "load",
      input: {},
      async *call() {
        try {
          yield "half";
          seen.push("the next step");
        } finally {
          seen.push("finally");
        }
      },
    });
    const listener = ({ type }: { readonly type: string }) => {
      if (type === "tool-progress") controller.abort("enough");
    };
    const outcome = await new ToolSet([tool]).call("load", {}, { signal: controller.signal, listener });
    expect(outcome).toEqual({ status: "failed", kind: "aborted", error: "enough" });
    await pause();
    expect(seen).toEqual(["finally"]);
  });
});
