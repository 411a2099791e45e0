import { type AnyExtensionToken, invalidArgument, ToolCallExtensionsError } from "../index.ts";

const LABEL = /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
const NAME = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$/;
const GRAMMAR =
  'an optional prefix of labels joined by dots and a slash, then a name, such as "com.example/tenant": a label begins with ' +
  "a letter, ends with a letter or digit and has letters, digits and hyphens in between; a name begins and ends with a " +
  "letter or digit and has letters, digits, hyphens, underscores and dots in between";
const RESERVED =
  "a key of your own: a prefix whose second label is modelcontextprotocol or mcp is reserved for the protocol";
const BARE = "a key of your own: progressToken is the protocol's, and set where progress is asked for";
/** The keys of this library's own, which the option `invocation` sends. */
const OWN_PREFIX = "tool-call-extensions/";
const OWN = 'a key of your own: "tool-call-extensions/" keys are sent by the option invocation';

/** The wire keys of a call's identity; a client may send them without this library. */
export const TOOL_CALL_ID_KEY: string = `${OWN_PREFIX}tool-call-id`;
export const INVOCATION_KEY_KEY: string = `${OWN_PREFIX}invocation-key`;

/**
 * Checks a key that an application gives to `_meta`.
 *
 * Source: the `_meta` section of the Model Context Protocol specification, revisions 2025-11-25 and 2026-07-28. Labels are
 * compared without case, as DNS does.
 */
export function assertMetaKey(key: string, option: string): void {
  const slash = key.indexOf("/");
  const labels = slash < 0 ? [] : key.slice(0, slash).split(".");
  const isValid = labels.every((label) => LABEL.test(label)) && NAME.test(key.slice(slash + 1));
  if (!isValid) throw refused(key, option, GRAMMAR);
  if (isReserved(key)) throw refused(key, option, RESERVED);
  if (key === "progressToken") throw refused(key, option, BARE);
  if (key.startsWith(OWN_PREFIX)) throw refused(key, option, OWN);
}

/** A copy, so that what was checked is what is used. */
export function checkTokens(tokens: TokensByKey | undefined, option: string): TokensByKey {
  if (tokens === null || (tokens !== undefined && typeof tokens !== "object")) {
    throw invalidArgument(`option ${option}`, tokens, "an object of tokens by _meta key");
  }
  const entries = Object.entries(tokens ?? {});
  for (const [key, token] of entries) {
    assertMetaKey(key, option);
    if (token?.kind !== "extension-token" || !("schema" in token) || token.schema === undefined) {
      const expected = "a token with a schema, made by extensionToken(id).of(schema)";
      throw invalidArgument(`the value of "${key}" in option ${option}`, token, expected);
    }
  }
  return Object.freeze(Object.fromEntries(entries));
}

export type TokensByKey = Readonly<Record<string, AnyExtensionToken>>;

export function checkFunction(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== "function")
    throw invalidArgument(`option ${option}`, value, "a function");
}

export function checkBoolean(value: unknown, option: string): void {
  if (value !== undefined && typeof value !== "boolean") throw invalidArgument(`option ${option}`, value, "a boolean");
}

export function isReserved(key: string): boolean {
  return /^[^./]+\.(?:modelcontextprotocol|mcp)[./]/i.test(key.slice(0, key.indexOf("/") + 1));
}

/**
 * Checks a value under one of the three bare keys that belong to tracing.
 *
 * Source: W3C Trace Context level 2 and W3C Baggage; SEP-414 gives them their names in `_meta`.
 */
export function assertMetaValue(key: string, value: unknown, option: string): void {
  if (Object.hasOwn(TRACING, key) && !(typeof value === "string" && TRACING[key]?.(value))) {
    throw refused(key, option, `followed by a value in the format of the W3C's ${key} header`);
  }
}

const TRACING: Readonly<Record<string, (value: string) => boolean>> = {
  traceparent: (value) => {
    const [, version = "", rest = ""] = TRACEPARENT.exec(value) ?? [];
    // Version 00 has exactly these fields; a later one may have more.
    return version !== "" && version !== "ff" && (rest === "" || (version !== "00" && /^-[\x21-\x7e]*$/.test(rest)));
  },
  tracestate: (value) => {
    const members = listOf(value).filter((member) => member !== "");
    const keys = new Set(members.map((member) => member.slice(0, member.indexOf("="))));
    const isSound = members.every((member) => TRACESTATE_MEMBER.test(member)) && keys.size === members.length;
    return isSound && members.length > 0 && members.length <= 32;
  },
  baggage: (value) => value.length <= 8192 && listOf(value).every(isBaggageMember),
};

const TRACEPARENT = /^([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(.*)$/s;
const TRACESTATE_MEMBER =
  /^[a-z0-9][a-z0-9_*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;
const BAGGAGE_KEY = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const BAGGAGE_VALUE = /^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/;

function listOf(value: string, separator = ","): readonly string[] {
  return value.split(separator).map(trimmed);
}

/** Of spaces and tabs alone: what `trim` takes away besides would reach a header. */
function trimmed(text: string): string {
  return text.replace(/^[ \t]+|(?<![ \t])[ \t]+$/g, "");
}

function isBaggageMember(member: string): boolean {
  const [pair = "", ...properties] = listOf(member, ";");
  return pair.includes("=") && [pair, ...properties].every(isBaggagePair);
}

function isBaggagePair(pair: string): boolean {
  const at = pair.includes("=") ? pair.indexOf("=") : pair.length;
  return BAGGAGE_KEY.test(trimmed(pair.slice(0, at))) && BAGGAGE_VALUE.test(trimmed(pair.slice(at + 1)));
}

function refused(key: string, option: string, expected: string): ToolCallExtensionsError {
  return new ToolCallExtensionsError("invalid-argument", `the _meta key "${key}" must be ${expected}`, {
    argument: `a key of option ${option}`,
    received: key,
    expected,
  });
}
