import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "node:util";
import ts from "typescript";
import { expect, onTestFinished, test, vi } from "vitest";

// Every ```ts block of the README, the docs and the doc comments is a program: it is type-checked, run, and has to print
// what its `// prints …` comments say. A block with a file name is found by the page's other blocks under that name; one that
// is called server.ts is run by them.

interface Block {
  readonly source: string;
  readonly path: string;
  readonly code: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = `${root}test/.examples`;

function extract(file: string): readonly Block[] {
  const text = readFileSync(`${root}${file}`, "utf8");
  return [...text.matchAll(/^([ \t]*(?:\* )?)```ts(?: ([\w-]+\.ts))?\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, indent = "", name, body = ""] = match;
    const line = text.slice(0, match.index).split("\n").length;
    const code = body.replaceAll(new RegExp(`^${indent.trimEnd().replace("*", "\\*")} ?`, "gm"), "");
    const page = `${folder}/${file.replaceAll(/\W+/g, "-")}`;
    return { source: `${file}:${line}`, path: `${page}${name === undefined ? `-${line}.ts` : `/${name}`}`, code };
  });
}

const within = (directory: string, ending: string): readonly string[] =>
  readdirSync(root + directory, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(ending))
    .map((file) => `${directory}/${file}`);
const files = ["README.md", ...within("docs", ".md"), ...within("src", ".ts")];
const blocks = files.flatMap(extract);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const { path, code } of blocks) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${code}\nexport {};\n`);
}

test("every block is found", () => {
  const fences = files.flatMap((file) => readFileSync(`${root}${file}`, "utf8").match(/```ts(?: .*)?$/gm) ?? []);
  expect(blocks.length).toBe(fences.length);
  expect(blocks.length).toBeGreaterThan(15);
});

test("every block type-checks", { timeout: 180_000 }, () => {
  const config = ts.getParsedCommandLineOfConfigFile(
    `${root}tsconfig.json`,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => expect.fail(String(diagnostic.messageText)),
    },
  );
  const options = {
    ...config?.options,
    noUnusedLocals: false,
    isolatedDeclarations: false,
    declaration: false,
    skipLibCheck: true,
  };
  const program = ts.createProgram(
    blocks.map(({ path }) => path),
    options,
  );
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const block = blocks.find(({ path }) => path === file?.fileName);
    return `${block?.source ?? file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
  expect(faults).toEqual([]);
});

for (const { source, path, code } of blocks.filter(({ path }) => basename(path) !== "server.ts")) {
  test(`${source} runs and prints what it says`, async () => {
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((...values) => void lines.push(format(...values)));
    onTestFinished(() => log.mockRestore());
    await import(path);
    expect(lines).toEqual([...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, line]) => line));
  });
}
