import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type ModelMessage, stepCountIs, streamText, type ToolSet as TheirToolSet } from "ai";
import { type ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { fromAiSdkTool, fromLanguageModel, toAiSdkTools } from "tool-call-extensions/ai-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { startProvider } from "../ai-sdk/provider-server.ts";
import { WIRE_FORMATS } from "../ai-sdk/wire-formats.ts";
import { Hunt, SECRET, secretExtensions, secretOf } from "./leak-hunt.ts";
import { CALLS, call, pays, type Script, type Seed, secretTools, takeAllPaths } from "./leak-paths.ts";
import { OVERHEARD } from "./overheard.ts";

// The same hunt with the AI SDK: a provider's server on loopback is searched, and what the SDK's own loops keep and trace.

const [format] = WIRE_FORMATS;

/** What is read of a request of the chat format. */
interface ChatBody {
  readonly messages: readonly { readonly role: string }[];
  readonly stream?: boolean;
}

/** A provider's server that plays a script, all of whose requests are searched. */
async function provider(hunt: Hunt, script: Script, headers: Record<string, string> = {}) {
  let calls = 0;
  const { url } = await startProvider(({ path, headers: sent, body }) => {
    const asked = body as ChatBody;
    hunt.note("provider requests", path, JSON.stringify(body));
    hunt.note("provider headers", JSON.stringify(sent));
    const turn = script(asked);
    const { text = "", toolCalls = [] } = typeof turn === "string" ? { text: turn } : turn;
    const made = toolCalls.map(({ toolName, input }) => ({
      id: `call_hunt${++calls}x`,
      name: toolName,
      input: Object(input),
    }));
    return (format ?? expect.fail()).answer(asked.stream === true ? "streaming" : "blocking", text, made);
  });
  return createOpenAICompatible({ name: "x", baseURL: url, supportsStructuredOutputs: true, headers })("m");
}

const RUNS = [
  "errors",
  "events",
  "pino",
  "provider headers",
  "provider requests",
  "rejections",
  "results",
  "spans",
  "states",
];
const LOOPS = [
  "ai errors",
  "ai messages",
  "ai results",
  "ai steps",
  "ai stream parts",
  "pino",
  "provider headers",
  "provider requests",
  "spans",
  "winston",
];

async function huntThroughRuns(seed: Seed, header?: string) {
  const hunt = new Hunt();
  const makeModel = async (script: Script) =>
    fromLanguageModel(await provider(hunt, script, header === undefined ? {} : { "x-tenant": header }));
  // A tool of theirs, which is handed the map as its context.
  const theirs = fromAiSdkTool("theirs", {
    inputSchema: z.object({}),
    execute: async (_input: unknown, { experimental_context: context }: { readonly experimental_context: unknown }) =>
      seed === "output" ? secretOf(context as ToolCallExtensions<string>) : { context },
  });
  await takeAllPaths({
    hunt,
    tools: [...secretTools(seed), theirs, pays],
    calls: [...CALLS, call("theirs")],
    makeModel,
  });
  return hunt;
}

/** Turns of the SDK's loop: calls of every kind, and one that has to be approved. */
const script: Script = ({ messages }) => {
  const turns = messages.filter(({ role }) => role === "assistant").length;
  return [{ toolCalls: CALLS }, { toolCalls: [call("pays")] }][turns] ?? "done";
};

async function huntThroughLoops(seed: Seed) {
  const hunt = new Hunt();
  const set = new ToolSet([...secretTools(seed), pays]);
  const model = await provider(hunt, script);
  const settings = {
    model,
    stopWhen: stepCountIs(5),
    experimental_telemetry: { isEnabled: true, tracer: hunt.tracer },
  };
  const ways: readonly { readonly tools: TheirToolSet; readonly experimental_context?: unknown }[] = [
    { tools: toAiSdkTools(set, secretExtensions(), { session: { key: "chat-7" } }) },
    { tools: toAiSdkTools(set, "from-context"), experimental_context: secretExtensions() },
  ];
  for (const way of ways) {
    const messages: ModelMessage[] = [{ role: "user", content: "Go." }];
    const asked = await generateText({ ...settings, ...way, messages });
    look(hunt, asked);
    const approvals = asked.content.flatMap((part) => (part.type === "tool-approval-request" ? [part.approvalId] : []));
    expect(approvals).toHaveLength(1);
    messages.push(...asked.response.messages);
    messages.push({
      role: "tool",
      content: approvals.map((approvalId) => ({ type: "tool-approval-response", approvalId, approved: true })),
    });
    look(hunt, await generateText({ ...settings, ...way, messages }));
    const streamed = streamText({ ...settings, ...way, prompt: "Go." });
    for await (const part of streamed.fullStream) hunt.look("ai stream parts", part);
  }
  await abortLoop(hunt, set);
  return hunt;
}

function look(hunt: Hunt, { steps, response, text, content }: Awaited<ReturnType<typeof generateText>>): void {
  hunt.look("ai results", { text, content });
  for (const step of steps) hunt.look("ai steps", step);
  hunt.look("ai messages", response.messages);
  for (const part of steps.flatMap((step) => step.content))
    if (part.type === "tool-error") hunt.look("ai errors", part.error);
}

async function abortLoop(hunt: Hunt, set: ToolSet): Promise<void> {
  const model = await provider(hunt, () => ({ toolCalls: [call("waits")] }));
  const looping = generateText({
    model,
    prompt: "Wait.",
    tools: toAiSdkTools(set, secretExtensions()),
    stopWhen: stepCountIs(5),
    abortSignal: AbortSignal.timeout(100),
    experimental_telemetry: { isEnabled: true, tracer: hunt.tracer },
  });
  const error: unknown = await looping.then(
    () => expect.fail("the loop was not aborted"),
    (thrown: unknown) => thrown,
  );
  hunt.look("ai errors", error);
}

describe("H15, H16: with the AI SDK", () => {
  it("a value in any kind of place comes out of no run on a provider's model", { timeout: 60_000 }, async () => {
    const { channels, hits } = (await huntThroughRuns("none")).end("runs on a provider of the AI SDK");
    expect(channels).toEqual([...RUNS, ...OVERHEARD, "stream", "winston"].sort());
    expect(hits).toEqual({});
  });

  it("nor of the SDK's own loops and their telemetry", { timeout: 60_000 }, async () => {
    const { channels, hits } = (await huntThroughLoops("none")).end("loops of the AI SDK");
    expect(channels).toEqual(expect.arrayContaining(LOOPS));
    expect(hits).toEqual({});
  });

  it("nor of a loop whose tool has it in the cause of its error", { timeout: 60_000 }, async () => {
    expect((await huntThroughLoops("cause")).end().hits).toEqual({});
  });

  it.each<[Seed, readonly string[]]>([
    ["output", ["provider requests", "events", "results", "states", "stream"]],
    ["error", ["provider requests", "events", "results", "states", "stream"]],
  ])("a run whose tool gives it away by its %s is found out", async (seed, channels) => {
    expect(Object.keys((await huntThroughRuns(seed)).end().hits)).toEqual(expect.arrayContaining([...channels]));
  });

  it("a value in a header of the provider is found out", async () => {
    expect((await huntThroughRuns("none", SECRET)).end().hits).toEqual({ "provider headers": ["string"] });
  });

  it.each<[Seed, readonly string[]]>([
    ["output", ["ai messages", "ai steps", "ai stream parts", "pino", "provider requests", "spans", "winston"]],
    ["error", ["ai errors", "ai messages", "ai steps", "ai stream parts", "provider requests", "spans"]],
  ])("a loop whose tool gives it away by its %s is found out", async (seed, channels) => {
    expect(Object.keys((await huntThroughLoops(seed)).end().hits)).toEqual(expect.arrayContaining([...channels]));
  });
});
