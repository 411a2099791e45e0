import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Report } from "./inside/run-files.ts";
import { installPackage } from "./installed.ts";
import { type Runtime, runtimes } from "./runtimes.ts";
import { type Selection, selectFiles } from "./suite.ts";

// The core's tests in every runtime that the package is made for, each on the package as it is installed from its tarball.
// `npm run runtimes -- bun deno` runs them where the name has one of the words.

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? "" : "s"}`;
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function describe({ runtime, files, passed, skipped, failures, leftOut }: Report): string {
  const counts = [`${files} files`, `${passed} passed`, `${failures.length} failed`];
  if (skipped > 0) counts.push(`${skipped} skipped by themselves`);
  for (const [reason, count] of Object.entries(leftOut)) counts.push(`${count} left out: ${reason}`);
  return [`${runtime}: ${counts.join(", ")}`, ...failures].join("\n  ");
}

type Verdict = "passed" | "failed" | "absent";

async function runIn({ name, find, run }: Runtime, home: string, selection: Selection): Promise<Verdict> {
  const found = await find().then(
    (path) => ({ path }),
    (error: unknown) => ({ reason: messageOf(error) }),
  );
  if ("reason" in found) {
    console.log(`${name}: not run, because it cannot be had: ${found.reason}`);
    return "absent";
  }
  const start = performance.now();
  try {
    const report = await run(found.path, home, selection);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(`${name}, ${seconds} s, ${describe(report)}`);
    return report.failures.length === 0 && report.passed > 0 ? "passed" : "failed";
  } catch (error) {
    console.log(`${name}: FAILED to run: ${messageOf(error)}`);
    return "failed";
  }
}

function printSelection({ files, leftOut }: Selection): void {
  console.log(`${plural(files.length, "file")} of the core's tests; ${leftOut.size} import more than a runtime has:`);
  for (const [file, what] of leftOut) console.log(`  ${file} imports ${what}`);
}

const words = process.argv.slice(2);
const chosen = runtimes.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const folder = mkdtempSync(join(tmpdir(), "runtimes-"));
const total: Record<Verdict, number> = { passed: 0, failed: 0, absent: 0 };
try {
  const selection = await selectFiles();
  printSelection(selection);
  const home = await installPackage(folder);
  for (const runtime of chosen) total[await runIn(runtime, home, selection)] += 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`runtimes: ${total.passed} passed, ${total.failed} failed, ${total.absent} could not be had`);
process.exitCode = total.failed === 0 && total.passed > 0 ? 0 : 1;
