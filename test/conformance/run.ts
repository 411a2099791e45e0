import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Generation, type Scenario, scenarios } from "./scenarios.ts";
import { startServer } from "./server.ts";
import { installSuite, judge, type Verdict } from "./suite.ts";

const ISOLATED = "--isolated";
const [mode, ...words] = process.argv.slice(2);

/** Ways into a network of one's own; the second is for who is not root, where the system lets users have one. */
const WAYS = [["--net"], ["--net", "--map-root-user"]];
const LOOPBACK_UP = 'ip link set lo up && exec "$0" "$@"';

/** Gives the way that works on this system, or why none does. */
function findWay(): readonly string[] | string {
  const reasons = new Set<string>();
  for (const way of WAYS) {
    const probe = spawnSync("unshare", [...way, "sh", "-c", LOOPBACK_UP, "true"], { encoding: "utf8" });
    if (probe.status === 0) return way;
    reasons.add(probe.error?.message ?? probe.stderr.trim());
  }
  return `a network namespace cannot be had: ${[...reasons].join("; ")}`;
}

/** The suite's servers listen on all interfaces, so this program runs again where nobody else can reach them. */
function runIsolated(way: readonly string[], only: readonly string[]): void {
  const again = [process.execPath, ...process.execArgv, fileURLToPath(import.meta.url), ISOLATED, ...only];
  const run = spawnSync("unshare", [...way, "sh", "-c", LOOPBACK_UP, ...again], { stdio: "inherit" });
  process.exitCode = run.status ?? 1;
}

const servers = new Map<Generation, Awaited<ReturnType<typeof startServer>>>();

async function urlFor({ side, generation }: Scenario): Promise<string | undefined> {
  if (side === "client") return undefined;
  const server = servers.get(generation) ?? (await startServer(generation));
  servers.set(generation, server);
  return server.url;
}

type Outcome = "passed" | "known" | "failed";

function outcomeOf({ problems, known }: Verdict): Outcome {
  if (problems.length > 0) return "failed";
  return known.length > 0 ? "known" : "passed";
}

function line({ side, name, revision, generation }: Scenario, verdict: Verdict): string {
  const { passed, problems, known } = verdict;
  const words = { passed: `passed ${passed} checks`, known: `passed ${passed} checks, but`, failed: "FAILED" };
  const notes = [...problems, ...known].map((note) => `\n  ${note}`);
  return `${side} ${name} ${revision}, ${generation}: ${words[outcomeOf(verdict)]}${notes.join("")}`;
}

async function runScenarios(chosen: readonly Scenario[]): Promise<void> {
  const total: Record<Outcome | "checks", number> = { passed: 0, known: 0, failed: 0, checks: 0 };
  for (const scenario of chosen) {
    const verdict = await judge(scenario, await urlFor(scenario));
    console.log(line(scenario, verdict));
    total[outcomeOf(verdict)] += 1;
    total.checks += verdict.passed;
  }
  for (const server of servers.values()) await server.close();
  const { passed, known, failed, checks } = total;
  console.log(
    `conformance: ${passed} scenarios passed, ${known} but for a known problem, ${failed} failed; ${checks} checks passed`,
  );
  process.exitCode = failed === 0 && passed + known > 0 ? 0 : 1;
}

if (mode === ISOLATED) {
  await runScenarios(scenarios.filter(({ name }) => words.length === 0 || words.includes(name)));
} else {
  const way = findWay();
  const reason = typeof way === "string" ? way : installSuite();
  if (typeof way === "string" || reason !== undefined) console.log(`conformance: not run, because ${reason}`);
  else runIsolated(way, process.argv.slice(2));
}
