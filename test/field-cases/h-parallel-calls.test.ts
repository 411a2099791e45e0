import { setTimeout as sleep } from "node:timers/promises";
import { Agent, defineTool, type PromptRequest, type RunEvent, Runner } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const ways: [string, (runner: Runner, request: PromptRequest<never, unknown>) => Promise<unknown>][] = [
  ["blocking", (runner, request) => runner.run(request)],
  [
    "streaming",
    async (runner, request) => {
      let last: RunEvent | undefined;
      for await (const event of runner.stream(request)) last = event;
      return last?.type === "run-completed" ? last.result : undefined;
    },
  ],
];

describe.each(ways)(
  "H18 earendil-works/pi #3084: one throw lost the results of the calls beside it, a %s run",
  (_way, drive) => {
    it("keeps five results in call order when one tool and one listener throw, and goes on", async () => {
      const work = defineTool({
        name: "work",
        input: { type: "object" },
        call: async ({ n }) => {
          await sleep(n === 4 ? 15 : 2);
          if (n === 2) throw new Error("no luck");
          return `result ${n}`;
        },
      });
      const toolCalls = [1, 2, 3, 4, 5].map((n) => ({ toolName: "work", input: { n }, toolCallId: `call_a${n}` }));
      const model = scriptedModel([{ toolCalls }, "Done."]);
      const events: RunEvent[] = [];
      const reported: unknown[] = [];
      const fault = new Error("listener");
      const request = new Agent({ name: "a", model, tools: [work] })
        .prompt("x")
        .on((event) => {
          if (event.type === "tool-completed" && event.invocation.toolCallId === "call_a3") throw fault;
        })
        .on((event) => events.push(event));
      const runner = new Runner({ onListenerError: (error) => reported.push(error) });

      expect(await drive(runner, request)).toMatchObject({ output: "Done.", turns: 2 });
      expect(model.requests[1]?.messages.slice(2)).toMatchObject([
        { toolCallId: "call_a1", text: "result 1", isError: false },
        { toolCallId: "call_a2", text: 'Tool "work" failed.', isError: true },
        { toolCallId: "call_a3", text: "result 3", isError: false },
        { toolCallId: "call_a4", text: "result 4", isError: false },
        { toolCallId: "call_a5", text: "result 5", isError: false },
      ]);
      const idsOf = (wanted: RunEvent["type"]) =>
        events
          .flatMap((event) => (event.type === wanted && "invocation" in event ? event.invocation.toolCallId : []))
          .sort();
      expect(idsOf("tool-requested")).toEqual(["call_a1", "call_a2", "call_a3", "call_a4", "call_a5"]);
      expect(idsOf("tool-completed")).toEqual(["call_a1", "call_a3", "call_a4", "call_a5"]);
      expect(idsOf("tool-failed")).toEqual(["call_a2"]);
      expect(reported).toEqual([fault]);
    });
  },
);
