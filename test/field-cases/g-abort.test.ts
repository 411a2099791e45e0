import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  type PromptRequest,
  type RunEvent,
  ToolInvocationContext,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const ways: [string, (request: PromptRequest<never, unknown>) => Promise<unknown>][] = [
  ["blocking", (request) => request.run()],
  [
    "streaming",
    async (request) => {
      for await (const event of request.stream()) if (event.type === "run-completed") return event.result;
      return undefined;
    },
  ],
];

describe.each(ways)(
  "H17 openai/openai-agents-js #1521: cancelling stopped the model while tools ran on, a %s run",
  (_way, drive) => {
    it("aborts a tool, a deaf tool and a tool in a sub-agent at once, each ending once, and rejects once", async () => {
      const reason = new Error("user left");
      const controller = new AbortController();
      let started = 0;
      let aborted = 0;
      const waiting = defineTool({
        name: "waiting",
        input: { type: "object" },
        callWithExtensions: (_input, extensions) =>
          new Promise((_resolve, reject) => {
            started += 1;
            extensions.require(ToolInvocationContext).signal.addEventListener("abort", () => {
              aborted += 1;
              reject(new Error("stopped"));
            });
          }),
      });
      const deaf = defineTool({
        name: "deaf",
        input: { type: "object" },
        call: () => {
          started += 1;
          return new Promise<void>(() => {});
        },
      });
      const callWaiting = { toolName: "waiting", input: {} };
      const inner = new Agent({
        name: "inner",
        model: scriptedModel([{ toolCalls: [callWaiting] }]),
        tools: [waiting],
      });
      const toolCalls = [callWaiting, { toolName: "deaf", input: {} }, { toolName: "ask", input: { prompt: "x" } }];
      const tools = [waiting, deaf, inner.asTool({ name: "ask" })];
      const outer = new Agent({ name: "outer", model: scriptedModel([{ toolCalls }]), tools });

      const unhandled: unknown[] = [];
      const listen = (fault: unknown): number => unhandled.push(fault);
      process.on("unhandledRejection", listen);
      const events: RunEvent[] = [];
      const request = outer.prompt("x").signal(controller.signal);
      const run = drive(request.on((event) => events.push(event)));
      while (started < 3) await sleep(1);
      controller.abort(reason);
      // The case allows 50 ms; here they have heard of it before abort() returns.
      expect(aborted).toBe(2);
      await expect(run).rejects.toBe(reason);
      expect(currentToolInvocation()).toBeUndefined();
      await sleep(10);
      process.off("unhandledRejection", listen);

      expect(aborted).toBe(2);
      const ends = events.flatMap((event) =>
        event.type === "tool-failed" ? [[event.invocation.toolName, event.kind, event.error]] : [],
      );
      expect(ends.sort()).toEqual(
        ["ask", "deaf", "waiting", "waiting"].map((toolName) => [toolName, "aborted", reason]),
      );
      expect(events.filter(({ type }) => type === "tool-requested")).toHaveLength(4);
      expect(events.filter(({ type }) => type === "tool-completed")).toEqual([]);
      const failed = events.filter((event) => event.type === "run-failed" && event.agentName === "outer");
      expect(failed).toMatchObject([{ error: reason }]);
      expect(unhandled).toEqual([]);
    });
  },
);
