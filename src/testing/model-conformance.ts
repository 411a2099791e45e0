import { Agent, defineTool, type Message, type Model, type ModelRequest, type RunEvent } from "../index.ts";
import { holds, same, type TestFunction, within } from "./conformance.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

/** Makes a model that answers with these turns, one a request; all of them are asked for in one way. */
type MakeModel<M extends Model> = (
  turns: readonly Exclude<ScriptedTurn, Error>[],
  isStreaming: boolean,
) => M | Promise<M>;
type Turns = Parameters<MakeModel<Model>>[0];

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

async function play(makeModel: MakeModel<Model>, turns: Turns, isStreaming: boolean): Promise<Played> {
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
 * is given, for a provider's client from a server that plays them. `sent` gives what has been sent for that model so far, as
 * the server received it: with it, the kit also proves that nothing of a request is lost on the way.
 *
 * @example
 * ```ts
 * import { modelConformance, scriptedModel } from "tool-call-extensions/testing";
 *
 * const cases: Promise<void>[] = [];
 * // `test` of vitest, node:test or jest; here one that runs at once.
 * modelConformance({
 *   test: (_title, run) => cases.push(run()),
 *   makeModel: (turns) => scriptedModel(turns),
 *   sent: (model) => model.requests,
 * });
 * await Promise.all(cases);
 * if (cases.length < 10) throw new Error("cases are missing");
 * ```
 */
export function modelConformance<M extends Model>({
  test,
  makeModel,
  sent,
}: {
  readonly test: TestFunction;
  readonly makeModel: MakeModel<M>;
  readonly sent?: ((model: M) => unknown) | undefined;
}): void {
  for (const isStreaming of [false, true]) {
    const check: Check = (title, run) => test(`${isStreaming ? "streaming" : "blocking"}: ${title}`, run);
    answers(check, makeModel, isStreaming);
    aborts(check, makeModel, isStreaming);
    if (sent !== undefined) requests(check, makeModel, sent, isStreaming);
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

type Check = (title: string, run: () => Promise<void>) => void;

function answers(check: Check, makeModel: MakeModel<Model>, isStreaming: boolean): void {
  check(`gives the text as it is, and in pieces that come to it`, async () => {
    const { output, events } = await play(makeModel, [TEXT], isStreaming);
    same(output, TEXT, "the answer");
    const deltas = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
    same(deltas.join(""), TEXT, "the pieces together");
  });
  check(`gives calls their ids and inputs, in order`, async () => {
    const turns = [
      { text: "Let me see.", toolCalls: [call("call_conformance_a", 1), call("call_conformance_b", 2)] },
      "Done.",
    ];
    const { output, messages, inputs } = await play(makeModel, turns, isStreaming);
    same(output, "Done.", "the answer");
    same(JSON.stringify(inputs), JSON.stringify([call("", 1).input, call("", 2).input]), "the inputs");
    const results = messages.flatMap((message) => (message.role === "tool" ? [message] : []));
    same(results.map(({ toolCallId }) => toolCallId).join(), "call_conformance_a,call_conformance_b", "the calls' ids");
    same(results.map(({ text }) => text).join(), "echo 1,echo 2", "the results");
  });
}

function aborts(check: Check, makeModel: MakeModel<Model>, isStreaming: boolean): void {
  // Asked by itself here and below: a run ends by its signal whatever its model does.
  check("refuses a request that is aborted already", async () => {
    const model = await makeModel([TEXT], isStreaming);
    const isAnswered = ask(model, AbortSignal.abort(), isStreaming).then(
      () => true,
      () => false,
    );
    holds(!(await within(isAnswered, "the request did not end")), "a request was answered though it was aborted");
  });
  check(`ends a request that is aborted after it was made`, async () => {
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

/** Everything of a request, each of it findable by a word of its own. */
const REQUEST = {
  instructions: "word-instructions",
  messages: [
    { role: "user", text: "word-prompt" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "word-answer" },
        { type: "tool-call", toolName: "word_tool", toolCallId: "conforma1", input: { word_property: "word-input-1" } },
        { type: "tool-call", toolName: "word_tool", toolCallId: "conforma2", input: { word_property: "word-input-2" } },
      ],
    },
    { role: "tool", toolCallId: "conforma1", toolName: "word_tool", text: "word-result", isError: false },
    { role: "tool", toolCallId: "conforma2", toolName: "word_tool", text: "word-failure", isError: true },
    { role: "assistant", content: [{ type: "text", text: "word-second-answer" }] },
    { role: "user", text: "word-second-prompt" },
  ],
} as const;
const CONVERSATION = [
  "word-prompt",
  "word-answer",
  "word-input-1",
  "word-input-2",
  "word-result",
  "word-failure",
  "word-second-answer",
  "word-second-prompt",
];
const schemaOf = (property: string) =>
  ({ type: "object", properties: { [property]: { type: "string" } }, required: [property] }) as const;
const TOOL = { name: "word_tool", description: "word-description", inputSchema: schemaOf("word_property") };

function requests<M extends Model>(
  check: Check,
  makeModel: MakeModel<M>,
  sent: (model: M) => unknown,
  isStreaming: boolean,
): void {
  const sentFor = async (request: Partial<ModelRequest>, signal = new AbortController().signal): Promise<string> => {
    const model = await makeModel(["{}"], isStreaming);
    const asked = ask(model, signal, isStreaming, request);
    await (signal.aborted ? asked.catch(() => undefined) : asked);
    return JSON.stringify(sent(model)) ?? "";
  };
  check("sends the instructions, and every message in its order", async () => {
    const text = await sentFor({ ...REQUEST, tools: [TOOL] });
    holds(text.includes(REQUEST.instructions), "the instructions were not sent");
    let last = -1;
    for (const word of CONVERSATION) {
      const at = text.indexOf(word, last + 1);
      holds(at > last, `"${word}" was not sent${text.includes(word) ? " in its place" : ""}`);
      last = at;
    }
  });
  check("sends each tool's name, description and schema", async () => {
    const text = await sentFor({ tools: [TOOL] });
    for (const word of [TOOL.name, TOOL.description, "word_property"])
      holds(text.includes(word), `"${word}" was not sent`);
  });
  check("sends the schema of the answer", async () => {
    const text = await sentFor({ outputSchema: schemaOf("word_output") });
    holds(text.includes("word_output"), "the output schema was not sent");
  });
  check("sends nothing for a request that is aborted already", async () => {
    holds((await sentFor({})).includes("Go."), "a request that is not aborted was not sent");
    holds(!(await sentFor({}, AbortSignal.abort())).includes("Go."), "a request was sent though it was aborted");
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

async function ask(
  model: Model,
  signal: AbortSignal,
  isStreaming: boolean,
  parts: Partial<ModelRequest> = {},
): Promise<void> {
  const messages = [{ role: "user", text: "Go." } as const];
  const request = { instructions: undefined, messages, tools: [], outputSchema: undefined, ...parts, signal };
  if (isStreaming && model.stream !== undefined) return await drained(model.stream(request));
  await model.generate(request);
}

async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _event of events);
}
