import ts from "typescript";
import { describe, expect, it } from "vitest";
import { compile, diagnosticsOf, root } from "./compile.ts";

// What the compiler says to a user is part of the product.

const PREAMBLE = `
import { Agent, defineTool, extensionToken, Runner, ToolCallExtensions, ToolSet, type Model } from "tool-call-extensions";
declare const model: Model;
const Session = extensionToken("session-id").of<string>();
const Database = extensionToken("database").of<{ query(sql: string): string }>();
const input = { type: "object" };
const lookup = defineTool({
  name: "lookup", input, requires: [Session, Database], callWithExtensions: (_input, extensions) => extensions.require(Database),
});
const agent = new Agent({ name: "support", model, tools: [lookup] });
const onlySession = new ToolCallExtensions().with(Session, "s-1");
export type Used = Runner | ToolSet | typeof agent | typeof onlySession;
`;

/** What is wrong in each snippet, which token's id the message has to name, and which it must not. */
const snippets: readonly { what: string; code: string; named: readonly string[]; unnamed?: readonly string[] }[] = [
  { what: "run() without extensions", code: `agent.prompt("x").run();`, named: ["session-id", "database"] },
  {
    what: "run() with a map that lacks a token",
    code: `agent.prompt("x").toolExtensions(onlySession).run();`,
    named: ["database"],
    unnamed: ["session-id"],
  },
  {
    what: "stream() with a map that lacks a token",
    code: `agent.prompt("x").toolExtensions(onlySession).stream();`,
    named: ["database"],
    unnamed: ["session-id"],
  },
  {
    what: "runner.run() of a request that lacks a token",
    code: `new Runner().run(agent.prompt("x").toolExtensions(onlySession));`,
    named: ["database"],
    unnamed: ["session-id"],
  },
  {
    what: 'asTool() with "none"',
    code: `agent.asTool({ name: "ask", extensions: "none" });`,
    named: ["session-id", "database"],
  },
  {
    what: "asTool() with a list that drops a token",
    code: `agent.asTool({ name: "ask", extensions: [Session] });`,
    named: ["database"],
  },
  {
    what: "asTool() with a function that drops a token",
    code: `agent.asTool({ name: "ask", extensions: () => onlySession });`,
    named: ["database"],
  },
  {
    what: "defineTool() that requires() what it did not declare",
    code: `defineTool({ name: "t", input, requires: [Session], callWithExtensions: (_input, extensions) => extensions.require(Database) });`,
    named: ["database"],
  },
  {
    what: "ToolSet.call() of tools with needs",
    code: `new ToolSet([lookup]).call("lookup", {});`,
    named: ["session-id", "database"],
  },
  {
    what: "toolSet.callWithExtensions() with a map that lacks a token",
    code: `new ToolSet([lookup]).callWithExtensions("lookup", {}, onlySession);`,
    named: ["database"],
  },
  {
    what: "toolSet.callWithExtensions() with an empty map",
    code: `new ToolSet([lookup]).callWithExtensions("lookup", {}, new ToolCallExtensions());`,
    named: ["database"],
  },
];

const paths = snippets.map((_, index) => `${root}test/types/snippet-${index}.ts`);
const program = compile(new Map(paths.map((path, index) => [path, PREAMBLE + snippets[index]?.code])));

function messagesOf(path: string): readonly string[] {
  return diagnosticsOf(program, path).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
}

describe("the compiler's message for", () => {
  it.each(snippets.map(({ what, ...snippet }, index) => [what, { ...snippet, path: paths[index] ?? "" }] as const))(
    "%s names the missing token in fewer than 650 characters",
    (_what, { path, named, unnamed = [] }) => {
      const messages = messagesOf(path);
      expect(messages).toHaveLength(1);
      const message = messages.join();
      for (const id of named) expect(message).toContain(id);
      for (const id of unnamed) expect(message).not.toContain(id);
      expect(message.length).toBeLessThan(650);
    },
  );
});

describe("the emitted declarations", () => {
  it("hold no any (H26 mastra-ai/mastra #4931: a context value came as any or unknown)", () => {
    const declarations: string[] = [];
    for (const source of program.getSourceFiles()) {
      if (!source.fileName.startsWith(`${root}src/`)) continue;
      program.emit(source, (_path, text) => declarations.push(text), undefined, true);
    }
    expect(declarations.length).toBeGreaterThan(20);
    const code = declarations.map((text) => text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ""));
    expect(code.filter((text) => /\bany\b/.test(text))).toEqual([]);
  });
});
