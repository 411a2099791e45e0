import { Agent, defineTool, type Message, type Model, type RunEvent } from "../index.ts";
import { holds, same, type TestFunction, within } from "./conformance.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

/** Makes a model that answers with these turns, one a request; all of them are asked for in one way. */
type MakeModel = (turns: readonly Exclude<ScriptedTurn, Error>[], isStreaming: boolean) => Model | Promise<Model>;

const TEXT = "Hello there, this is a text of several pieces.";
const call = (toolCallId: string, n: number) => ({
  toolName: "echo",
  toolCallId,
  input: { n, text: 'a "quoted" word, ü' },
});

/** What a run of a model came to. */
interface Played {
  readonly output: string | undefined;
  readonly messages: readonly Message[];
  readonly events: readonly RunEvent[];
  readonly inputs: readonly unknown[];
}

async function play(makeModel: MakeModel, turns: Parameters<MakeModel>[0], isStreaming: boolean): Promise<Played> {
  const model = await makeModel(turns, isStreaming);
  const inputs: unknown[] = [];
  const echo = defineTool({
    name: "echo",
    description: "Says what it is told.",
    input: { type: "object", properties: { n: { type: "number" }, text: { type: "string" } } },
    call: (input) => {
      inputs.push(input);
      return `echo ${String(input["n"])}`;
    },
  });
  const events: RunEvent[] = [];
  const request = new Agent({ name: "conformance", model, tools: [echo] }).prompt("Go.").session("s", { turnId: "1" });
  if (!isStreaming) {
    const { output, messages } = await request.on((event) => events.push(event)).run();
    return { output, messages, events, inputs };
  }
  for await (const event of request.stream()) events.push(event);
  const end = events.at(-1);
  if (end?.type !== "run-completed") throw new Error("the stream did not end with run-completed");
  return { output: String(end.result.output), messages: end.result.messages, events, inputs };
}

/**
 * Proves of a `Model` what the loop relies on, blocking and streaming: `makeModel` makes one that answers with the turns it
 * is given, for a provider's client from a server that plays them.
 *
 * @example
 * ```ts
 * import { modelConformance, scriptedModel } from "tool-call-extensions/testing";
 *
 * const cases: Promise<void>[] = [];
 * // `test` of vitest, node:test or jest; here one that runs at once.
 * modelConformance({ test: (_title, run) => cases.push(run()), makeModel: (turns) => scriptedModel(turns) });
 * await Promise.all(cases);
 * if (cases.length < 5) throw new Error("cases are missing");
 * ```
 */
export function modelConformance({
  test,
  makeModel,
}: {
  readonly test: TestFunction;
  readonly makeModel: MakeModel;
}): void {
  for (const isStreaming of [false, true]) {
    const way = isStreaming ? "streaming" : "blocking";
    test(`${way}: gives the text as it is, and in pieces that come to it`, async () => {
      const { output, events } = await play(makeModel, [TEXT], isStreaming);
      same(output, TEXT, "the answer");
      const deltas = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
      same(deltas.join(""), TEXT, "the pieces together");
    });
    test(`${way}: gives calls their ids and inputs, in order`, async () => {
      const turns = [
        { text: "Let me see.", toolCalls: [call("call_conformance_a", 1), call("call_conformance_b", 2)] },
        "Done.",
      ];
      const { output, messages, inputs } = await play(makeModel, turns, isStreaming);
      same(output, "Done.", "the answer");
      same(JSON.stringify(inputs), JSON.stringify([call("", 1).input, call("", 2).input]), "the inputs");
      const results = messages.flatMap((message) => (message.role === "tool" ? [message] : []));
      same(
        results.map(({ toolCallId }) => toolCallId).join(),
        "call_conformance_a,call_conformance_b",
        "the calls' ids",
      );
      same(results.map(({ text }) => text).join(), "echo 1,echo 2", "the results");
    });
    test(`${way}: is aborted by the request's signal`, async () => {
      const controller = new AbortController();
      const model = await makeModel([TEXT], isStreaming);
      const reason = new Error("stop");
      controller.abort(reason);
      const request = new Agent({ name: "conformance", model }).prompt("Go.").signal(controller.signal);
      const error: unknown = await (isStreaming ? drained(request.stream()) : request.run()).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      same(error, reason, "what the run rejects with");
    });
    // Asked by itself: a run ends by its signal whatever its model does.
    test(`${way}: ends a request that is aborted after it was made`, async () => {
      const model = await makeModel([TEXT], isStreaming);
      const controller = new AbortController();
      const asked = ask(model, controller.signal, isStreaming);
      controller.abort(new Error("stop"));
      const isAnswered = asked.then(
        () => true,
        () => false,
      );
      holds(!(await within(isAnswered, "the request did not end")), "a request was answered though it was aborted");
    });
  }
  test("makes the same conversation blocking and streaming", async () => {
    const turns = [
      { text: "First.", toolCalls: [call("call_conformance_c", 1)] },
      { toolCalls: [call("call_conformance_d", 2)] },
      "Done.",
    ];
    const [blocking, streaming] = [await play(makeModel, turns, false), await play(makeModel, turns, true)];
    same(JSON.stringify(plain(streaming.messages)), JSON.stringify(plain(blocking.messages)), "the messages");
    holds(blocking.messages.length === 6, "the conversation has another length");
  });
}

/** What the provider adds to a part may differ between its two ways of answering. */
function plain(messages: readonly Message[]): unknown {
  return messages.map((message) =>
    message.role === "assistant"
      ? message.content.filter(({ type }) => type !== "provider").map(({ providerData: _dropped, ...part }) => part)
      : message,
  );
}

async function ask(model: Model, signal: AbortSignal, isStreaming: boolean): Promise<void> {
  const messages = [{ role: "user", text: "Go." } as const];
  const request = { instructions: undefined, messages, tools: [], outputSchema: undefined, signal };
  if (isStreaming && model.stream !== undefined) return await drained(model.stream(request));
  await model.generate(request);
}

async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of events);
}
