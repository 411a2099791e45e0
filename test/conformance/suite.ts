import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { knownProblems, type Scenario, UNFINISHED } from "./scenarios.ts";

/** The suite needs a newer Node than this project; both stay out of the project's own dependencies. */
const packages = { "@modelcontextprotocol/conformance": "0.2.0-alpha.12", node: "22.23.3" };

const folder = fileURLToPath(new URL("../../node_modules/.cache/conformance", import.meta.url));
const suite = join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
const newerNode = join(folder, "node_modules/node/bin/node");
const client = fileURLToPath(new URL("./client.ts", import.meta.url));

/** Installs what is not there yet. Gives why it cannot be had, or `undefined` when it is there. */
export function installSuite(): string | undefined {
  const manifest = JSON.stringify({ private: true, dependencies: packages });
  const path = join(folder, "package.json");
  const isCurrent = existsSync(path) && readFileSync(path, "utf8") === manifest;
  if (isCurrent && existsSync(suite) && existsSync(newerNode)) return undefined;
  mkdirSync(folder, { recursive: true });
  writeFileSync(path, manifest);
  const options = { cwd: folder, encoding: "utf8", timeout: 300_000 } as const;
  const npm = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], options);
  if (npm.status !== 0) return `npm cannot install it: ${npm.error?.message ?? npm.stderr.split("\n", 4).join("\n")}`;
  const node = spawnSync(newerNode, ["--version"], options);
  return node.status === 0 ? undefined : `its Node does not start: ${node.error?.message ?? node.stderr.trim()}`;
}

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly description: string;
  readonly errorMessage?: string;
}

export interface Verdict {
  readonly passed: number;
  /** Empty where the scenario passed, but for what is known. */
  readonly problems: readonly string[];
  /** Why what else failed is not this library's fault. */
  readonly known: readonly string[];
}

/** Runs one scenario against the client of this library, or against the server at `url`. */
export async function judge(scenario: Scenario, url: string | undefined): Promise<Verdict> {
  const results = mkdtempSync(join(tmpdir(), "conformance-"));
  try {
    // The suite hands the command to a shell.
    const command = [process.execPath, "--import", "tsx", client, scenario.generation].map(quoted).join(" ");
    const target = url === undefined ? ["--command", command] : ["--url", url];
    const { name, side, revision } = scenario;
    const run = await runSuite([side, "--scenario", name, "--spec-version", revision, "-o", results, ...target]);
    const checks = readChecks(results);
    return verdict(scenario, countPassed(checks), problemsOf(checks, run));
  } finally {
    rmSync(results, { recursive: true });
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

interface SuiteRun {
  readonly status: number | null;
  readonly report: string;
}

function runSuite(args: readonly string[]): Promise<SuiteRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(newerNode, [suite, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let report = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        report += text;
      });
    }
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, report }));
  });
}

/** The suite makes a folder for each run inside the one that it is given. */
function readChecks(results: string): readonly Check[] {
  const files = readdirSync(results).map((run) => join(results, run, "checks.json"));
  return files.filter((file) => existsSync(file)).flatMap((file): Check[] => JSON.parse(readFileSync(file, "utf8")));
}

/** A scenario that checked nothing has not passed: the suite leaves out what it thinks does not apply. */
function problemsOf(checks: readonly Check[], { status, report }: SuiteRun): readonly string[] {
  const failed = checks.filter((check) => check.status === "FAILURE" || check.status === "WARNING");
  const unfinished = report.split("\n").filter((line) => line.startsWith(UNFINISHED));
  const problems = [
    ...failed.map(({ id, description, errorMessage = description }) => `${id}: ${errorMessage}`),
    ...unfinished,
  ];
  const isSilent = problems.length === 0 && (status !== 0 || countPassed(checks) === 0);
  return isSilent ? [`the suite ended with ${status}:\n${report}`] : problems;
}

function countPassed(checks: readonly Check[]): number {
  return checks.filter((check) => check.status === "SUCCESS").length;
}

/** A known problem that is gone is a problem of its own: the list would hide it when it comes back. */
function verdict({ name }: Scenario, passed: number, problems: readonly string[]): Verdict {
  const listed = knownProblems.filter(({ scenario }) => scenario === name);
  const beginnings = listed.flatMap((known) => known.problems);
  const unknown = problems.filter((problem) => !beginnings.some((beginning) => problem.startsWith(beginning)));
  const gone = beginnings.filter((beginning) => !problems.some((problem) => problem.startsWith(beginning)));
  const stale = gone.map((beginning) => `passes now, so take it off the list of known problems: ${beginning}`);
  return { passed, problems: [...unknown, ...stale], known: listed.map(({ reason }) => reason) };
}
