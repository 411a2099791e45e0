/** The longest text a tool result puts before the model, in UTF-16 code units; `docs/guides/tools.md` documents it. */
const MAX_MODEL_TEXT = 65_536;
const MAX_DEPTH = 32;
const CUT_OFF = "[cut off: the result is too long]";

/**
 * Turns any value into bounded text for a model: strings as they are, everything else as JSON, where what JSON cannot
 * hold is written in a form the model can read. Never throws; the work is bounded by the text, not by the value.
 */
export function toModelText(value: unknown): string {
  if (typeof value === "string") return boundText(value);
  const writer = { budget: MAX_MODEL_TEXT, ancestors: [] };
  return boundText(JSON.stringify(toJson(value, writer)) ?? "(no output)");
}

interface Writer {
  /** Roughly the characters still worth writing; what comes after them would be cut off anyway. */
  budget: number;
  readonly ancestors: unknown[];
}

function toJson(value: unknown, writer: Writer): unknown {
  switch (typeof value) {
    case "string":
      writer.budget -= value.length + 2;
      return value.length > MAX_MODEL_TEXT ? boundText(value) : value;
    case "number":
    case "boolean":
      writer.budget -= String(value).length;
      return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
    case "bigint":
      return toJson(value.toString(), writer);
    case "undefined":
      return undefined;
    case "symbol":
    case "function":
      return toJson(`[${typeof value}]`, writer);
    default:
      return typeof value === "object" && value !== null ? objectToJson(value, writer) : null;
  }
}

function objectToJson(value: object, writer: Writer): unknown {
  writer.budget -= 4;
  if (writer.ancestors.includes(value)) return "[Circular]";
  if (writer.ancestors.length >= MAX_DEPTH) return "[nested too deeply]";
  writer.ancestors.push(value);
  try {
    return structureToJson(value, writer);
  } catch {
    // A getter, a toJSON or a Proxy of the tool's own threw: the call still counts as done, and the text may be a secret.
    return "[unreadable]";
  } finally {
    writer.ancestors.pop();
  }
}

function structureToJson(value: object, writer: Writer): unknown {
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return `[${value.byteLength} bytes]`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  if (value instanceof Error) return { name: String(value.name), message: boundText(String(value.message)) };
  if (value instanceof Map) return list(value.entries(), writer);
  if (value instanceof Set || Array.isArray(value)) return list(value.values(), writer);
  if ("toJSON" in value && typeof value.toJSON === "function") return toJson(value.toJSON(), writer);
  // Without a prototype, so that a key `__proto__` is a key.
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(value)) {
    if (writer.budget <= 0) return Object.assign(copy, { "…": CUT_OFF });
    writer.budget -= key.length + 4;
    copy[key] = toJson((value as Record<string, unknown>)[key], writer);
  }
  return copy;
}

function list(items: Iterable<unknown>, writer: Writer): unknown[] {
  const copy: unknown[] = [];
  for (const item of items) {
    if (writer.budget <= 0) return [...copy, CUT_OFF];
    writer.budget -= 1;
    copy.push(toJson(item, writer) ?? null);
  }
  return copy;
}

export function boundText(text: string): string {
  if (text.length <= MAX_MODEL_TEXT) return text;
  return `${text.slice(0, MAX_MODEL_TEXT - CUT_OFF.length - 1).replace(/[\uD800-\uDBFF]$/, "")}…${CUT_OFF}`;
}
