import {
  Agent,
  extensionToken,
  type PromptRequest,
  type RunEvent,
  Runner,
  ToolCallExtensions,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const Session = extensionToken("session").of<string>();

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
  "H19 openai/openai-agents-python #3459: an invented tool name threw a long run away, a %s run",
  (_way, drive) => {
    function misspelling() {
      const getDate = recordingTool({ name: "get_date", requires: [Session], result: () => "2026-01-03" });
      const toolCalls = [
        { toolName: "get_dat", input: { zone: "UTC" }, toolCallId: "call_a" },
        { toolName: "get_date", input: {}, toolCallId: "call_b" },
      ];
      const model = scriptedModel([{ toolCalls }, "Done."]);
      const agent = new Agent({ name: "a", model, tools: [getDate, recordingTool({ name: "get_time" })] });
      const request = agent.prompt("x").toolExtensions(new ToolCallExtensions().with(Session, "s-1"));
      return { getDate, model, request };
    }

    it("runs the other call with its extensions and gives the model its next turn", async () => {
      const { getDate, model, request } = misspelling();
      expect(await drive(new Runner(), request)).toMatchObject({ output: "Done.", turns: 2 });
      expect(getDate.calls.map(({ extensions }) => extensions.get(Session))).toEqual(["s-1"]);
      expect(model.requests[1]?.messages[3]).toMatchObject({
        toolCallId: "call_b",
        text: "2026-01-03",
        isError: false,
      });
    });

    it("tells the model the name it used and the real ones", async () => {
      const { model, request } = misspelling();
      await drive(new Runner(), request);
      expect(model.requests[1]?.messages[2]).toEqual({
        role: "tool",
        toolCallId: "call_a",
        toolName: "get_dat",
        text: 'There is no tool "get_dat". Available: get_date, get_time.',
        isError: true,
      });
    });

    it("fails the unknown call by kind and id, without setting anything up for it", async () => {
      const { request } = misspelling();
      const events: RunEvent[] = [];
      const wrapped: string[] = [];
      const runner = new Runner({
        middleware: [
          (call, next) => {
            wrapped.push(call.tool.name);
            return next(call);
          },
        ],
      });
      await drive(
        runner,
        request.on((event) => events.push(event)),
      );
      expect(events.filter(({ type }) => type === "tool-failed")).toMatchObject([
        {
          kind: "unknown-tool",
          invocation: { toolName: "get_dat", toolCallId: "call_a" },
          error: { code: "unknown-tool", details: { toolName: "get_dat", available: ["get_date", "get_time"] } },
        },
      ]);
      expect(wrapped).toEqual(["get_date"]);
    });
  },
);

describe("H19: a tool that is no longer offered", () => {
  it("says so where the agent has no tools at all", async () => {
    const model = scriptedModel([{ toolCalls: [{ toolName: "search", input: {} }] }, "Done."]);
    const { messages } = await new Agent({ name: "a", model }).prompt("x").run();
    expect(messages[2]).toMatchObject({ text: 'There is no tool "search". Available: none.', isError: true });
  });

  it("names no more than fifty others", async () => {
    const tools = Array.from({ length: 60 }, (_, index) => recordingTool({ name: `tool_${index}` }));
    const model = scriptedModel([{ toolCalls: [{ toolName: "search", input: {} }] }, "Done."]);
    const { messages } = await new Agent({ name: "a", model, tools }).prompt("x").run();
    expect(messages[2]).toMatchObject({ text: expect.stringContaining("tool_49 and 10 more.") });
  });
});
