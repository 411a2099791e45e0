import { mkdirSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { Coverage } from "./coverage.ts";
import { fuzz } from "./fuzz-loop.ts";
import type * as Targets from "./targets.ts";

// npm run fuzz -- --seconds 600 --seed 7: a minute by default, shared by the targets.

const { values } = parseArgs({ options: { seconds: { type: "string" }, seed: { type: "string" } } });
const seconds = Number(values.seconds ?? 60);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
if (!(seconds > 0) || !Number.isSafeInteger(seed)) throw new Error("--seconds takes a number, --seed a whole number");

const coverage = new Coverage();
// The module that was written to the cache is the one whose type this is.
const { TARGETS } = (await coverage.import(new URL("./targets.ts", import.meta.url))) as typeof Targets;
console.log(`seed ${seed}, ${seconds} seconds`);
for (const target of TARGETS) {
  const end = performance.now() + (seconds * 1_000) / TARGETS.length;
  const { executions, corpus, finding } = await fuzz(target, { seed, coverage, isOver: () => performance.now() > end });
  console.log(
    `${target.name}: ${executions} executions, ${corpus} inputs kept, ${coverage.blocks} blocks reached so far`,
  );
  if (finding === undefined) continue;
  const file = `fuzz-findings/${target.name.replaceAll(" ", "-")}-${seed}.txt`;
  mkdirSync("fuzz-findings", { recursive: true });
  writeFileSync(file, finding.input);
  console.error(`a finding, its input is in ${file}:`, finding.error);
  process.exitCode = 1;
}
