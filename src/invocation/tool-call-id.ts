import { digestBytes, digestText } from "./invocation-key.ts";

/**
 * Gives every call of a run an id of its own: the provider's where it is usable, else one made from the call's place,
 * which is the same on every replay.
 */
export class ToolCallIds {
  readonly #runId: string;
  readonly #seen: Set<string>;

  /** `seen` are the ids of the conversation so far; a provider that sends one again gets a made one for it. */
  constructor(runId: string, seen: Iterable<string>) {
    this.#runId = runId;
    this.#seen = new Set(seen);
  }

  /** `turn` counts from 1, `index` from 0. */
  assign(providerId: string | undefined, toolName: string, turn: number, index: number): string {
    const isUsable = isCallUnique(providerId, toolName) && !this.#seen.has(providerId);
    const id = isUsable ? providerId : this.#make(turn, index);
    // What the provider sent counts as sent, also where it was not usable.
    if (typeof providerId === "string") this.#seen.add(providerId);
    this.#seen.add(id);
    return id;
  }

  #make(turn: number, index: number): string {
    for (let salt = 0; ; salt++) {
      const id = madeId(this.#runId, String(turn), String(index), String(salt));
      if (!this.#seen.has(id)) return id;
    }
  }
}

/** A position, alone or after a name: `list_dir:0`, `functions.search:1`, `call_0`, `get_weather-1`, `2`. */
const TURN_SCOPED = /^(?:.*[:_-]|call|tool)?\d{1,4}$/is;

/**
 * Tells whether an id names one call of a conversation. Some providers send none, an empty one, the bare tool name, or one
 * that begins again every turn (https://github.com/fw-ai/fireconnect/issues/16).
 */
function isCallUnique(id: string | undefined, toolName: string): id is string {
  return typeof id === "string" && id !== "" && id !== toolName && !TURN_SCOPED.test(id);
}

/** Where another framework runs the loop, the position in the turn is not known; what the provider sent stands in for it. */
export function hostCallId(
  { runId, turn, repeat }: { readonly runId: string; readonly turn: number; readonly repeat: number },
  { providerToolCallId, toolName }: { readonly providerToolCallId: string | undefined; readonly toolName: string },
  seen: readonly string[],
): string {
  const isFirst = repeat === 0 && !seen.includes(providerToolCallId ?? "");
  if (isFirst && isCallUnique(providerToolCallId, toolName)) return providerToolCallId;
  return madeId(runId, String(turn), toolName, providerToolCallId ?? "", String(repeat));
}

const ID_LENGTH = 9;
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * Makes an id from the place of a call: nine letters and digits, the strictest format a provider documents (Mistral's); 53
 * bits of a hash.
 */
export function madeId(...place: readonly string[]): string {
  const bytes = digestBytes("tool-call-extensions/tool-call-id/1", ...place);
  return Array.from(bytes.subarray(0, ID_LENGTH), toLetter).join("");
}

/** Makes an id of the same form for a call that nothing else identifies. */
export function randomCallId(): string {
  return randomLetters(ID_LENGTH);
}

function toLetter(byte: number): string {
  return ALPHABET.charAt(byte % ALPHABET.length);
}

const RUN_ID_LENGTH = 22;

/** Makes the id of a run that nothing else identifies; 130 bits. */
export function randomRunId(): string {
  return `run_${randomLetters(RUN_ID_LENGTH)}`;
}

const LETTER_CODES: Uint8Array = /* @__PURE__ */ Uint8Array.from({ length: 256 }, (_, byte) =>
  toLetter(byte).charCodeAt(0),
);
const decoder: TextDecoder = /* @__PURE__ */ new TextDecoder();
let pool = "";
let taken = 0;

/**
 * Drawn in bulk, and as a text: to ask for 16 bytes costs 5 µs, and the two ids of a call by name cost 0.13 µs as pieces of
 * a text, 0.7 µs and a kilobyte when they are put together letter by letter.
 */
function randomLetters(length: number): string {
  if (taken + length > pool.length) {
    const bytes = crypto.getRandomValues(new Uint8Array(2_048));
    for (let index = 0; index < bytes.length; index++) bytes[index] = LETTER_CODES[bytes[index] ?? 0] ?? 0;
    pool = decoder.decode(bytes);
    taken = 0;
  }
  const start = taken;
  taken += length;
  return pool.slice(start, taken);
}

/** Makes the id of a run from what identifies it: the same on every replay, and of one length at any depth. */
export function derivedRunId(...fields: readonly string[]): string {
  return `run_${digestText("tool-call-extensions/run-id/1", ...fields)}`;
}
