import type { Model, ModelRequest, ModelStreamPart } from "tool-call-extensions";
import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
import { modelConformance, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, test } from "vitest";
import { startProvider } from "../ai-sdk/provider-server.ts";
import { WIRE_FORMATS } from "../ai-sdk/wire-formats.ts";

type Recorded = Model & { readonly requests?: readonly ModelRequest[] };
type MakeModel = Parameters<typeof modelConformance<Recorded>>[0]["makeModel"];

describe("scriptedModel", () => {
  modelConformance({ test, makeModel: (turns) => scriptedModel(turns), sent: (model) => model.requests });
});

describe("a model without a stream", () => {
  modelConformance({
    test,
    makeModel: (turns) => {
      const { generate, requests } = scriptedModel(turns);
      return { generate, requests };
    },
    sent: ({ requests }) => requests,
  });
});

describe.each(WIRE_FORMATS)("fromLanguageModel, $name over HTTP", ({ connect, answer }) => {
  modelConformance({
    test,
    makeModel: async (turns, isStreaming) => {
      const answers = turns.map((turn) => {
        const { text = "", toolCalls = [] } = typeof turn === "string" ? { text: turn } : turn;
        const calls = toolCalls.map(({ toolName, toolCallId = "", input }) => ({
          id: toolCallId,
          name: toolName,
          input: Object(input),
        }));
        return answer(isStreaming ? "streaming" : "blocking", text, calls);
      });
      const { url, requests } = await startProvider(answers);
      return { ...fromLanguageModel(connect(url)), requests };
    },
    sent: ({ requests }) => requests.map(({ body }) => body),
  });
});

/** Runs the kit against a kind of model and gives the titles of its cases, and of those that it fails. */
async function played(makeModel: MakeModel) {
  const titles: string[] = [];
  const failed: string[] = [];
  const cases: Promise<void>[] = [];
  const record = (title: string, run: () => Promise<void>): void => {
    titles.push(title);
    cases.push(run().catch(() => void failed.push(title)));
  };
  modelConformance({ test: record, makeModel, sent: ({ requests }) => requests });
  await Promise.all(cases);
  return { titles, failed };
}

/** A scripted model whose stream is changed part by part. */
const streaming = (
  turns: Parameters<MakeModel>[0],
  change: (part: ModelStreamPart) => readonly ModelStreamPart[],
): Model => {
  const model = scriptedModel(turns);
  return {
    generate: model.generate,
    async *stream(request) {
      for await (const part of model.stream(request)) yield* change(part);
    },
  };
};

/** A model that is never told of an abort. */
const deaf = ({ generate, stream }: ReturnType<typeof scriptedModel>): Model => {
  const { signal } = new AbortController();
  return {
    generate: (request) => generate({ ...request, signal }),
    stream: (request) => stream({ ...request, signal }),
  };
};

/** A model that loses something on the way to its wire, which keeps what comes there. */
const sending =
  (change: (request: ModelRequest) => ModelRequest): MakeModel =>
  (turns) => {
    const { generate, stream, requests } = scriptedModel(turns);
    return { generate: (request) => generate(change(request)), stream: (request) => stream(change(request)), requests };
  };

/** A model that sends the messages which `isSent` lets through. */
const picking = (isSent: (message: ModelRequest["messages"][number]) => boolean): MakeModel =>
  sending((request) => ({ ...request, messages: request.messages.filter(isSent) }));

const SENDS_MESSAGES = "sends the instructions, and every message";
const SENDS_TOOLS = "sends each tool's name, description and schema";

const FAULTS: readonly (readonly [fault: string, title: string, makeModel: MakeModel])[] = [
  [
    "a model that sends no instructions",
    SENDS_MESSAGES,
    sending((request) => ({ ...request, instructions: undefined })),
  ],
  [
    "a model that sends the last message alone",
    SENDS_MESSAGES,
    sending((request) => ({ ...request, messages: request.messages.slice(-1) })),
  ],
  [
    "a model that turns the messages round",
    SENDS_MESSAGES,
    sending((request) => ({ ...request, messages: request.messages.toReversed() })),
  ],
  ["a model that sends no results", SENDS_MESSAGES, picking(({ role }) => role !== "tool")],
  ["a model that sends no failures", SENDS_MESSAGES, picking((message) => message.role !== "tool" || !message.isError)],
  ["a model that sends no answers", SENDS_MESSAGES, picking(({ role }) => role !== "assistant")],
  ["a model that sends no tools", SENDS_TOOLS, sending((request) => ({ ...request, tools: [] }))],
  [
    "a model that sends no descriptions",
    SENDS_TOOLS,
    sending((request) => ({ ...request, tools: request.tools.map((tool) => ({ ...tool, description: undefined })) })),
  ],
  [
    "a model that sends no input schemas",
    SENDS_TOOLS,
    sending((request) => ({ ...request, tools: request.tools.map((tool) => ({ ...tool, inputSchema: {} })) })),
  ],
  [
    "a model that sends no output schema",
    "sends the schema of the answer",
    sending((request) => ({ ...request, outputSchema: undefined })),
  ],
  [
    "a model that keeps the signal from its wire",
    "sends nothing for a request that is aborted already",
    sending((request) => ({ ...request, signal: new AbortController().signal })),
  ],
  [
    "a model that answers in other words",
    "blocking: gives the text",
    (turns) => ({ ...scriptedModel(turns), generate: scriptedModel(["Hello."]).generate }),
  ],
  [
    "a model that waits for an abort to come",
    "refuses a request that is aborted already",
    (turns) => {
      const { generate } = deaf(scriptedModel(turns));
      const aborted = (signal: AbortSignal): Promise<never> =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return { generate: (request) => Promise.race([generate(request), aborted(request.signal)]) };
    },
  ],
  [
    "a stream that loses a piece",
    "streaming: gives the text",
    (turns) => streaming(turns, (part) => (part.type === "text-delta" && part.text.includes("here,") ? [] : [part])),
  ],
  [
    "a stream that answers otherwise",
    "makes the same conversation",
    (turns) =>
      streaming(turns, (part) =>
        part.type === "response"
          ? [{ ...part, response: { ...part.response, content: part.response.content.slice(-1) } }]
          : [part],
      ),
  ],
  [
    "a model that turns calls round",
    "gives calls their ids and inputs, in order",
    (turns) => {
      const { generate } = scriptedModel(turns);
      return { generate: async (request) => ({ content: (await generate(request)).content.toReversed() }) };
    },
  ],
  [
    "a model that mends arguments",
    "gives calls their ids and inputs",
    (turns) => {
      const { generate } = scriptedModel(turns);
      return {
        generate: async (request) => ({
          content: (await generate(request)).content.map((part) =>
            part.type === "tool-call" ? { ...part, input: { n: 7 } } : part,
          ),
        }),
      };
    },
  ],
  [
    "a model that drops ids",
    "gives calls their ids",
    (turns) => {
      const { generate } = scriptedModel(turns);
      return {
        generate: async (request) => ({
          content: (await generate(request)).content.map((part) =>
            part.type === "tool-call" ? { ...part, toolCallId: "" } : part,
          ),
        }),
      };
    },
  ],
  [
    "a model that does not heed the signal",
    "blocking: ends a request that is aborted after it was made",
    (turns) => deaf(scriptedModel(turns)),
  ],
  [
    "a stream that does not heed the signal",
    "streaming: ends a request that is aborted after it was made",
    (turns) => deaf(scriptedModel(turns)),
  ],
  [
    "a model that looks at the signal before it begins, and no more",
    "blocking: ends a request that is aborted after it was made",
    (turns) => {
      const { generate } = deaf(scriptedModel(turns));
      return {
        generate: (request) => {
          request.signal.throwIfAborted();
          return generate(request);
        },
      };
    },
  ],
];

describe("the kit finds", () => {
  it.each(FAULTS)("%s", async (_fault, found, makeModel) => {
    const { titles, failed } = await played(makeModel);
    const aimedAt = titles.filter((title) => title.includes(found));
    expect(aimedAt).not.toEqual([]);
    expect(failed).toEqual(expect.arrayContaining(aimedAt));
  });

  it("a fault in each of its cases, and none in a model that does as it should", async () => {
    const { titles, failed } = await played((turns) => scriptedModel(turns));
    expect(failed).toEqual([]);
    expect(titles.length).toBeGreaterThan(10);
    expect(titles.filter((title) => !FAULTS.some(([, found]) => title.includes(found)))).toEqual([]);
  });

  it("nothing to say of what was sent where it is not told", () => {
    const titles: string[] = [];
    modelConformance({ test: (title) => titles.push(title), makeModel: (turns) => scriptedModel(turns) });
    expect(titles.filter((title) => title.includes("sends"))).toEqual([]);
    expect(titles.length).toBeGreaterThan(5);
  });
});
