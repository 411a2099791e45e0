import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import fc from "fast-check";
import {
  defineTool,
  type ExtensionToken,
  extensionToken,
  type ToolCallExtensions,
  ToolSet,
} from "tool-call-extensions";
import { mcpTools, serveTools } from "tool-call-extensions/mcp";
import { expect, test } from "vitest";
import { z } from "zod";
import { server1, server2 } from "../mcp/connections.ts";

const Any = extensionToken("any").of(z.unknown());

const isDigit = (character: string) => character >= "0" && character <= "9";
const isLetter = (character: string) =>
  (character >= "a" && character <= "z") || (character >= "A" && character <= "Z");
const isAlphanumeric = (character: string) => isDigit(character) || isLetter(character);

/** The grammar of the specification, revisions 2025-11-25 and 2026-07-28, a character at a time. */
function isAllowed(key: string): boolean {
  if (key === "progressToken") return false;
  const [prefix, ...names] = key.split("/");
  if (names.length > 1) return false;
  const name = names.length === 1 ? names[0] : prefix;
  if (!isName(name ?? "")) return false;
  if (names.length === 0) return true;
  const labels = (prefix ?? "").split(".");
  const second = labels[1]?.toLowerCase();
  const isReserved = second === "mcp" || second === "modelcontextprotocol";
  // The library's own prefix is one that its grammar allows and an application may not use.
  return labels.every(isLabel) && !isReserved && prefix !== "tool-call-extensions";
}

function isLabel(label: string): boolean {
  const characters = [...label];
  if (characters.length === 0 || !isLetter(characters[0] ?? "") || !isAlphanumeric(characters.at(-1) ?? ""))
    return false;
  return characters.every((character) => isAlphanumeric(character) || character === "-");
}

function isName(name: string): boolean {
  if (name === "") return true;
  const characters = [...name];
  if (!isAlphanumeric(characters[0] ?? "") || !isAlphanumeric(characters.at(-1) ?? "")) return false;
  return characters.every((character) => isAlphanumeric(character) || "-_.".includes(character));
}

const character = fc.constantFrom(..."abzAZ09-_./ é\n%\u0000");
const word = fc.constantFrom(
  "com",
  "example",
  "mcp",
  "MCP",
  "modelcontextprotocol",
  "io",
  "dev",
  "a",
  "a-b",
  "tenant",
  "7",
);
const label = fc.oneof(
  { arbitrary: word, weight: 4 },
  { arbitrary: fc.string({ unit: character, maxLength: 4 }), weight: 1 },
);
const keys = fc.oneof(
  {
    arbitrary: fc
      .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), label)
      .map(([labels, name]) => `${labels.join(".")}/${name}`),
    weight: 6,
  },
  { arbitrary: fc.string({ unit: character, maxLength: 12 }), weight: 2 },
  { arbitrary: label, weight: 1 },
  {
    arbitrary: fc.constantFrom(
      "progressToken",
      "",
      "/",
      "com.example/",
      "tool-call-extensions/x",
      "__proto__",
      "constructor",
    ),
    weight: 1,
  },
);

const noTools = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) };
const accepts = (work: () => unknown): Promise<boolean> => {
  return Promise.resolve()
    .then(work)
    .then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: "invalid-argument", message: expect.stringContaining("the _meta key ") });
        return false;
      },
    );
};

test("10,000 keys: out and in, exactly what the specification's grammar allows is accepted", {
  timeout: 60_000,
}, async () => {
  const empty = new ToolSet([]);
  const verdicts = { allowed: 0, refused: 0 };
  const law = fc.asyncProperty(keys, async (key) => {
    const expected = isAllowed(key);
    verdicts[expected ? "allowed" : "refused"]++;
    // Without a prototype, so that `__proto__` is a key.
    const record = Object.assign(Object.create(null), { [key]: Any });
    expect(await accepts(() => mcpTools(noTools, { forward: record })), `out: ${key}`).toBe(expected);
    expect(
      await accepts(() => server1((server) => serveTools(server, empty, { accept: record }))),
      `in, 1: ${key}`,
    ).toBe(expected);
    expect(
      await accepts(() => server2((server) => serveTools(server, empty, { accept: record }))),
      `in, 2: ${key}`,
    ).toBe(expected);
  });
  await fc.assert(law, { numRuns: 10_000 });
  expect(verdicts.allowed).toBeGreaterThan(1_000);
  expect(verdicts.refused).toBeGreaterThan(1_000);
});

test("10,000 keys and values arrive as they were sent, and a call with one bad key does not leave", {
  timeout: 60_000,
}, async () => {
  const seen: ToolCallExtensions<never>[] = [];
  const look = defineTool({
    name: "look",
    input: {},
    callWithExtensions: (_input, extensions) => void seen.push(extensions),
  });
  const law = fc.asyncProperty(
    fc.dictionary(keys, fc.jsonValue({ maxDepth: 3 }), { minKeys: 10, maxKeys: 10, noNullPrototype: true }),
    async (given) => {
      const entries = Object.entries(given);
      const allowed = entries.filter(([key]) => isAllowed(key));
      const tokens = new Map(
        entries.map(([key]): [string, ExtensionToken<string, unknown>] => [
          key,
          extensionToken<string>(`token ${key}`).of(z.unknown()),
        ]),
      );
      const accept = Object.fromEntries(allowed.flatMap(([key]) => [[key, tokens.get(key) ?? Any]]));
      let made: object = given;
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      const client = new Client({ name: "client", version: "1.0.0" });
      const server = server1((target) => serveTools(target, new ToolSet([look]), { accept }));
      await Promise.all([server.connect(theirs), client.connect(ours)]);
      const tools = new ToolSet(await mcpTools(client, { meta: () => ({ ...made }) }));
      seen.length = 0;
      expect((await tools.call("look", {})).status).toBe(allowed.length === entries.length ? "completed" : "failed");
      expect(seen).toHaveLength(allowed.length === entries.length ? 1 : 0);
      made = Object.fromEntries(allowed);
      seen.length = 0;
      expect((await tools.call("look", {})).status).toBe("completed");
      for (const [key, value] of allowed) {
        expect(JSON.stringify(seen[0]?.get(tokens.get(key) ?? Any)), key).toBe(JSON.stringify(value));
      }
      await client.close();
    },
  );
  await fc.assert(law, { numRuns: 1_000 });
});
