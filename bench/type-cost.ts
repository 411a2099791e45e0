import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

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
  const faults = program.getSemanticDiagnostics(program.getSourceFile(path));
  if (faults.length > 0) throw new Error(faults.map(({ messageText }) => String(messageText)).join("\n"));
  return program.getInstantiationCount();
}

const IMPORT = `import { Agent, defineTool, extensionToken, type Model, ToolCallExtensions, type Tool } from "tool-call-extensions";
declare const model: Model;
`;

/** Counts what an agent with so many tools, of which each needs three of so many tokens, costs the compiler. */
export function typeCost(toolCount: number, tokenCount: number): number {
  const tokens = Array.from(
    { length: tokenCount },
    (_, n) => `const T${n} = extensionToken("token-${n}").of<{ n${n}: string }>();`,
  );
  const tools = Array.from({ length: toolCount }, (_, n) => {
    const [a, b, c] = [n % tokenCount, (n + 7) % tokenCount, (n + 13) % tokenCount];
    return `const tool${n} = defineTool({ name: "tool-${n}", input: { type: "object" }, requires: [T${a}, T${b}, T${c}],
  callWithExtensions: (_input, x) => x.require(T${a}).n${a} + x.require(T${b}).n${b} + x.require(T${c}).n${c} });`;
  });
  const withAll = Array.from({ length: tokenCount }, (_, n) => `.with(T${n}, { n${n}: "" })`).join("");
  const names = Array.from({ length: toolCount }, (_, n) => `tool${n}`).join(", ");
  const code = `${IMPORT}${[...tokens, ...tools].join("\n")}
const agent = new Agent({ name: "a", model, tools: [${names}] });
export const result = agent.prompt("x").toolExtensions(new ToolCallExtensions()${withAll}).run();`;
  return instantiations(code) - instantiations(`${IMPORT}export type { Agent, Tool };`);
}
