import { fileURLToPath } from "node:url";
import ts from "typescript";
import { expect, test } from "vitest";

// The figure to hold is of the type prototype's kind: one file with 50 tools over 20 tokens, against a file without any.

const root = fileURLToPath(new URL("../..", import.meta.url));

function instantiations(code: string): number {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config,
    ts.sys,
    root,
  );
  const host = ts.createCompilerHost(options);
  const path = `${root}test/cost.ts`;
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) =>
    name === path ? ts.createSourceFile(name, code, ts.ScriptTarget.ES2022) : getSourceFile(name, ...rest);
  const program = ts.createProgram([path], { ...options, types: [], noUnusedLocals: false }, host);
  const source = program.getSourceFile(path);
  expect(program.getSemanticDiagnostics(source).map(({ messageText }) => messageText)).toEqual([]);
  return program.getInstantiationCount();
}

const IMPORT = `import { Agent, defineTool, extensionToken, type Model, ToolCallExtensions, type Tool } from "tool-call-extensions";
declare const model: Model;
`;

test("50 tools over 20 tokens cost at most 6,000 instantiations", () => {
  const tokens = Array.from(
    { length: 20 },
    (_, n) => `const T${n} = extensionToken("token-${n}").of<{ n${n}: string }>();`,
  );
  const tools = Array.from({ length: 50 }, (_, n) => {
    const [a, b, c] = [n % 20, (n + 7) % 20, (n + 13) % 20];
    return `const tool${n} = defineTool({ name: "tool-${n}", input: { type: "object" }, requires: [T${a}, T${b}, T${c}],
  callWithExtensions: (_input, x) => x.require(T${a}).n${a} + x.require(T${b}).n${b} + x.require(T${c}).n${c} });`;
  });
  const withAll = Array.from({ length: 20 }, (_, n) => `.with(T${n}, { n${n}: "" })`).join("");
  const names = Array.from({ length: 50 }, (_, n) => `tool${n}`).join(", ");
  const code = `${IMPORT}${[...tokens, ...tools].join("\n")}
const agent = new Agent({ name: "a", model, tools: [${names}] });
export const result = agent.prompt("x").toolExtensions(new ToolCallExtensions()${withAll}).run();`;
  const cost = instantiations(code) - instantiations(`${IMPORT}export type { Agent, Tool };`);
  console.info(`50 tools over 20 tokens: ${cost} instantiations`);
  expect(cost).toBeGreaterThan(500);
  expect(cost).toBeLessThanOrEqual(6_000);
});
