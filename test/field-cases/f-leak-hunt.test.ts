import { Writable } from "node:stream";
import { inspect } from "node:util";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import pino from "pino";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  type ExtensionToken,
  extensionToken,
  type RunEvent,
  type RunState,
  ToolCallExtensions,
  ToolError,
  ToolSet,
} from "tool-call-extensions";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { createLogger, format, transports } from "winston";
import { z } from "zod";

const CANARY = "canary-9f3a";

class Credentials {
  readonly token = CANARY;
  readonly #hidden = CANARY;
  readonly headers = { authorization: `Bearer ${CANARY}` };
  toString(): string {
    return this.#hidden;
  }
}

/** A value in every kind of place. */
const places: Readonly<Record<string, unknown>> = {
  string: CANARY,
  nested: { a: { b: [{ c: CANARY }] } },
  instance: new Credentials(),
  error: Object.assign(new Error(CANARY, { cause: new Error(CANARY) }), { headers: { authorization: CANARY } }),
  map: new Map([[CANARY, CANARY]]),
  symbol: Symbol(CANARY),
  function: { [CANARY]: () => CANARY }[CANARY],
  bytes: new TextEncoder().encode(CANARY),
  key: { [CANARY]: 1 },
};
const tokens = Object.keys(places).map((place) => extensionToken(`place-${place}`).of<unknown>());
const Place: ExtensionToken<"place-string", unknown> = extensionToken("place-string").of<unknown>();

function secretExtensions(): ToolCallExtensions<string> {
  const extensions = new ToolCallExtensions<string>().with(Place, CANARY);
  for (const [index, value] of Object.values(places).entries()) extensions.insert(tokens[index] ?? Place, value);
  return extensions;
}

/** Everything that came out of a run, by the channel it came out of. */
class Hunt {
  readonly #out = new Map<string, string[]>();
  readonly #exporter = new InMemorySpanExporter();
  readonly #tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(this.#exporter)] }).getTracer(
    "hunt",
  );
  readonly #sink = (channel: string) =>
    new Writable({
      write: (chunk, _encoding, done) => {
        this.note(channel, String(chunk));
        done();
      },
    });
  readonly #pino = pino({ level: "trace" }, this.#sink("pino"));
  readonly #winston = createLogger({
    level: "silly",
    format: format.combine(format.errors({ stack: true, cause: true }), format.json()),
    transports: [new transports.Stream({ stream: this.#sink("winston") })],
  });

  note(channel: string, ...texts: readonly string[]): void {
    this.#out.set(channel, [...(this.#out.get(channel) ?? []), ...texts]);
  }

  /** What a careless program does with whatever it is handed. */
  look(channel: string, value: unknown): void {
    this.note(
      channel,
      jsonOf(value),
      inspect(value, { depth: 20, showHidden: true, getters: true }),
      clonedText(value),
    );
    if (typeof value === "object" && value !== null) {
      this.note(
        channel,
        Object.entries(value)
          .map(([key, part]) => `${key}=${textOf(part)}`)
          .join(),
      );
    }
    this.#pino.info({ value, err: value }, "seen");
    this.#winston.info("seen", { value });
    if (value instanceof Error) {
      this.#pino.error(value);
      this.#winston.error(value);
      for (let error: unknown = value; error instanceof Error; error = error.cause) {
        this.note("errors", error.message, error.stack ?? "", textOf(error));
      }
    }
  }

  hear(event: RunEvent): void {
    this.look("events", event);
    const span = this.#tracer.startSpan(event.type, {
      attributes: { json: jsonOf(event), text: inspect(event, { depth: 20 }) },
    });
    span.addEvent("extensions", { current: inspect(currentToolInvocation(), { depth: 20, showHidden: true }) });
    if ("error" in event && event.error instanceof Error) {
      span.recordException(event.error);
      this.look("errors", event.error);
    }
    span.end();
  }

  /** The channels in which the canary was found, and those in which anything was. */
  result(): { readonly hits: readonly string[]; readonly channels: readonly string[] } {
    for (const { name, attributes, events } of this.#exporter.getFinishedSpans()) {
      this.note("spans", JSON.stringify({ name, attributes, events }));
    }
    const hits = [...this.#out]
      .filter(([, texts]) => texts.some((text) => text.includes(CANARY)))
      .map(([channel]) => channel);
    return { hits: hits.sort(), channels: [...this.#out.keys()].sort() };
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

function clonedText(value: unknown): string {
  try {
    return inspect(structuredClone(value), { depth: 20, showHidden: true });
  } catch {
    return "";
  }
}

function textOf(value: unknown): string {
  try {
    return `${value}`;
  } catch {
    return "";
  }
}

/** How a tool of the hunt misbehaves, to show that the hunt sees it. */
type Seed = "none" | "output" | "error" | "cause" | "result" | "progress";

const SECRET_TOOLS = (seed: Seed) => {
  const secretOf = (extensions: ToolCallExtensions<never>): unknown => extensions.get(tokens[0] ?? Place);
  return [
    defineTool({
      name: "works",
      input: z.object({ n: z.number() }),
      async *callWithExtensions({ n }, extensions) {
        yield seed === "progress" ? secretOf(extensions) : "half";
        return seed === "output" ? secretOf(extensions) : `done ${n}`;
      },
    }),
    defineTool({
      name: "breaks",
      input: {},
      callWithExtensions: (_input, extensions) => {
        if (seed === "error") throw new ToolError(String(secretOf(extensions)));
        throw new Error("no connection", seed === "cause" ? { cause: new Error(String(secretOf(extensions))) } : {});
      },
    }),
    defineTool({ name: "pays", input: {}, needsApproval: true, idempotent: true, call: () => "paid" }),
    defineTool({
      name: "nests",
      input: {},
      callWithExtensions: (_input, extensions) =>
        new ToolSet([defineTool({ name: "leaf", input: {}, call: () => 1 })]).callWithExtensions(
          "leaf",
          {},
          extensions,
        ),
    }),
  ];
};

/** Takes a run through everything that can happen to it, and looks at all that comes out. */
async function huntThrough(seed: Seed): Promise<ReturnType<Hunt["result"]>> {
  const hunt = new Hunt();
  const call = (toolName: string, input: unknown = {}) => ({ toolName, input });
  const turns = [
    { toolCalls: [call("works", { n: 1 }), call("breaks"), call("works", { n: "x" }), call("unknown"), call("nests")] },
    { toolCalls: [call("pays")] },
    "done",
  ];
  const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }) =>
    turns[messages.filter(({ role }) => role === "assistant").length] ?? "done";
  const innerModel = scriptedModel(script);
  const tools = SECRET_TOOLS(seed);
  const inner = new Agent({ name: "inner", model: innerModel, tools });
  const outerTurns = [{ toolCalls: [call("ask", { prompt: "go" }), call("works", { n: 2 })] }, '{"ok":true}'];
  const model = scriptedModel(
    ({ messages }) => outerTurns[messages.filter(({ role }) => role === "assistant").length] ?? "done",
  );
  const outer = new Agent({ name: "outer", model, tools: [inner.asTool({ name: "ask" }), ...tools] });
  const states: RunState[] = [];
  const listen = (event: RunEvent): void => hunt.hear(event);
  const prepared = (request: ReturnType<typeof outer.prompt>) =>
    request
      .toolExtensions(secretExtensions())
      .on(listen)
      .onCheckpoint((state) => void states.push(state));

  const paused = await prepared(outer.prompt("go").session("chat-7")).run();
  hunt.look("results", paused);
  if (paused.status !== "paused") throw new Error("the run did not pause");
  const saved: RunState = JSON.parse(JSON.stringify(paused.state));
  const resumed = outer.resume(saved).approve(paused.pending[0]?.toolCallId ?? "");
  hunt.look("results", await resumed.toolExtensions(secretExtensions()).on(listen).run());
  const rejected = outer.resume(saved).reject(paused.pending[0]?.toolCallId ?? "", "no");
  hunt.look("results", await rejected.toolExtensions(secretExtensions()).on(listen).run());
  for await (const event of prepared(outer.prompt("stream")).stream()) hunt.look("stream", event);
  const structured = outer
    .prompt("structured")
    .output(z.object({ ok: z.string() }))
    .toolExtensions(secretExtensions())
    .on(listen);
  await structured.run().then(
    (result) => hunt.look("results", result),
    (error: unknown) => hunt.look("rejections", error),
  );
  const stop = AbortSignal.abort(new Error("stop"));
  await prepared(outer.prompt("abort"))
    .signal(stop)
    .run()
    .catch((error: unknown) => hunt.look("rejections", error));
  const missing = new Agent({
    name: "needs",
    model,
    tools: [
      defineTool({
        name: "needs",
        input: {},
        requires: [extensionToken("absent").of<string>()],
        callWithExtensions: () => 1,
      }),
    ],
  });
  await missing
    .prompt("x")
    .toolExtensions(secretExtensions())
    .run()
    .catch((error: unknown) => hunt.look("rejections", error));
  const broken = new Agent({ name: "broken", model: scriptedModel([new Error("no model")]), tools });
  await broken
    .prompt("x")
    .toolExtensions(secretExtensions())
    .run()
    .catch((error: unknown) => hunt.look("rejections", error));
  const kept = new ToolSet(tools, { middleware: [once({ store: memoryOnceStore() })] });
  hunt.look(
    "results",
    await kept.callWithExtensions("works", { n: 3 }, secretExtensions(), { sessionKey: "s", toolCallId: "toolu_x" }),
  );

  hunt.look("maps", secretExtensions());
  hunt.look("maps", { extensions: secretExtensions().snapshot() });
  for (const token of tokens)
    hunt.look(
      "maps",
      thrown(() => secretExtensions().snapshot().insert(token, 1)),
    );
  for (const request of [...model.requests, ...innerModel.requests])
    hunt.note("model requests", JSON.stringify(request));
  for (const state of states)
    hunt.note("states", JSON.stringify(state), inspect(state, { depth: 20, showHidden: true }));
  return hunt.result();
}

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

const CHANNELS = [
  "errors",
  "events",
  "maps",
  "model requests",
  "pino",
  "rejections",
  "results",
  "spans",
  "states",
  "stream",
  "winston",
];

describe("H15 mastra-ai/mastra #18775, braintrust-sdk-javascript #912: a live context was walked into spans and printouts", () => {
  it("a value in any kind of place comes out nowhere", { timeout: 60_000 }, async () => {
    const { hits, channels } = await huntThrough("none");
    expect(channels).toEqual(CHANNELS);
    expect(hits).toEqual([]);
  });

  it.each<[Seed, readonly string[]]>([
    ["output", ["events", "model requests", "pino", "results", "spans", "states", "stream", "winston"]],
    ["progress", ["events", "pino", "spans", "stream", "winston"]],
    ["error", ["events", "model requests", "pino", "results", "spans", "states", "stream", "winston"]],
    ["cause", ["errors", "events", "pino", "spans", "stream"]],
  ])("a tool that gives it away by its %s is found out", { timeout: 60_000 }, async (seed, channels) => {
    expect((await huntThrough(seed)).hits).toEqual(expect.arrayContaining([...channels]));
  });

  it("is found in a printout, a clone and a log of a map that does not hide its values", () => {
    const hunt = new Hunt();
    hunt.look("maps", new Map(Object.entries(places)));
    hunt.look("rejections", places["error"]);
    expect(hunt.result().hits).toEqual(["errors", "maps", "pino", "rejections", "winston"]);
  });
});
