import type { LanguageModel } from "tool-call-extensions/ai-sdk";

type Generated = Awaited<ReturnType<LanguageModel["doGenerate"]>>;
type Streamed = Awaited<ReturnType<LanguageModel["doStream"]>>["stream"];
export type Part = Streamed extends ReadableStream<infer Each> ? Each : never;
export type Answer = Pick<Generated, "content"> & Partial<Generated>;

export const USAGE: Generated["usage"] = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
export const STOP: Part = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: USAGE };
export const CALLS: Part = { type: "finish", finishReason: { unified: "tool-calls", raw: "tool_calls" }, usage: USAGE };

export interface WrittenModel extends LanguageModel {
  /** The options of every request, in order. */
  readonly requests: readonly Parameters<LanguageModel["doGenerate"]>[0][];
  /** Whether the last stream was left before its end. */
  readonly wasLeft: () => boolean;
}

/** A provider's model that answers what is written here: a list of parts is a stream, anything else a whole answer. */
export function writtenModel(
  answers: readonly (Answer | readonly Part[])[],
  specificationVersion: LanguageModel["specificationVersion"] = "v3",
): WrittenModel {
  const requests: Parameters<LanguageModel["doGenerate"]>[0][] = [];
  let isLeft = false;
  const next = (options: (typeof requests)[number]): Answer | readonly Part[] => {
    requests.push(options);
    const answer = answers[requests.length - 1];
    if (answer === undefined) throw new Error("nothing more is written");
    return answer;
  };
  return {
    specificationVersion,
    provider: "written",
    modelId: "m",
    requests,
    wasLeft: () => isLeft,
    doGenerate: async (options) => {
      const answer = next(options);
      if (!("content" in answer)) throw new Error("a stream is written");
      return { finishReason: { unified: "stop", raw: "stop" }, usage: USAGE, warnings: [], ...answer };
    },
    doStream: async (options) => {
      const answer = next(options);
      if ("content" in answer) throw new Error("a whole answer is written");
      const parts = [...answer];
      const stream = new ReadableStream<Part>({
        pull: (controller) => {
          const part = parts.shift();
          if (part === undefined) controller.close();
          else controller.enqueue(part);
        },
        cancel: () => {
          isLeft = true;
        },
      });
      return { stream };
    },
  };
}
