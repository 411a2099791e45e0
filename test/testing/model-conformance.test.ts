import type { Model, ModelStreamPart } from "tool-call-extensions";
import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
import { modelConformance, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, test } from "vitest";
import { startProvider } from "../ai-sdk/provider-server.ts";
import { WIRE_FORMATS } from "../ai-sdk/wire-formats.ts";

type MakeModel = Parameters<typeof modelConformance>[0]["makeModel"];

describe("scriptedModel", () => {
  modelConformance({ test, makeModel: (turns) => scriptedModel(turns) });
});

describe("a model without a stream", () => {
  modelConformance({
    test,
    makeModel: (turns) => {
      const { generate } = scriptedModel(turns);
      return { generate };
    },
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
      return fromLanguageModel(connect((await startProvider(answers)).url));
    },
  });
});

/** Runs the kit against a kind of model and gives the titles of the cases that it fails. */
async function failedBy(makeModel: MakeModel): Promise<string> {
  const cases: Promise<string>[] = [];
  const record = (title: string, run: () => Promise<void>): unknown =>
    cases.push(
      run().then(
        () => "",
        () => title,
      ),
    );
  modelConformance({ test: record, makeModel });
  return (await Promise.all(cases)).filter((title) => title !== "").join("\n");
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

describe("the kit finds", () => {
  it.each<[string, string, MakeModel]>([
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
  ])("%s", async (_fault, title, makeModel) => {
    expect(await failedBy(makeModel)).toContain(title);
  });

  it("nothing in a model that does as it should", async () => {
    expect(await failedBy((turns) => scriptedModel(turns))).toBe("");
  });
});
