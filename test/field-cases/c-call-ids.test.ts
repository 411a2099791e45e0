import { existsSync, readFileSync } from "node:fs";
import { Agent, type RunEvent, type ToolEvent } from "tool-call-extensions";
import { recordingTool, type ScriptedTurn, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const traffic = new URL("../../../shared/provider-traffic/", import.meta.url);
const hasTraffic = existsSync(traffic);
if (!hasTraffic) console.info("H07 is skipped: there is no recorded traffic in ../shared/provider-traffic");

interface SentCall {
  readonly toolName: string;
  readonly toolCallId?: string | undefined;
  readonly input: unknown;
}

/** Runs an agent that has the tools called, and gives what everyone was told of its calls. */
async function run(script: readonly ScriptedTurn[], isStreaming: boolean) {
  const turns = script.flatMap((turn) =>
    typeof turn === "object" && "toolCalls" in turn ? (turn.toolCalls ?? []) : [],
  );
  const tools = Array.from(new Set(turns.map(({ toolName }) => toolName)), (name) => recordingTool({ name }));
  const events: RunEvent[] = [];
  const request = new Agent({ name: "a", model: scriptedModel(script), tools }).prompt("x").session("chat-7");
  if (isStreaming) for await (const event of request.stream()) events.push(event);
  else await request.on((event) => events.push(event)).run();
  const inCallOrder = (a: ToolEvent, b: ToolEvent) =>
    a.invocation.turn - b.invocation.turn || a.invocation.index - b.invocation.index;
  const completed = events.filter((event) => event.type === "tool-completed").sort(inCallOrder);
  const seen = tools.flatMap(({ calls }) => calls);
  const last = events.at(-1);
  if (last?.type !== "run-completed") throw new Error("the run did not complete");
  return {
    completed,
    ids: completed.map(({ invocation }) => invocation.toolCallId),
    keys: completed.map(({ invocation }) => invocation.invocationKey),
    inputs: completed.map(({ input }) => input),
    /** The ids that the tools read, in no order. */
    read: new Set(seen.map(({ invocation }) => invocation.toolCallId)),
    results: last.result.messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : [])),
  };
}

interface GoogleChunk {
  readonly candidates: readonly {
    readonly content?: {
      readonly parts: readonly {
        readonly functionCall?: {
          readonly name?: string;
          readonly partialArgs?: readonly { readonly jsonPath: string; readonly stringValue: string }[];
        };
      }[];
    };
  }[];
}

/** A part with a name begins a call, which has no id; the parts after it bring its arguments, in pieces. */
function googleCalls(lines: readonly string[]): SentCall[] {
  const calls: { toolName: string; input: { [name: string]: string } }[] = [];
  const chunks = lines.map((line): GoogleChunk => JSON.parse(line));
  const parts = chunks.flatMap(({ candidates }) => candidates[0]?.content?.parts ?? []);
  for (const { functionCall: { name, partialArgs = [] } = {} } of parts) {
    if (name !== undefined) calls.push({ toolName: name, input: {} });
    for (const { jsonPath, stringValue } of partialArgs) {
      const input = calls.at(-1)?.input ?? {};
      input[jsonPath.slice(2)] = (input[jsonPath.slice(2)] ?? "") + stringValue;
    }
  }
  return calls;
}

interface ChatCall {
  readonly index?: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

interface ChatMessage {
  readonly tool_calls?: readonly ChatCall[];
}

interface ChatChunk {
  readonly choices: readonly { readonly delta?: ChatMessage; readonly message?: ChatMessage }[];
}

/** The id and the name come once, although later deltas of the call may repeat them empty. */
function chatCalls(lines: readonly string[]): SentCall[] {
  const calls: { toolName: string; toolCallId: string; input: string }[] = [];
  const choices = lines.flatMap((line) => {
    const { choices: some }: ChatChunk = JSON.parse(line);
    return some;
  });
  for (const { delta, message } of choices) {
    for (const { index = calls.length, id, function: named } of (delta ?? message)?.tool_calls ?? []) {
      calls[index] ??= { toolName: "", toolCallId: "", input: "" };
      const call = calls[index];
      call.toolCallId ||= id ?? "";
      call.toolName ||= named.name ?? "";
      call.input += named.arguments;
    }
  }
  return calls;
}

function linesOf(file: string): readonly string[] {
  const text = readFileSync(new URL(file, traffic), "utf8").trim();
  return file.endsWith(".json") ? [text] : text.split("\n");
}

const modes = [
  ["blocking", false],
  ["streaming", true],
] as const;

describe.skipIf(!hasTraffic)("H07 vercel/ai #7834: an empty or missing id went through everything", () => {
  it.each(modes)("gives Gemini's four calls, which have none, ids of our own, %s", async (_mode, isStreaming) => {
    const toolCalls = googleCalls(linesOf("google-stream-no-args-tool-call.chunks.txt"));
    const { completed, ids, inputs, read, results } = await run([{ toolCalls }, "Done."], isStreaming);
    expect(completed.map(({ invocation }) => invocation.toolName)).toEqual([
      "read_theme",
      ...Array(3).fill("read_screen"),
    ]);
    expect(inputs).toEqual([{}, { id: "A" }, { id: "B" }, { id: "C" }]);
    for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(read).toEqual(new Set(ids));
    expect(read.size).toBe(4);
    expect(results).toEqual(ids);
    expect(completed.map(({ invocation }) => invocation.providerToolCallId)).toEqual(Array(4).fill(undefined));
  });

  it.each(modes)("keeps Alibaba's id, which later deltas send empty, %s", async (_mode, isStreaming) => {
    const toolCalls = chatCalls(linesOf("alibaba-tool-call.chunks.txt"));
    const { ids, inputs, results } = await run([{ toolCalls }, "Done."], isStreaming);
    expect(ids).toEqual(["call_eee11723464a4b9eb8cee71d"]);
    expect(results).toEqual(ids);
    expect(inputs).toEqual(['{"location": "San Francisco"}']);
  });

  it.each(modes)("makes an id where a parser let the empty one through, %s", async (_mode, isStreaming) => {
    const toolCalls = chatCalls(linesOf("alibaba-tool-call.chunks.txt")).map((call) => ({ ...call, toolCallId: "" }));
    const { completed, ids, results } = await run([{ toolCalls }, "Done."], isStreaming);
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/)]);
    expect(results).toEqual(ids);
    expect(completed[0]?.invocation.providerToolCallId).toBe("");
  });

  it.each([
    ["deepseek-tool-call.json", "call_00_9V0vrf86Pc9aelHCJMZqnJBo"],
    ["deepseek-tool-call.chunks.txt", expect.stringMatching(/^call_00_\w{24}$/)],
    ["groq-tool-call.chunks.txt", "tk85n1k4m"],
    ["mistral-tool-call.json", "gSIMJiOkT"],
  ])("keeps the id of %s", async (file, id) => {
    const toolCalls = chatCalls(linesOf(file));
    const { ids, results } = await run([{ toolCalls }, "Done."], file.endsWith("txt"));
    expect(ids).toEqual([id]);
    expect(results).toEqual(toolCalls.map(({ toolCallId }) => toolCallId));
    expect(results).toEqual(ids);
  });
});

describe("H08 fw-ai/fireconnect #16: ids began again every turn, and what was keyed on them was mixed up", () => {
  const script = ["a", "b"].map((path) => ({
    toolCalls: [{ toolName: "list_dir", toolCallId: "list_dir:0", input: { path } }],
  }));

  it.each(modes)(
    "runs both calls, each under a key of its own and with its own input, %s",
    async (_mode, isStreaming) => {
      const { completed, ids, keys, inputs, read } = await run([...script, "Done."], isStreaming);
      expect(completed.map(({ invocation }) => invocation.turn)).toEqual([1, 2]);
      expect(inputs).toEqual([{ path: "a" }, { path: "b" }]);
      expect(new Set(keys).size).toBe(2);
      expect(read).toEqual(new Set(ids));
      expect(read.size).toBe(2);
    },
  );

  it("shows the model each result under the id of its own turn's call", async () => {
    const tool = recordingTool({ name: "list_dir", result: ({ input }) => (input as { readonly path: string }).path });
    const model = scriptedModel([...script, "Done."]);
    const { messages } = await new Agent({ name: "a", model, tools: [tool] }).prompt("x").run();
    expect(messages.slice(1, 5)).toMatchObject([
      { role: "assistant", content: [{ toolCallId: "list_dir:0", input: { path: "a" } }] },
      { role: "tool", toolCallId: "list_dir:0", text: "a" },
      { role: "assistant", content: [{ toolCallId: "list_dir:0", input: { path: "b" } }] },
      { role: "tool", toolCallId: "list_dir:0", text: "b" },
    ]);
  });

  it("reproduces the keys, in order, when the session is run again", async () => {
    const { keys } = await run([...script, "Done."], false);
    expect((await run([...script, "Done."], false)).keys).toEqual(keys);
    expect((await run([...script, "Done."], true)).keys).toEqual(keys);
  });
});

describe("H09 HKUDS/nanobot #4059: two parallel calls under one id were repaired when streamed, and not when blocking", () => {
  it.each([
    ["the same id", "same"],
    ["no id", undefined],
    ["an empty id", ""],
  ])("tells two calls under %s apart in both modes alike", async (_what, toolCallId) => {
    const toolCalls = [1, 2].map((n) => ({ toolName: "add", toolCallId, input: { n } }));
    const blocking = await run([{ toolCalls }, "Done."], false);
    const streaming = await run([{ toolCalls }, "Done."], true);
    expect(blocking.inputs).toEqual([{ n: 1 }, { n: 2 }]);
    expect(new Set(blocking.ids).size).toBe(2);
    expect(new Set(blocking.keys).size).toBe(2);
    expect(blocking.results).toEqual(blocking.ids);
    expect(streaming.inputs).toEqual(blocking.inputs);
    expect(streaming.ids).toEqual(blocking.ids);
    expect(streaming.keys).toEqual(blocking.keys);
    expect(streaming.results).toEqual(blocking.results);
  });
});
