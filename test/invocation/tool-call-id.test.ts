import { Agent, type Message, type RunState, ToolSet } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

/** The provider's id of a call, alone or with the tool it is for. */
type Sent = string | undefined | { readonly id: string | undefined; readonly toolName: string };

interface Conversation {
  readonly history?: readonly Message[];
  readonly prompt?: string;
}

/** Runs an agent whose model makes these calls, a list a turn, in one session. */
async function callsOf(turns: readonly (readonly Sent[])[], { history = [], prompt = "x" }: Conversation = {}) {
  const script = turns.map((calls) => ({
    toolCalls: calls.map((sent) => {
      const { id, toolName } = typeof sent === "object" ? sent : { id: sent, toolName: "probe" };
      return { toolName, input: {}, toolCallId: id };
    }),
  }));
  const names = new Set(["probe", ...script.flatMap(({ toolCalls }) => toolCalls.map(({ toolName }) => toolName))]);
  const tools = Array.from(names, (name) => recordingTool({ name }));
  const model = scriptedModel([...script, "Done."]);
  const request = new Agent({ name: "a", model, tools }).prompt(prompt).history(history).session("chat-7");
  const { messages } = await request.run();
  const invocations = tools.flatMap(({ calls }) => calls.map(({ invocation }) => invocation));
  invocations.sort((a, b) => a.turn - b.turn || a.index - b.index);
  return {
    messages,
    ids: invocations.map(({ toolCallId }) => toolCallId),
    sent: invocations.map(({ providerToolCallId }) => providerToolCallId),
    /** What the model reads as the calls' ids, then as their results'. */
    wire: messages.flatMap((message) => {
      if (message.role === "user") return [];
      if (message.role === "tool") return [message.toolCallId];
      return message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    }),
  };
}

const MADE = expect.stringMatching(/^[a-zA-Z0-9]{9}$/);

describe("a provider's id that is kept", () => {
  it.each([
    ["OpenAI", "call_cBbhVHlkWPdqYSKjxbxfjHLd"],
    ["OpenAI Responses", "call_AqwbYkZ3c9tpVM0GtQeCNB1T"],
    ["Anthropic", "toolu_01PMcE1JBKCeLjn83cgUCvR5"],
    ["Anthropic, run by the server", "srvtoolu_01CberhXc9TgYXrCZU8bQoks"],
    ["Bedrock", "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q"],
    ["Mistral", "gSIMJiOkT"],
    ["Mistral, by chance digits alone", "365174485"],
    ["DeepSeek", "call_00_9V0vrf86Pc9aelHCJMZqnJBo"],
    ["Groq", "tk85n1k4m"],
    ["Alibaba", "call_eee11723464a4b9eb8cee71d"],
    ["xAI", "call_92837461"],
    ["vLLM", "chatcmpl-tool-6f9c1a1c0e0b4a0fb9d1d0a3d7c4b6f1"],
    ["Vertex", "function-call-16409862310924"],
    ["a UUID", "0b7e4c52-6a8f-4d4e-9a3b-1f2d3c4b5a69"],
  ])("is one of %s: %s", async (_provider, id) => {
    const { ids, sent, wire } = await callsOf([[id]]);
    expect({ ids, sent, wire }).toEqual({ ids: [id], sent: [id], wire: [id, id] });
  });

  it("may be for any tool and stand beside others in its turn", async () => {
    const { ids } = await callsOf([["toolu_a", { id: "toolu_b", toolName: "list_dir" }], ["toolu_c"]]);
    expect(ids).toEqual(["toolu_a", "toolu_b", "toolu_c"]);
  });
});

describe("an id is made", () => {
  it("where the provider sent none, and is what the model reads", async () => {
    const { ids, sent, wire } = await callsOf([[undefined]]);
    expect(ids).toEqual([MADE]);
    expect(sent).toEqual([undefined]);
    expect(wire).toEqual([ids[0], ids[0]]);
  });

  it("where the provider sent an empty one, and is what the model reads", async () => {
    const { ids, sent, wire } = await callsOf([[""]]);
    expect(ids).toEqual([MADE]);
    expect(sent).toEqual([""]);
    expect(wire).toEqual([ids[0], ids[0]]);
  });

  // Models are other people's code, and JSON has null: chat completion deltas carry `"id": null`.
  it.each(["null", "0"])("where the provider sent %s in the place of a string", async (json) => {
    const { ids, sent, wire } = await callsOf([[{ id: JSON.parse(json), toolName: "probe" }]]);
    expect(ids).toEqual([MADE]);
    expect(sent).toEqual([undefined]);
    expect(wire).toEqual([ids[0], ids[0]]);
  });

  it("where the provider sent null, and a state saved meanwhile can be resumed", async () => {
    const toolCalls = [{ toolName: "probe", input: {}, toolCallId: JSON.parse("null") }];
    const model = scriptedModel([{ toolCalls }, "Done."]);
    const agent = new Agent({ name: "a", model, tools: [recordingTool({ name: "probe" })] });
    const states: string[] = [];
    await agent
      .prompt("x")
      .onCheckpoint((state) => void states.push(JSON.stringify(state)))
      .run();
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) expect(() => agent.resume(JSON.parse(state))).not.toThrow();
  });

  it("for the second of two calls of a turn under one id; the first keeps it", async () => {
    const { ids, sent, wire } = await callsOf([["same", "same"]]);
    expect(ids).toEqual(["same", MADE]);
    expect(sent).toEqual(["same", "same"]);
    expect(wire).toEqual(["same", ids[1], "same", ids[1]]);
  });

  it("for a call under the id of an earlier turn's; the model reads its own id", async () => {
    const { ids, wire } = await callsOf([["same"], ["same"]]);
    expect(ids).toEqual(["same", MADE]);
    expect(wire).toEqual(["same", "same", "same", "same"]);
  });

  it("for both calls of a turn under the id of an earlier turn's; the model reads that id once in the turn", async () => {
    const { ids, wire } = await callsOf([["same"], ["same", "same"]]);
    expect(new Set(ids).size).toBe(3);
    expect(ids).toEqual(["same", MADE, MADE]);
    expect(wire.slice(2)).toEqual(["same", ids[2], "same", ids[2]]);
  });

  it("for a call under an id of the history; the model reads its own id", async () => {
    const { messages: history } = await callsOf([["same"]]);
    const { ids, wire } = await callsOf([["same"]], { history, prompt: "y" });
    expect(ids).toEqual([MADE]);
    expect(wire).toEqual(["same", "same", "same", "same"]);
  });

  it("for a call under an id that the history has only on a result", async () => {
    const result = { role: "tool", toolCallId: "same", toolName: "probe", text: "7", isError: false } as const;
    expect((await callsOf([["same"]], { history: [result] })).ids).toEqual([MADE]);
  });

  it("for a call under an id that the library made for an earlier one", async () => {
    const { ids: made } = await callsOf([[undefined], [undefined]]);
    const { ids } = await callsOf([[undefined], [made[0]]]);
    expect(ids[0]).toBe(made[0]);
    expect(ids[1]).toEqual(MADE);
    expect(ids[1]).not.toBe(made[0]);
  });

  it("for a call before the one whose id would have been made alike", async () => {
    const [, second = ""] = (await callsOf([[undefined, undefined]])).ids;
    const { ids } = await callsOf([[second, undefined]]);
    expect(ids).toEqual([second, MADE]);
    expect(ids[1]).not.toBe(second);
  });

  it.each([
    ["list_dir:0", "list_dir"],
    ["functions.search:1", "search"],
    ["functions.get-weather:12", "get-weather"],
    ["FUNCTIONS.Search:0", "Search"],
    ["files/read:0", "files/read"],
    ["Datei öffnen:0", "Datei öffnen"],
    ["get_weather_0", "get_weather"],
    ["get_weather-1", "get_weather"],
    ["call_0", "search"],
    ["call-1", "search"],
    ["call2", "search"],
    ["tool_call_0", "search"],
    ["toolcall-3", "search"],
    ["0", "search"],
    ["17", "search"],
    [":0", "search"],
    ["search", "search"],
    ["constructor", "constructor"],
  ])("where the provider sent the position in the turn or the tool's name: %s", async (id, toolName) => {
    const { ids, sent, wire } = await callsOf([[{ id, toolName }], [{ id, toolName }]]);
    expect(ids).toEqual([MADE, MADE]);
    expect(ids[0]).not.toBe(ids[1]);
    expect(sent).toEqual([id, id]);
    expect(wire).toEqual([id, id, id, id]);
  });
});

describe("a provider that sends the tool's name as the id", () => {
  const twice = [
    { id: "search", toolName: "search" },
    { id: "search", toolName: "probe" },
  ];

  it("and sends it again for another tool of the turn gets two ids to tell them apart", async () => {
    const { ids, wire } = await callsOf([twice]);
    expect(new Set(ids).size).toBe(2);
    expect(wire).toEqual(["search", MADE, "search", wire[1]]);
  });

  it("and sends it again for another tool in a later turn repeats an id of the transcript", async () => {
    expect((await callsOf(twice.map((call) => [call]))).ids).toEqual([MADE, MADE]);
  });
});

describe("a made id", () => {
  it("is the same whenever the run is made again, whatever the call is for", async () => {
    const first = await callsOf([[undefined, "call_1"], [""]]);
    const again = await callsOf([
      [{ id: "list_dir:0", toolName: "list_dir" }, undefined],
      [{ id: "search", toolName: "search" }],
    ]);
    expect(again.ids).toEqual(first.ids);
    expect(new Set(first.ids).size).toBe(3);
  });

  // Saved keys follow from these ids. The literals were computed once from the recipe, with node:crypto.
  it("is what every version made of the same place", async () => {
    expect((await callsOf([[undefined, undefined]])).ids).toEqual(["epmwjuhGX", "SONF6m8bS"]);
    expect((await callsOf([["SONF6m8bS", undefined]])).ids).toEqual(["SONF6m8bS", "CYRxuY89R"]);
  });

  it("is made from the call's place alone, whatever stands beside it", async () => {
    const [, second] = (await callsOf([[undefined, undefined]])).ids;
    expect((await callsOf([["toolu_a", "call_7"]])).ids).toEqual(["toolu_a", second]);
  });

  it("is the same in a run that is resumed, where the conversation tells only what the provider sent", async () => {
    const toolCalls = [{ toolName: "probe", input: {}, toolCallId: "probe:0" }];
    const probe = recordingTool({ name: "probe" });
    const agent = (turns: number) => {
      const model = scriptedModel([...Array(turns).fill({ toolCalls }), "Done."]);
      return new Agent({ name: "a", model, tools: [probe] });
    };
    const states: RunState[] = [];
    const save = (state: RunState) => void states.push(structuredClone(state));
    await agent(2).prompt("x").session("chat-7").onCheckpoint(save).run();
    await agent(1)
      .resume(states.findLast(({ turn }) => turn === 1))
      .run();
    const ids = probe.calls.map(({ invocation }) => `${invocation.turn} ${invocation.toolCallId}`);
    expect(ids).toEqual([expect.stringMatching("1 "), expect.stringMatching("2 "), ids[1]]);
    expect(ids[0]?.slice(2)).not.toBe(ids[1]?.slice(2));
  });

  it("is another one in another run", async () => {
    const { ids } = await callsOf([[undefined]]);
    expect((await callsOf([[undefined]], { prompt: "y" })).ids).not.toEqual(ids);
  });

  it("is there for every call outside a run, another one each time", async () => {
    const tool = recordingTool();
    const tools = new ToolSet([tool]);
    for (const toolCallId of [undefined, ""]) await tools.call("recording", {}, { toolCallId });
    const ids = tool.calls.map(({ invocation }) => invocation.toolCallId);
    expect(ids).toEqual([MADE, MADE]);
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe("an id given to a call of a ToolSet", () => {
  it.each(["list_dir:0", "call_0", "recording"])("is the caller's own and is kept: %s", async (toolCallId) => {
    const tool = recordingTool();
    await new ToolSet([tool]).call("recording", {}, { toolCallId });
    expect(tool.calls[0]?.invocation.toolCallId).toBe(toolCallId);
  });
});

describe("the ids of a call that nothing identifies", () => {
  it("are of one form and never the same, also after what was drawn in bulk is used up", async () => {
    const tool = recordingTool();
    const tools = new ToolSet([tool]);
    for (let call = 0; call < 1_000; call++) await tools.call("recording", {});
    const invocations = tool.calls.map(({ invocation }) => invocation);
    for (const { runId, toolCallId } of invocations) {
      expect(runId).toMatch(/^run_[0-9A-Za-z]{22}$/);
      expect(toolCallId).toMatch(/^[0-9A-Za-z]{9}$/);
    }
    expect(new Set(invocations.map(({ runId }) => runId)).size).toBe(1_000);
    expect(new Set(invocations.map(({ toolCallId }) => toolCallId)).size).toBe(1_000);
  });
});
