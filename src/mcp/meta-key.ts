import { ToolCallExtensionsError } from "../index.ts";

const LABEL = /^[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/;
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const RULE = 'a name after a reverse-DNS prefix, such as "com.example/tenant"';
const RESERVED = "a prefix of your own: those whose first or second label is mcp or modelcontextprotocol are reserved";

/**
 * Checks a key of `_meta`. Bare names belong to the protocol, and so do prefixes with the protocol's own labels.
 *
 * Source: the `_meta` section of the Model Context Protocol specification, revisions 2025-06-18 and 2025-11-25, which
 * differ on which label counts; the stricter reading of both is taken.
 */
export function assertMetaKey(key: string): void {
  const slash = key.indexOf("/");
  const labels = key.slice(0, Math.max(slash, 0)).split(".");
  if (!labels.every((label) => LABEL.test(label)) || !NAME.test(key.slice(slash + 1))) throw refused(key, RULE);
  if (labels.slice(0, 2).some((label) => /^(?:mcp|modelcontextprotocol)$/i.test(label))) throw refused(key, RESERVED);
}

function refused(key: string, expected: string): ToolCallExtensionsError {
  return new ToolCallExtensionsError("invalid-argument", `the _meta key "${key}" must be ${expected}`, {
    argument: "a key of option forward",
    received: key,
    expected,
  });
}
