import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, type RunEvent, ToolCallExtensionsError } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel } from "tool-call-extensions/ai-sdk";
import { recordingTool } from "tool-call-extensions/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hasTraffic, recordedLines } from "./provider-server.ts";
import { WIRE_FORMATS } from "./wire-formats.ts";

// A provider's answer that ends after any of its bytes, read by the provider's own client over a fetch that is cut there:
// by the end of the body, as of a connection that is closed, and by an error, as of one that is lost.

type Fetch = typeof globalThis.fetch;
type Cut = "ends" | "fails";

const TOOLS = ["weather", "get_weather", "calculator", "lookup", "cityAttractions", "queryDatabase", "updateIssueList"];
const unhandled: unknown[] = [];
const noteUnhandled = (reason: unknown): void => void unhandled.push(reason);
const { fetch: realFetch } = globalThis;
beforeEach(() => void process.on("unhandledRejection", noteUnhandled));
afterEach(() => {
  globalThis.fetch = realFetch;
  process.off("unhandledRejection", noteUnhandled);
  expect(unhandled).toEqual([]);
});

const toBytes = (data: readonly string[]): Uint8Array =>
  new TextEncoder().encode(data.map((line) => `data: ${line}\n\n`).join(""));

const message = "one answer is enough";
/** In the words of every client. */
const ENOUGH = { object: "error", message, type: "x", param: null, code: null, error: { message, type: "x" } };

/** Answers the first request with these bytes, cut; every other with an error that is not tried again. */
function cutFetch(bytes: Uint8Array, length: number, cut: Cut): Fetch {
  let asked = 0;
  return async () => {
    if (asked++ > 0) return Response.json(ENOUGH, { status: 400 });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes.slice(0, length)),
      pull: (controller) => (cut === "ends" ? controller.close() : controller.error(new Error("connection lost"))),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

interface Ran {
  readonly calls: readonly string[];
  readonly error: unknown;
  readonly ends: readonly string[];
  /** Whether the answer itself was taken, whatever became of the run afterwards. */
  readonly isTaken: boolean;
}

async function run(model: LanguageModel): Promise<Ran> {
  const calls: string[] = [];
  const tools = TOOLS.map((name) =>
    recordingTool({ name, result: ({ input }) => calls.push(`${name} ${JSON.stringify(input)}`) }),
  );
  const agent = new Agent({ name: "a", model: fromLanguageModel(model, { onWarning: () => undefined }), tools });
  const events: RunEvent[] = [];
  let error: unknown;
  try {
    for await (const event of agent.prompt("Go").stream()) events.push(event);
  } catch (thrown) {
    error = thrown;
  }
  const ends = events.map(({ type }) => type).filter((type) => type === "run-completed" || type === "run-failed");
  return { calls, error, ends, isTaken: events.some(({ type }) => type === "turn-completed") };
}

/** A connection that is lost is cut at a part of the bytes: it differs from a closed one in nothing that depends on them. */
const LOST_EVERY = 8;
/** A recording of twenty kilobytes takes minutes: every byte of it is for a run of its own, and some are for every run. */
const EVERY = process.env["LAWS"] === "all" ? 1 : 23;
const LARGE = 10_000;

/** Cuts the answer after its bytes, in both ways, and gives at how many of them it was taken for whole. */
async function cutEverywhere(model: LanguageModel, data: readonly string[]): Promise<Cuts> {
  const bytes = toBytes(data);
  const runCut = (length: number, cut: Cut): Promise<Ran> => {
    globalThis.fetch = cutFetch(bytes, length, cut);
    return run(model);
  };
  const whole = await runCut(bytes.length, "ends");
  expect(whole.isTaken).toBe(true);
  const cuts = { size: bytes.length, tried: 0, taken: 0 };
  for (let length = 0; length < bytes.length; length += bytes.length > LARGE ? EVERY : 1) {
    for (const cut of length % LOST_EVERY === 0 ? (["ends", "fails"] as const) : (["ends"] as const)) {
      const ran = await runCut(length, cut);
      cuts.tried++;
      if (ran.isTaken) cuts.taken++;
      const isSame = JSON.stringify(ran.calls) === JSON.stringify(ran.isTaken ? whole.calls : []);
      const isClear = ran.error === undefined || isModelFailure(ran.error);
      // `expect` costs more than the run that is checked, so it is asked only to tell what is wrong.
      if (!isSame || !isClear || ran.ends.length !== 1 || (cut === "fails" && ran.isTaken)) {
        expect({ length, cut, ...ran }).toEqual({ ends: ["one"], calls: whole.calls });
      }
    }
  }
  return cuts;
}

interface Cuts {
  readonly size: number;
  readonly tried: number;
  readonly taken: number;
}

function check(name: string, { size, tried, taken }: Cuts, data: readonly string[]): void {
  expect(taken).toBeLessThanOrEqual(bytesAfter(data, isFinish));
  console.log(`${name}: ${tried} cuts of ${size} bytes, ${taken} of them after the end of the answer`);
}

function isModelFailure(error: unknown): boolean {
  return ToolCallExtensionsError.is(error) && error.code === "model-failed" && error.message.length > 60;
}

/** The last bytes of an answer say nothing: the blank line after its last event, and what a format adds after its end. */
function bytesAfter(data: readonly string[], isEnd: (line: string) => boolean): number {
  const last = data.findLastIndex(isEnd);
  return toBytes(data).length - toBytes(data.slice(0, last + 1)).length + 2;
}

describe.each(WIRE_FORMATS.filter(({ name }) => !name.includes("specification")))(
  "$name",
  ({ name, connect, answer }) => {
    test("cut after every byte: a whole answer, or none", { timeout: 120_000 }, async () => {
      const calls = [
        { id: "abcdefgh1", name: "lookup", input: { order: 42, note: "ü" } },
        { id: "abcdefgh2", name: "lookup", input: {} },
      ];
      const written = answer("streaming", "Let me look.", calls);
      if (typeof written === "string" || !("events" in written)) throw new Error("no stream");
      const { events } = written;
      check(name, await cutEverywhere(connect("http://127.0.0.1:9"), events), events);
    });
  },
);

/** Which event says that the answer is whole. */
function isFinish(line: string): boolean {
  return /"finish_reason":"|"stop_reason":"|"finishReason":"|response\.completed/.test(line);
}

const compatible = (): LanguageModel => createOpenAICompatible({ name: "x", baseURL: "http://127.0.0.1:9" })("m");
const RECORDED: readonly (readonly [string, string, () => LanguageModel])[] = [
  ["chat, Alibaba", "alibaba-tool-call.chunks.txt", compatible],
  ["chat, Groq", "groq-tool-call.chunks.txt", compatible],
  [
    "Gemini",
    "google-stream-no-args-tool-call.chunks.txt",
    () => createGoogleGenerativeAI({ apiKey: "k" })("gemini-3-pro-preview"),
  ],
  ["Responses", "openai-reasoning-encrypted-content.1.chunks.txt", () => createOpenAI({ apiKey: "k" })("m")],
  [
    "Anthropic",
    "anthropic-programmatic-tool-calling.1.chunks.txt",
    () => createAnthropic({ apiKey: "k" })("claude-sonnet-4-5"),
  ],
];

if (!hasTraffic) console.log("recorded streams are not cut: there is no recorded traffic beside the checkout");
describe.skipIf(!hasTraffic)("recorded", () => {
  test.each(RECORDED)(
    `%s, cut after every byte, or of a large one at steps of ${EVERY}: a whole answer, or none`,
    { timeout: 600_000 },
    async (name, file, connect) => {
      const lines = firstAnswer(recordedLines(file));
      check(`recorded ${name}`, await cutEverywhere(connect(), lines), lines);
    },
  );
});

/** Of a recording of several answers, the first. */
function firstAnswer(lines: readonly string[]): readonly string[] {
  const last = lines.findIndex((line) => /"type":"(?:message_stop|response\.completed)"/.test(line));
  return last < 0 ? lines : lines.slice(0, last + 1);
}
