import fc from "fast-check";
import { Agent, type Message, type RunEvent } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

/** One call as a provider sends it. */
interface SentCall {
  readonly toolName: string;
  readonly toolCallId: string | undefined;
  /** Whether the id says no more than which tool, or which position in the turn, the call is. */
  readonly isTurnScoped: boolean;
}

/** The calls of a turn, the turns of a prompt, the prompts of a conversation. */
type Conversation = readonly (readonly (readonly SentCall[])[])[];

const TOOLS = ["list_dir", "search"] as const;
const ALPHANUMERIC = [..."0123456789abcdefghijABCDEFGHIJ"];
const letters = (length: number) =>
  fc.string({ unit: fc.constantFrom(...ALPHANUMERIC), minLength: length, maxLength: length });

/** Forms in which providers send ids; of a few values, so that they repeat, or of many. */
const sentCall: fc.Arbitrary<SentCall> = fc.constantFrom(...TOOLS).chain((toolName) => {
  const position = fc.integer({ min: 0, max: 3 });
  const scoped = fc.oneof(
    position.map((index) => `${toolName}:${index}`),
    position.map((index) => `functions.${toolName}:${index}`),
    position.map((index) => `${toolName}_${index}`),
    position.map((index) => `call_${index}`),
    position.map(String),
    fc.constant(toolName),
  );
  const unique = fc.oneof(
    fc.constantFrom("dup_a", "dup_b"),
    fc.constantFrom(...TOOLS.filter((name) => name !== toolName)),
    letters(24).map((text) => `call_${text}`),
    letters(22).map((text) => `toolu_01${text}`),
    letters(24).map((text) => `call_00_${text}`),
    letters(9).map((text) => `g${text.slice(1)}`),
  );
  return fc.oneof(
    fc.record({
      toolName: fc.constant(toolName),
      toolCallId: fc.constantFrom(undefined, ""),
      isTurnScoped: fc.constant(false),
    }),
    fc.record({ toolName: fc.constant(toolName), toolCallId: scoped, isTurnScoped: fc.constant(true) }),
    fc.record({ toolName: fc.constant(toolName), toolCallId: unique, isTurnScoped: fc.constant(false) }),
  );
});

const conversation: fc.Arbitrary<Conversation> = fc.array(
  fc.array(fc.array(sentCall, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  { minLength: 1, maxLength: 2 },
);

interface Seen {
  readonly toolCallId: string;
  readonly providerToolCallId: string | undefined;
  readonly invocationKey: string | undefined;
}

async function drain(stream: AsyncIterator<RunEvent, void>): Promise<void> {
  while ((await stream.next()).done !== true);
}

/** Holds the whole conversation, each prompt after the messages of the one before, all in one session. */
async function hold(prompts: Conversation, isStreaming: boolean) {
  const calls: Seen[] = [];
  let history: readonly Message[] = [];
  for (const [index, turns] of prompts.entries()) {
    const tools = TOOLS.map((name) => recordingTool({ name }));
    const model = scriptedModel([
      ...turns.map((calls) => ({ toolCalls: calls.map((call) => ({ ...call, input: {} })) })),
      "Done.",
    ]);
    const agent = new Agent({ name: "a", model, tools });
    const note = (event: RunEvent) => {
      if (event.type === "run-completed") history = event.result.messages;
      if (event.type !== "tool-requested") return;
      const { toolCallId, providerToolCallId, invocationKey } = event.invocation;
      calls.push({ toolCallId, providerToolCallId, invocationKey });
    };
    const request = agent.prompt(`prompt ${index}`).history(history).session("chat-7").on(note);
    if (isStreaming) await drain(request.stream());
    else await request.run();
    model.assertDone();
  }
  return { calls, messages: history };
}

/** Each turn's ids as the model is shown them: of the calls, and of their results. */
function wireTurns(messages: readonly Message[]) {
  const turns: { readonly calls: (string | undefined)[]; readonly results: string[] }[] = [];
  for (const message of messages) {
    if (message.role === "tool") turns.at(-1)?.results.push(message.toolCallId);
    if (message.role !== "assistant") continue;
    const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : []));
    if (calls.length > 0) turns.push({ calls, results: [] });
  }
  return turns;
}

const given = (prompts: Conversation) => prompts.flat(2);

describe("the ids of a conversation's calls", () => {
  it("are never empty and all distinct, whatever the provider sent, and so are the keys", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.boolean(), async (prompts, isStreaming) => {
        const { calls } = await hold(prompts, isStreaming);
        expect(calls).toHaveLength(given(prompts).length);
        expect(calls.filter(({ toolCallId }) => toolCallId === "")).toEqual([]);
        expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(calls.length);
        expect(new Set(calls.map(({ invocationKey }) => invocationKey)).size).toBe(calls.length);
      }),
    );
  });

  it("are the same blocking, streaming and on a replay, and so are the keys and the messages", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (prompts) => {
        const blocking = await hold(prompts, false);
        expect(await hold(prompts, true)).toEqual(blocking);
        expect(await hold(prompts, false)).toEqual(blocking);
      }),
    );
  });

  it("are the provider's where those are usable, and otherwise in a format that every provider documents", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.boolean(), async (prompts, isStreaming) => {
        const { calls } = await hold(prompts, isStreaming);
        const transcript = new Set([undefined, ""]);
        for (const [index, { toolCallId: sent, isTurnScoped }] of given(prompts).entries()) {
          const id = calls[index]?.toolCallId ?? "";
          expect(calls[index]?.providerToolCallId).toBe(sent);
          if (!isTurnScoped && !transcript.has(sent)) expect(id).toBe(sent);
          else expectUsableEverywhere(id, transcript);
          transcript.add(sent).add(id);
        }
      }),
      { numRuns: 200 },
    );
  });
});

/** Mistral documents nine letters and digits; OpenAI at most 64 of letters, digits, `_` and `-`; Anthropic the latter. */
function expectUsableEverywhere(id: string, transcript: ReadonlySet<string | undefined>): void {
  expect(transcript).not.toContain(id);
  for (const format of [/^[a-zA-Z0-9]{9}$/, /^[a-zA-Z0-9_-]{1,64}$/, /^[a-zA-Z0-9_-]+$/]) expect(id).toMatch(format);
}

describe("the ids that a model reads", () => {
  it("are its own but where one is missing or repeated in the turn, and each result has its call's", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.boolean(), async (prompts, isStreaming) => {
        const { calls, messages } = await hold(prompts, isStreaming);
        const turns = wireTurns(messages);
        expect(turns.map((turn) => turn.calls.length)).toEqual(prompts.flat().map((turn) => turn.length));
        let place = 0;
        for (const { calls: wire, results } of turns) {
          const used = new Set([undefined, ""]);
          for (const id of wire) {
            const { providerToolCallId: sent, toolCallId } = calls[place++] ?? {};
            expect(id).toBe(used.has(sent) ? toolCallId : sent);
            used.add(sent);
          }
          expect(new Set(wire).size).toBe(wire.length);
          expect(results).toEqual(wire);
        }
      }),
      { numRuns: 200 },
    );
  });
});
