import { sha256 } from "@noble/hashes/sha2.js";
import { invalidArgument } from "../errors.ts";

const BASE32_HEX = "0123456789abcdefghijklmnopqrstuv";
const KEY_BYTES = 20;

/**
 * Gives the key of one logical call: 36 characters of `[a-z0-9_]`, the same wherever and whenever it is computed.
 *
 * `ik1_`, then the first 20 bytes of SHA-256 in lower-case base32hex (RFC 4648, section 7). Hashed are the domain, the
 * session key and the call id, each as its UTF-8 after its length in bytes (32 bits, big-endian): joined by a separator,
 * `"a", "b:c"` and `"a:b", "c"` would have one key.
 */
export function invocationKey(sessionKey: string, toolCallId: string): string {
  return `ik1_${digestText("tool-call-extensions/invocation-key/1", sessionKey, toolCallId)}`;
}

/**
 * Gives a further key for a tool that has several side effects in one call, one for each label.
 *
 * @throws ToolCallExtensionsError `invalid-argument` when there is no key to derive from: the run has no session.
 * @example
 * ```ts
 * import { deriveInvocationKey } from "tool-call-extensions";
 *
 * const key = "ik1_0123456789abcdefghijklmnopqrstuv";
 * const charge = deriveInvocationKey(key, "charge");
 * const mail = deriveInvocationKey(key, "mail");
 * if (charge === mail || charge !== deriveInvocationKey(key, "charge")) throw new Error("not one key a label");
 * if (!/^ik1_[a-v0-9]{32}$/.test(charge)) throw new Error("another format");
 * ```
 */
export function deriveInvocationKey(key: string | undefined, label: string): string {
  if (typeof key !== "string" || key === "") {
    throw invalidArgument("the key to derive from", key, "an invocation key: give the request a .session(key)");
  }
  if (typeof label !== "string") throw invalidArgument("the label", label, "a string");
  return `ik1_${digestText("tool-call-extensions/derived-key/1", key, label)}`;
}

/** 160 bits of {@link digestBytes}, as 32 letters and digits. */
export function digestText(...fields: readonly string[]): string {
  return toBase32Hex(digestBytes(...fields).subarray(0, KEY_BYTES));
}

/** SHA-256 over length-prefixed fields. */
export function digestBytes(...fields: readonly string[]): Uint8Array {
  const hash = sha256.create();
  for (const field of fields) {
    const bytes = toBytes(field);
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest();
}

/** Five bytes are eight characters, so twenty bytes need no padding. */
function toBase32Hex(bytes: Uint8Array): string {
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = ((buffer << 8) | byte) & 0xfff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += BASE32_HEX[(buffer >> (bits - 5)) & 31];
  }
  return text;
}

const encoder: TextEncoder = /* @__PURE__ */ new TextEncoder();
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * UTF-8; a lone surrogate, which `TextEncoder` would replace and so make two keys one, becomes its three bytes as in
 * WTF-8 (https://simonsapin.github.io/wtf-8/).
 */
function toBytes(text: string): Uint8Array {
  if (!LONE_SURROGATE.test(text)) return encoder.encode(text);
  const bytes: number[] = [];
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0xd800 || code > 0xdfff) bytes.push(...encoder.encode(character));
    else bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
  }
  return Uint8Array.from(bytes);
}
