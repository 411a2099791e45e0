import { readFileSync } from "node:fs";
import ts from "typescript";
import { expect, test } from "vitest";
import { compile, diagnosticsOf, root } from "../types/compile.ts";

// A mistake on the page is a ```typescript block, which nothing runs, and after it what the compiler prints.

const page = readFileSync(`${root}docs/guides/troubleshooting.md`, "utf8").split("## What the compiler says")[1] ?? "";
const program = /^```ts\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "";
const mistakes = [...page.matchAll(/^### (.*)\n\n```typescript\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)\n```$/gm)].map(
  ([, title = "", code = "", shown = ""], index) => {
    return { title, shown, path: `${root}test/docs/mistake-${index}.ts`, text: `${program}${code}export {};\n` };
  },
);
const compiled = compile(new Map(mistakes.map(({ path, text }) => [path, text])));

test("five mistakes are shown, of a program without any", () => {
  expect(mistakes).toHaveLength(5);
  expect(page.match(/^```typescript$/gm)).toHaveLength(5);
});

test.each(mistakes)("$title: the message is the compiler's", ({ path, shown }) => {
  const printed = diagnosticsOf(compiled, path).map(
    ({ code, messageText }) => `error TS${code}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
  );
  expect(printed).toEqual([shown]);
});
