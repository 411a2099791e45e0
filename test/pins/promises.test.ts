import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (file: string): string => readFileSync(root + file, "utf8");

/** The cells of a page's table rows, without its head. */
function rowsOf(page: string): readonly (readonly string[])[] {
  const rows = page.split("\n").filter((line) => line.startsWith("|"));
  return rows.slice(2).map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const [ofReadme = "", ofSecurity = ""] = read("docs/promises.md").split("\n## Against whom\n");
const promises = rowsOf(ofReadme);
const against = rowsOf(ofSecurity);

test("every promise of the README has a test", () => {
  const section = read("README.md").split("## Promises")[1]?.split("\n## ")[0] ?? "";
  const made = [...section.matchAll(/^- \*\*(.+?)\.\*\*/gm)].map(([, word]) => word);
  expect(made.length).toBeGreaterThan(5);
  expect([...new Set(promises.map(([word]) => word))].sort()).toEqual(made.sort());
});

test("every row of SECURITY.md has a test, and so has how it is kept", () => {
  const rows = rowsOf(read("SECURITY.md")).map(([whom]) => whom);
  expect(rows.length).toBeGreaterThan(5);
  expect([...new Set(against.map(([whom]) => whom))]).toEqual([...rows, "How it is kept"]);
});

/** The strings that a file hands to a test, or to a group of them, before its function or its options. */
function titlesOf(file: string): readonly string[] {
  const calls = read(file).matchAll(/(?:\b(?:it|test|describe)|\)|\.\w+)\(\s*(["`])(.*?)\1\s*,\s*(?:async\b|[({])/g);
  return [...calls].map(([, , title = ""]) => title);
}

test.each([...promises, ...against])("%s: %s", (_word, _says, file = "", title = "") => {
  const path = file.replaceAll("`", "");
  expect(existsSync(root + path), path).toBe(true);
  expect(title).not.toBe("");
  expect(titlesOf(path).filter((each) => each.includes(title))).not.toEqual([]);
});

test("every file that the README names as a proof is there", () => {
  const files = [...read("README.md").matchAll(/\]\(((?:test|bench|docs)\/[^)#]+)\)/g)].map(([, file = ""]) => file);
  expect(files.length).toBeGreaterThan(10);
  expect(files.filter((file) => !existsSync(root + file))).toEqual([]);
});

/** The list of field cases is beside some checkouts and not in this repository. */
const cases = `${root}../shared/field-cases.md`;
test.skipIf(!existsSync(cases))("every field case is a test that names it", () => {
  const ids = [...readFileSync(cases, "utf8").matchAll(/^### (H\d+)\b/gm)].map(([, id = ""]) => id);
  const tests = readdirSync(`${root}test`, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.includes("node_modules") && !file.startsWith("."))
    .map((file) => read(`test/${file}`))
    .join("\n");
  expect(ids.length).toBeGreaterThan(20);
  expect(ids.filter((id) => !new RegExp(`\\b${id}\\b`).test(tests))).toEqual([]);
});
