import { digestBytes, digestText } from "./invocation-key.ts";

/**
 * Gives every call of a run an id of its own: the provider's where it is usable, else one made from the call's place,
 * which is the same on every replay.
 */
export class ToolCallIds {
  readonly #runId: string;
  readonly #seen: Set<string>;

  /** `seen` are the ids of the conversation so far; a provider that sends one again gets a made one for it. */
  constructor(runId: string, seen: Iterable<string> = []) {
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

const HEX = "0123456789abcdef";
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
  let text = "";
  for (let index = 0; index < ID_LENGTH; index++) text += toLetter(randomByte());
  return text;
}

function toLetter(byte: number): string {
  return ALPHABET.charAt(byte % ALPHABET.length);
}

/** Makes the id of a run that nothing else identifies. */
export function randomRunId(): string {
  let text = "run_";
  for (let index = 0; index < 32; index++) text += HEX.charAt(randomByte() & 15);
  return text;
}

let pool: Uint8Array = /* @__PURE__ */ new Uint8Array();
let taken = 0;

/** Drawn in bulk: to ask for 16 bytes costs 5 µs, as much as all the rest of a call. */
function randomByte(): number {
  if (taken >= pool.length) {
    pool = crypto.getRandomValues(new Uint8Array(2_048));
    taken = 0;
  }
  return pool[taken++] ?? 0;
}

/** Makes the id of a run from what identifies it: the same on every replay, and of one length at any depth. */
export function derivedRunId(...fields: readonly string[]): string {
  return `run_${digestText("tool-call-extensions/run-id/1", ...fields)}`;
}
