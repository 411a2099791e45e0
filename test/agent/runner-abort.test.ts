import { getEventListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  type Model,
  type PromptRequest,
  type RunEvent,
  Runner,
  ToolInvocationContext,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

type Drive = (request: PromptRequest<never, unknown>, runner?: Runner) => Promise<unknown>;

const ways: [string, Drive][] = [
  ["blocking", (request, runner = new Runner()) => runner.run(request)],
  [
    "streaming",
    async (request, runner = new Runner()) => {
      const events: RunEvent[] = [];
      for await (const event of runner.stream(request)) events.push(event);
      return events;
    },
  ],
];

const nothing = { type: "object" };
const callTwice = { toolCalls: ["first", "second"].map((name) => ({ toolName: "probe", input: { name } })) };

/** Never ends by itself, and does not look at its signal. */
const deaf = defineTool({ name: "deaf", input: nothing, call: () => new Promise<string>(() => {}) });
const callDeaf = { toolCalls: [{ toolName: "deaf", input: {} }] };

async function unhandledDuring(act: () => Promise<unknown>): Promise<readonly unknown[]> {
  const unhandled: unknown[] = [];
  const listen = (reason: unknown): number => unhandled.push(reason);
  process.on("unhandledRejection", listen);
  await act();
  await sleep(5);
  process.off("unhandledRejection", listen);
  return unhandled;
}

describe.each(ways)("a %s run", (_way, drive) => {
  it("whose signal is aborted beforehand rejects with its reason and asks no model", async () => {
    const reason = new Error("user left");
    const model = scriptedModel(["Hello!"]);
    const run = drive(new Agent({ name: "a", model }).prompt("x").signal(AbortSignal.abort(reason)));
    await expect(run).rejects.toBe(reason);
    expect(model.requests).toEqual([]);
  });

  it("that is aborted during the model call rejects at once, although the model does not listen", async () => {
    const reason = new Error("user left");
    const controller = new AbortController();
    const requests: AbortSignal[] = [];
    const model: Model = {
      generate: ({ signal }) => {
        requests.push(signal);
        return new Promise(() => {});
      },
    };
    const run = drive(new Agent({ name: "a", model }).prompt("x").signal(controller.signal));
    setTimeout(() => controller.abort(reason), 5);
    await expect(run).rejects.toBe(reason);
    expect(requests.map(({ aborted, reason: told }) => [aborted, told])).toEqual([[true, reason]]);
  });

  it("rejects with the signal's reason, not with what the model made of it", async () => {
    const reason = new Error("user left");
    const controller = new AbortController();
    const model: Model = {
      generate: ({ signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("fetch failed")));
        }),
    };
    const run = drive(new Agent({ name: "a", model }).prompt("x").signal(controller.signal));
    setTimeout(() => controller.abort(reason), 5);
    await expect(run).rejects.toBe(reason);
  });

  it("leaves no unhandled rejection when the model fails after the abort", async () => {
    const controller = new AbortController();
    const model: Model = {
      generate: async () => {
        controller.abort();
        await sleep(2);
        throw new Error("fetch failed");
      },
    };
    const request = new Agent({ name: "a", model }).prompt("x").signal(controller.signal);
    expect(await unhandledDuring(() => expect(drive(request)).rejects.toThrow("abort"))).toEqual([]);
  });

  it("that is aborted during a call asks the model for no further turn", async () => {
    const controller = new AbortController();
    const model = scriptedModel([callTwice, "Done."]);
    const probe = recordingTool({ name: "probe", result: () => controller.abort() });
    const run = drive(new Agent({ name: "a", model, tools: [probe] }).prompt("x").signal(controller.signal));
    await expect(run).rejects.toHaveProperty("name", "AbortError");
    expect(model.requests).toHaveLength(1);
  });

  it("enters no call that was still waiting when it was aborted, and ends each as aborted", async () => {
    const controller = new AbortController();
    const probe = recordingTool({ name: "probe", result: () => controller.abort() });
    const events: RunEvent[] = [];
    const agent = new Agent({ name: "a", model: scriptedModel([callTwice]), tools: [probe] });
    const request = agent
      .prompt("x")
      .signal(controller.signal)
      .on((event) => events.push(event));
    await expect(drive(request, new Runner({ toolConcurrency: 1 }))).rejects.toHaveProperty("name", "AbortError");
    expect(probe.calls.map(({ input }) => input)).toEqual([{ name: "first" }]);
    expect(events.filter(({ type }) => type === "tool-requested")).toHaveLength(2);
    expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([
      { kind: "aborted" },
      { kind: "aborted" },
    ]);
  });

  it("stops listening to the caller's signal when it ends", async () => {
    const { signal } = new AbortController();
    const probe = recordingTool({ name: "probe", result: ({ invocation }) => invocation.signal.aborted });
    const agent = new Agent({ name: "a", model: scriptedModel([callTwice, "Done."]), tools: [probe] });
    await drive(agent.prompt("x").signal(signal));
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("listens to the caller's signal once, whatever the number of calls", async () => {
    const { signal } = new AbortController();
    const listeners: number[] = [];
    const probe = recordingTool({
      name: "probe",
      result: () => listeners.push(getEventListeners(signal, "abort").length),
    });
    const agent = new Agent({ name: "a", model: scriptedModel([callTwice, callTwice, "Done."]), tools: [probe] });
    await drive(agent.prompt("x").signal(signal));
    expect(listeners).toEqual([1, 1, 1, 1]);
  });

  it("that has ended well aborts neither the model's signal nor its calls' signals", async () => {
    const controller = new AbortController();
    const probe = recordingTool({ name: "probe", result: ({ invocation }) => invocation.signal.aborted });
    const model = scriptedModel([callTwice, "Done."]);
    await drive(new Agent({ name: "a", model, tools: [probe] }).prompt("x").signal(controller.signal));
    controller.abort();
    expect(model.requests.map(({ signal }) => signal.aborted)).toEqual([false, false]);
    expect(probe.calls.map(({ invocation }) => invocation.signal.aborted)).toEqual([false, false]);
  });

  it("gives every call a signal of its own", async () => {
    const probe = recordingTool({ name: "probe" });
    await drive(new Agent({ name: "a", model: scriptedModel([callTwice, "Done."]), tools: [probe] }).prompt("x"));
    expect(new Set(probe.calls.map(({ invocation }) => invocation.signal)).size).toBe(2);
  });
});

describe("a stream", () => {
  it("runs nothing until it is iterated", async () => {
    const model = scriptedModel(["Hello!"]);
    new Agent({ name: "a", model }).prompt("x").stream();
    await sleep(2);
    expect(model.requests).toEqual([]);
  });

  it("that is left by break aborts its open calls and leaves no unhandled rejection", async () => {
    const signals: AbortSignal[] = [];
    const waiter = defineTool({
      name: "deaf",
      input: nothing,
      callWithExtensions: (_input, extensions) => {
        const { signal } = extensions.require(ToolInvocationContext);
        signals.push(signal);
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => setTimeout(() => reject(new Error("stopped")), 1));
        });
      },
    });
    const heard: RunEvent[] = [];
    const agent = new Agent({ name: "a", model: scriptedModel([callDeaf]), tools: [waiter] });
    const unhandled = await unhandledDuring(async () => {
      for await (const event of agent
        .prompt("x")
        .on((e) => heard.push(e))
        .stream()) {
        if (event.type === "tool-requested") break;
      }
    });
    expect(unhandled).toEqual([]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(heard.slice(-2)).toMatchObject([{ type: "tool-failed", kind: "aborted" }, { type: "run-failed" }]);
  });

  it("that is left by break has ended when the loop has", async () => {
    const heard: string[] = [];
    const agent = new Agent({ name: "a", model: scriptedModel([callDeaf]), tools: [deaf] });
    for await (const event of agent
      .prompt("x")
      .on(({ type }) => heard.push(type))
      .stream()) {
      if (event.type === "tool-requested") break;
    }
    expect(heard.at(-1)).toBe("run-failed");
  });

  it("that is left by an error throws that error and aborts", async () => {
    const agent = new Agent({ name: "a", model: scriptedModel([callDeaf]), tools: [deaf] });
    const heard: RunEvent[] = [];
    const consume = async (): Promise<void> => {
      for await (const event of agent
        .prompt("x")
        .on((e) => heard.push(e))
        .stream()) {
        if (event.type === "tool-requested") throw new Error("the consumer's own");
      }
    };
    await expect(consume()).rejects.toThrow("the consumer's own");
    const error = { name: "AbortError", message: "the run's stream was left before its end" };
    expect(heard.at(-1)).toMatchObject({ type: "run-failed", error });
  });

  it("that is left before it began runs nothing, however it is left", async () => {
    const model = scriptedModel(["Hello!"]);
    const { stream } = new Agent({ name: "a", model }).prompt("x");
    const [returned, thrown, disposed] = [stream(), stream(), stream()];
    expect(await returned.return()).toEqual({ done: true, value: undefined });
    await expect(thrown.throw(new Error("the consumer's own"))).rejects.toThrow("the consumer's own");
    await disposed[Symbol.asyncDispose]();
    for (const left of [returned, thrown, disposed]) {
      expect(await left.next()).toEqual({ done: true, value: undefined });
    }
    expect(model.requests).toEqual([]);
  });

  it("that is left in the middle of a text aborts the model's signal", async () => {
    const model = scriptedModel(["A text that comes in a few pieces."]);
    for await (const event of new Agent({ name: "a", model }).prompt("x").stream()) {
      if (event.type === "text-delta") break;
    }
    expect(model.requests.map(({ signal }) => signal.aborted)).toEqual([true]);
  });

  it("that is left by return() aborts at once, also while the next event is awaited", { timeout: 5_000 }, async () => {
    const agent = new Agent({ name: "a", model: scriptedModel([callDeaf]), tools: [deaf] });
    const heard: string[] = [];
    const events = agent
      .prompt("x")
      .on(({ type }) => heard.push(type))
      .stream();
    for (;;) {
      const { value } = await events.next();
      if (value?.type === "tool-requested") break;
    }
    const [, left] = await Promise.all([events.next(), events.return()]);
    expect(left).toEqual({ done: true, value: undefined });
    expect(await events.next()).toEqual({ done: true, value: undefined });
    expect(heard.at(-1)).toBe("run-failed");
  });
});
