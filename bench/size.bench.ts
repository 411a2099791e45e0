import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { bundledSize, IMPORTS } from "./bundle-size.ts";
import { type Goal, reportGoals } from "./goals.ts";
import { median } from "./measure.ts";
import { describeMachine, format, printTable } from "./report.ts";
import { typeCost } from "./type-cost.ts";

// What does the package weigh in a bundle, how long does its import take, and what do its types cost the compiler?

const STARTS = 21;

/** In a process of its own: a module is read once. */
function importMs(url: string): number {
  const program = `const start = performance.now(); await import("${url}"); console.log(performance.now() - start);`;
  const flags = ["--input-type=module", "--eval", program];
  return Number(execFileSync(process.execPath, flags, { encoding: "utf8", env: { NODE_CHANNEL_FD: undefined } }));
}

console.log(describeMachine());
const goals: Goal[] = [];

const sizes: string[][] = [];
for (const imported of IMPORTS) {
  const size = await bundledSize(imported);
  sizes.push([imported.name, String(size), String(imported.budget)]);
  if (imported.goal !== undefined)
    goals.push({ name: `bytes of the ${imported.name}`, value: size, bound: imported.goal });
}
printTable("bytes, minified + brotli", ["size", "budget"], sizes);

const root = new URL("../dist/index.js", import.meta.url).href;
/** A file, too: the first one costs Node as much as all of the package. */
const nothing = pathToFileURL(join(mkdtempSync(join(tmpdir(), "bench-")), "empty.mjs")).href;
writeFileSync(new URL(nothing), "export {};\n");
const [empty, full]: [number[], number[]] = [[], []];
for (let start = 0; start < STARTS; start++) {
  empty.push(importMs(nothing));
  full.push(importMs(root));
}
const importCost = median(full) - median(empty);
printTable(
  "ms",
  ["median"],
  [
    ["import of an empty module", format(median(empty))],
    ["import of the root", format(median(full))],
  ],
);
goals.push({ name: "ms the import of the root adds", value: importCost, bound: 5 });

const [few, many] = [typeCost(50, 20), typeCost(200, 20)];
printTable(
  "type instantiations",
  ["count"],
  [
    ["50 tools × 20 tokens", String(few)],
    ["200 tools × 20 tokens", String(many)],
  ],
);
goals.push({ name: "instantiations, 50 tools × 20 tokens", value: few, bound: 6_000 });
reportGoals(goals);
