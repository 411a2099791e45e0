import { Writable } from "node:stream";
import { inspect } from "node:util";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import pino from "pino";
import {
  currentToolInvocation,
  type ExtensionToken,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
} from "tool-call-extensions";
import { createLogger, format, transports } from "winston";

const canary = (place: string): string => `canary-${place}-9f3a`;

class Credentials {
  readonly token = canary("instance");
  readonly #hidden = canary("instance");
  readonly headers = { authorization: `Bearer ${canary("instance")}` };
  toString(): string {
    return this.#hidden;
  }
}

const broken = (text: string): Error =>
  Object.assign(new Error(text, { cause: new Error(text, { cause: { text } }) }), { headers: { authorization: text } });

/** A value in every kind of place. */
export const places: Readonly<Record<string, unknown>> = {
  string: canary("string"),
  nested: { a: { b: [{ c: canary("nested") }] } },
  instance: new Credentials(),
  error: broken(canary("error")),
  map: new Map([[canary("map"), new Set([canary("map")])]]),
  symbol: Symbol(canary("symbol")),
  function: { [canary("function")]: () => canary("function") }[canary("function")],
  bytes: new TextEncoder().encode(canary("bytes")),
  key: { [canary("key")]: 1 },
  getter: Object.defineProperty({}, "secret", { get: () => canary("getter"), enumerable: true }),
};
const tokens: readonly ExtensionToken<string, unknown>[] = Object.keys(places).map((place) =>
  extensionToken(`place-${place}`).of<unknown>(),
);

/** The text that a tool gives away where it is told to. */
export const SECRET: string = canary("string");
const [Secret = expectToken()] = tokens;

function expectToken(): never {
  throw new Error("there is no place for a value");
}

export function secretExtensions(): ToolCallExtensions<string> {
  const extensions = new ToolCallExtensions<string>();
  for (const [index, value] of Object.values(places).entries()) extensions.insert(tokens[index] ?? Secret, value);
  return extensions;
}

export const secretOf = (extensions: ToolCallExtensions<never>): string =>
  String((extensions as ToolCallExtensions<string>).require(Secret));

/** As it is, in base64 at each of its three alignments, in hexadecimal, and byte by byte as JSON or a printout has it. */
function formsOf(text: string): RegExp {
  const bytes = [...new TextEncoder().encode(text)];
  const base64 = [0, 1, 2].map((shift) => {
    const encoded = Buffer.from("-".repeat(shift) + text).toString("base64");
    return encoded.slice(Math.ceil((shift * 8) / 6), -4);
  });
  const spelled = bytes.join('(?:\\D+|,"\\d+":)');
  const hex = bytes.map((byte) => byte.toString(16)).join(" ?");
  return new RegExp(
    [text, ...base64.map((form) => form.replaceAll("+", "\\+")), hex, `\\b${spelled}\\b`].join("|"),
    "i",
  );
}

const CANARIES = Object.keys(places).map((place) => ({ place, forms: formsOf(canary(place)) }));

interface Channel {
  texts: number;
  characters: number;
  readonly found: Set<string>;
}

/** Searches everything that comes out, by the channel it comes out of. */
export class Hunt {
  readonly #channels = new Map<string, Channel>();
  readonly #exporter = new InMemorySpanExporter();
  /** For hosts that trace by themselves. */
  readonly tracer: ReturnType<BasicTracerProvider["getTracer"]> = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  }).getTracer("hunt");
  readonly #pino = pino({ level: "trace" }, this.#sink("pino"));
  readonly #winston = createLogger({
    level: "silly",
    format: format.combine(format.errors({ stack: true, cause: true }), format.json()),
    transports: [new transports.Stream({ stream: this.#sink("winston") })],
  });

  #sink(channel: string): Writable {
    return new Writable({
      write: (chunk, _encoding, done) => {
        this.note(channel, String(chunk));
        done();
      },
    });
  }

  note(name: string, ...texts: readonly string[]): void {
    const channel = this.#channels.get(name) ?? { texts: 0, characters: 0, found: new Set() };
    this.#channels.set(name, channel);
    for (const text of texts) {
      if (text === "") continue;
      channel.texts++;
      channel.characters += text.length;
      for (const { place, forms } of CANARIES) if (forms.test(text)) channel.found.add(place);
    }
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
      const parts = Object.entries(value).map(([key, part]) => `${key}=${textOf(part)}`);
      this.note(channel, parts.join());
    }
    this.#pino.info({ value, err: value }, "seen");
    this.#winston.info("seen", { value });
    if (value instanceof Error) this.#lookAtError(value);
  }

  #lookAtError(thrown: Error): void {
    this.#pino.error(thrown);
    this.#winston.error(thrown);
    for (let error: unknown = thrown; error instanceof Error; error = error.cause) {
      this.note("errors", error.message, error.stack ?? "", textOf(error));
    }
  }

  hear(event: RunEvent, channel = "events"): void {
    this.look(channel, event);
    const attributes = { json: jsonOf(event), text: inspect(event, { depth: 20 }) };
    const span = this.tracer.startSpan(event.type, { attributes });
    span.addEvent("extensions", { current: inspect(currentToolInvocation(), { depth: 20, showHidden: true }) });
    if ("error" in event && event.error instanceof Error) {
      span.recordException(event.error);
      this.look("errors", event.error);
    }
    span.end();
  }

  /** Says what was searched, a line for each channel under a title, and gives the channels in which something was found. */
  end(title?: string): {
    readonly channels: readonly string[];
    readonly hits: Readonly<Record<string, readonly string[]>>;
  } {
    for (const { name, attributes, events, status } of this.#exporter.getFinishedSpans()) {
      this.note("spans", JSON.stringify({ name, attributes, events, status }));
    }
    this.#exporter.reset();
    const channels = [...this.#channels].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [name, { texts, characters, found }] of channels) {
      const what = found.size === 0 ? "none found" : `found: ${[...found].join(", ")}`;
      const searched = `${CANARIES.length} canaries in ${texts} texts of ${characters} characters`;
      if (title !== undefined) console.info(`leak hunt, ${title}, ${name}: ${searched}, ${what}`);
      if (characters === 0) throw new Error(`nothing was searched in "${name}"`);
    }
    const found = channels.filter(([, { found }]) => found.size > 0);
    return {
      channels: channels.map(([name]) => name),
      hits: Object.fromEntries(found.map(([name, { found }]) => [name, [...found].sort()])),
    };
  }
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    // A cycle: no text, so nothing to search.
    return "";
  }
}

function clonedText(value: unknown): string {
  try {
    return inspect(structuredClone(value), { depth: 20, showHidden: true });
  } catch {
    // What cannot be cloned does not get out by a clone.
    return "";
  }
}

function textOf(value: unknown): string {
  try {
    return `${value}`;
  } catch {
    // A symbol, or an object that has no text.
    return "";
  }
}
