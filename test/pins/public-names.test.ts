import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const src = fileURLToPath(new URL("../../src/", import.meta.url));
const ENTRIES = [
  "index.ts",
  "testing/index.ts",
  "mcp/index.ts",
  "once/index.ts",
  "postgres/index.ts",
  "ai-sdk/index.ts",
  "inspect/index.ts",
];
const program = ts.createProgram(
  ENTRIES.map((file) => src + file),
  {
    ...ts.parseJsonConfigFileContent(
      ts.readConfigFile(`${src}../tsconfig.json`, ts.sys.readFile).config,
      ts.sys,
      `${src}..`,
    ).options,
  },
);
const checker = program.getTypeChecker();

function exportsOf(file: string): readonly ts.Symbol[] {
  const source = program.getSourceFile(src + file);
  const module = source && checker.getSymbolAtLocation(source);
  return module ? checker.getExportsOfModule(module) : [];
}

const namesOf = (file: string): readonly string[] =>
  exportsOf(file)
    .map(({ name }) => name)
    .sort();

function resolve(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

test("the root exports exactly these names", () => {
  expect(namesOf("index.ts")).toEqual([
    "Agent",
    "AgentOptions",
    "AnyExtensionToken",
    "AssistantPart",
    "DefaultedExtensionToken",
    "ErrorCode",
    "ExtensionToken",
    "InputSchema",
    "JsonSchema",
    "Message",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "ModelStreamPart",
    "PendingCall",
    "PromptRequest",
    "RunEvent",
    "RunListener",
    "RunResult",
    "RunState",
    "Runner",
    "RunnerOptions",
    "Tool",
    "ToolCall",
    "ToolCallExtensions",
    "ToolCallExtensionsError",
    "ToolError",
    "ToolEvent",
    "ToolFailureKind",
    "ToolInvocationContext",
    "ToolMiddleware",
    "ToolOutcome",
    "ToolResult",
    "ToolSet",
    "Usage",
    "currentToolInvocation",
    "decodeExtensions",
    "defineTool",
    "deriveInvocationKey",
    "encodeExtensions",
    "extensionToken",
    "invalidArgument",
    "outcomeText",
    "toolResult",
    "wrapTool",
  ]);
});

test("the adapters export exactly these names", () => {
  expect(namesOf("testing/index.ts")).toEqual([
    "RecordedCall",
    "RecordingTool",
    "RecordingToolOptions",
    "ScriptedModel",
    "ScriptedTurn",
    "modelConformance",
    "recordingTool",
    "scriptedModel",
    "toolConformance",
    "toolSetConformance",
  ]);
  expect(namesOf("once/index.ts")).toEqual(["OnceOptions", "OnceStore", "memoryOnceStore", "once"]);
  expect(namesOf("postgres/index.ts")).toEqual([
    "PostgresClient",
    "PostgresOnceOptions",
    "PostgresOnceStore",
    "postgresOnceStore",
  ]);
  expect(namesOf("mcp/index.ts")).toEqual([
    "McpClient",
    "McpRequest",
    "McpResult",
    "McpServer",
    "McpToolsOptions",
    "ServeToolsOptions",
    "mcpResult",
    "mcpTools",
    "serveTools",
  ]);
  expect(namesOf("ai-sdk/index.ts")).toEqual([
    "AiSdkContextTool",
    "AiSdkTool",
    "AiSdkToolsOptions",
    "CallSettings",
    "FromAiSdkToolOptions",
    "LanguageModel",
    "LanguageModelOptions",
    "fromAiSdkTool",
    "fromLanguageModel",
    "toAiSdkTools",
  ]);
});

test("the inspect adapter exports exactly these names", () => {
  expect(namesOf("inspect/index.ts")).toEqual([
    "ProgressStream",
    "RenderTreeOptions",
    "liveProgress",
    "renderTree",
    "toHtml",
    "toMermaid",
  ]);
});

test("the package exports exactly these entries", () => {
  const { exports, files } = JSON.parse(readFileSync(`${src}../package.json`, "utf8"));
  expect(Object.keys(exports)).toEqual([
    ".",
    "./testing",
    "./mcp",
    "./once",
    "./postgres",
    "./ai-sdk",
    "./inspect",
    "./package.json",
  ]);
  expect(files).toEqual(["dist", "docs/*.md", "docs/decisions/*.md", "docs/guides/*.md", "SECURITY.md"]);
});

describe.each(ENTRIES)("%s", (file) => {
  test("documents every name", () => {
    const undocumented = exportsOf(file).filter((symbol) => {
      return ts.displayPartsToString(resolve(symbol).getDocumentationComment(checker)) === "";
    });
    expect(undocumented.map(({ name }) => name)).toEqual([]);
  });

  test("shows an example of every function and class", () => {
    const values = exportsOf(file)
      .map(resolve)
      .filter(({ flags }) => flags & ts.SymbolFlags.Value);
    const bare = values.filter((symbol) => !symbol.getJsDocTags(checker).some(({ name }) => name === "example"));
    expect(values.length).toBeGreaterThan(0);
    expect(bare.map(({ name }) => name)).toEqual([]);
  });
});
