import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

// A program of somebody else: the packed tarball, installed in an empty folder. `npm test` builds before it tests.

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "consumer-"));
const options = { cwd: folder };

const PROGRAM = `
const Tenant = extensionToken("tenant").of();
const tool = defineTool({
  name: "whose",
  input: { type: "object" },
  requires: [Tenant],
  callWithExtensions: async (_input, extensions) => {
    await null;
    return \`\${extensions.require(Tenant)} \${currentToolInvocation()?.toolName}\`;
  },
});
const model = scriptedModel([{ toolCalls: [{ toolName: "whose", input: {} }] }, "done"]);
const extensions = new ToolCallExtensions().with(Tenant, "t-7");
new Agent({ name: "a", model, tools: [tool] }).prompt("x").toolExtensions(extensions).run().then((result) => {
  console.log(result.messages[2].text, result.output, typeof mcpTools);
});
`;
const NAMES = "{ Agent, currentToolInvocation, defineTool, extensionToken, ToolCallExtensions }";

const TYPED = `
import { Agent, currentToolInvocation, defineTool, extensionToken, type ExtensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel, toAiSdkTools } from "tool-call-extensions/ai-sdk";
import { mcpTools } from "tool-call-extensions/mcp";
import { scriptedModel } from "tool-call-extensions/testing";

export const Tenant: ExtensionToken<"tenant", string> = extensionToken("tenant").of<string>();
const whose = defineTool({
  name: "whose",
  input: { type: "object" },
  requires: [Tenant],
  callWithExtensions: (_input, extensions) => extensions.require(Tenant).toUpperCase(),
});
const agent = new Agent({ name: "a", model: scriptedModel([]), tools: [whose] });
export const result: Promise<{ readonly output: string | undefined }> = agent
  .prompt("x")
  .toolExtensions(new ToolCallExtensions().with(Tenant, "t-7"))
  .run();
// @ts-expect-error the tenant is missing
agent.prompt("x").run();
export const id: string | undefined = currentToolInvocation()?.toolCallId;
export const tools: ToolSet<"tenant"> = new ToolSet([whose]);
export const connect: typeof mcpTools = mcpTools;
declare const given: LanguageModel;
export const agentOnIt: Agent = new Agent({ name: "b", model: fromLanguageModel(given) });
export const hosted: object = toAiSdkTools(tools, new ToolCallExtensions().with(Tenant, "t-7"));
// @ts-expect-error the tenant is missing
toAiSdkTools(tools, new ToolCallExtensions());
`;

beforeAll(async () => {
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], {
    cwd: root,
  });
  const [{ filename }] = JSON.parse(stdout);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  await run(
    "npm",
    ["install", "--no-save", "--prefer-offline", "--no-audit", "--no-fund", join(folder, filename)],
    options,
  );
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("installs with one dependency", () => {
  const installed = readdirSync(join(folder, "node_modules")).filter((name) => !name.startsWith("."));
  expect(installed).toEqual(["@noble", "tool-call-extensions"]);
});

test("works by import", async () => {
  const imports = `import ${NAMES} from "tool-call-extensions"; import { mcpTools } from "tool-call-extensions/mcp"; import { scriptedModel } from "tool-call-extensions/testing";`;
  writeFileSync(join(folder, "program.mjs"), imports + PROGRAM);
  const { stdout } = await run(process.execPath, ["program.mjs"], options);
  expect(stdout).toBe("t-7 whose done function\n");
});

test("works by require", async () => {
  const requires = `const ${NAMES} = require("tool-call-extensions"); const { mcpTools } = require("tool-call-extensions/mcp"); const { scriptedModel } = require("tool-call-extensions/testing");`;
  writeFileSync(join(folder, "program.cjs"), requires + PROGRAM);
  const { stdout } = await run(process.execPath, ["--no-warnings", "program.cjs"], options);
  expect(stdout).toBe("t-7 whose done function\n");
});

test.each(["typescript", "typescript-6", "typescript-7"])(
  "type-checks under %s with skipLibCheck off",
  async (compiler) => {
    writeFileSync(join(folder, "typed.ts"), TYPED);
    const flags = { strict: true, skipLibCheck: false, module: "nodenext", target: "es2022", noEmit: true, types: [] };
    const compilerOptions = { ...flags, lib: ["es2022", "dom"], isolatedDeclarations: true, declaration: true };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["typed.ts"] }));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
    const manifest = JSON.parse(readFileSync(`${root}node_modules/${compiler}/package.json`, "utf8"));
    const output = await run(
      process.execPath,
      [`${root}node_modules/${compiler}/${manifest.bin.tsc}`, "-p", "."],
      options,
    )
      .then(({ stdout }) => stdout)
      .catch((error: { readonly stdout: string }) => error.stdout);
    expect(output).toBe("");
  },
  120_000,
);

test("an error names a section of the documentation that the package has", async () => {
  const program =
    'import { ToolSet } from "tool-call-extensions"; try { new ToolSet(7); } catch (error) { console.log(error.docs); }';
  writeFileSync(join(folder, "fails.mjs"), program);
  const { stdout } = await run(process.execPath, ["fails.mjs"], options);
  const [page = "", anchor = ""] = stdout.trim().split("#");
  expect(anchor).toBe("invalid-argument");
  expect(readFileSync(join(folder, "node_modules", page), "utf8")).toContain(`\n## ${anchor}\n`);
});

test("the guides in the package link to pages that the package has", () => {
  const docs = join(folder, "node_modules/tool-call-extensions/docs");
  const pages = readdirSync(docs, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  expect(pages.length).toBeGreaterThan(10);
  const linked = pages.flatMap((page) => {
    const links = readFileSync(join(docs, page), "utf8").matchAll(/\]\(([^):#]+\.md)/g);
    return [...links].map(([, link = ""]) => join(docs, page, "..", link));
  });
  // Beside the guides the repository has pages for those who work on it.
  const guides = linked.filter((file) => file.startsWith(docs) && !file.startsWith(join(docs, "examples")));
  expect(guides.length).toBeGreaterThan(30);
  expect(guides.filter((file) => !existsSync(file))).toEqual([]);
});

test("the declarations hold no any", () => {
  const declarations = readdirSync(`${root}dist`).filter((file) => file.endsWith(".d.ts"));
  expect(declarations.length).toBeGreaterThan(2);
  for (const file of declarations) {
    const code = readFileSync(`${root}dist/${file}`, "utf8").replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
    expect(code.match(/\bany\b/g), file).toBeNull();
  }
});
