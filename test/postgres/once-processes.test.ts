import pg from "pg";
import { postgresOnceStore } from "tool-call-extensions/postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { invocationKey } from "../../src/invocation/invocation-key.ts";
import type { WorkOrder } from "./claim-worker.ts";
import { noServerReason, type PostgresServer, startPostgres } from "./server.ts";
import { WorkerProcess } from "./worker-process.ts";

const KEYS = 50;
const PROCESSES = 4;
const KILLS = 4;

interface StoredRow {
  readonly key: string;
  readonly fence: number;
  readonly outcome: string | null;
  readonly runs: number;
  /** Executions that began after the outcome was stored. */
  readonly late: number;
  readonly executions: readonly string[];
}

const STORED = `
  SELECT o.key, o.fence, o.outcome, count(e.id)::integer AS runs, array_agg(e.id) AS executions,
    count(e.id) FILTER (WHERE e.started_at > o.completed_at)::integer AS late
  FROM tool_call_once o JOIN executions e USING (key) WHERE o.key = ANY ($1) GROUP BY o.key`;

const keysOf = (session: string): readonly string[] =>
  Array.from({ length: KEYS }, (_, index) => invocationKey(session, `call-${index}`));

if (noServerReason !== undefined) console.warn(`Skipped: test/postgres. ${noServerReason}`);

it.runIf(process.env["CI"])("there is a server where CI is set", () => {
  expect(noServerReason).toBeUndefined();
});

describe.skipIf(noServerReason !== undefined)("once on PostgreSQL, from several processes", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  const all: WorkerProcess[] = [];

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url, max: 4 });
    await postgresOnceStore(pool).createTable();
    await pool.query("CREATE TABLE executions (key text, id text, started_at timestamptz)");
    startWorkers(PROCESSES);
    await Promise.all(all.map(({ isReady }) => isReady));
  }, 60_000);

  afterAll(async () => {
    await Promise.all(all.map((worker) => worker.end()));
    await pool?.end();
    await server?.stop();
  }, 30_000);

  function startWorkers(count: number): void {
    for (let index = 0; index < count; index++) all.push(new WorkerProcess(server.url));
  }

  async function storedOf(session: string): Promise<readonly StoredRow[]> {
    return (await pool.query<StoredRow>(STORED, [keysOf(session)])).rows;
  }

  /** Every outcome that any process was given is the stored one. */
  function expectStored(session: string, rows: readonly StoredRow[], workers: readonly WorkerProcess[]): void {
    const outcomes = new Map(rows.map(({ key, outcome }) => [key, outcome]));
    for (const { key, outcome } of workers.flatMap(({ ended }) => ended)) {
      const { output } = JSON.parse(outcomes.get(invocationKey(session, `call-${key}`)) ?? "{}");
      expect(outcome).toEqual({ status: "completed", output });
    }
  }

  it.each([
    { claims: 200, claimsPerKey: 1 },
    { claims: 800, claimsPerKey: 4 },
  ])(
    "$claims concurrent claims of 50 keys from 4 processes give 50 executions and $claims equal outcomes",
    async ({ claims, claimsPerKey }) => {
      const workers = all.slice(0, PROCESSES);
      const order = { ...orderOf(`claims-${claims}`), claimsPerKey, concurrency: KEYS * claimsPerKey, leaseMs: 10_000 };
      await Promise.all(workers.map((worker) => worker.work(order)));
      const rows = await storedOf(order.session);
      expect(rows.map(({ runs }) => runs)).toEqual(Array.from({ length: KEYS }, () => 1));
      expect(workers.flatMap(({ ended }) => ended)).toHaveLength(claims);
      expectStored(order.session, rows, workers);
    },
  );

  it(`loses nothing, and runs nothing again that was stored, when a process is killed (${KILLS} times)`, async () => {
    let takenOver = 0;
    startWorkers(KILLS);
    for (let kill = 0; kill < KILLS; kill++) {
      const [victim, ...others] = all.slice(kill, kill + PROCESSES);
      if (victim === undefined) throw new Error("no process to kill");
      await Promise.all(others.map(({ isReady }) => isReady));
      takenOver += await killedDuring(orderOf(`kill-${kill}`), victim, others);
    }
    expect(takenOver, "claims whose holder was killed").toBeGreaterThan(0);
  });

  /** Kills one of the processes at a random point of its work; gives the number of claims that others took over. */
  async function killedDuring(order: WorkOrder, victim: WorkerProcess, others: WorkerProcess[]): Promise<number> {
    const starts = 1 + Math.floor(Math.random() * 8);
    const isDue = victim.next((line) => line.type === "started" && victim.started.length >= starts);
    victim.give(order);
    const done = Promise.all(others.map((worker) => worker.work(order)));
    await isDue;
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 25));
    await victim.end();
    await done;

    const rows = await storedOf(order.session);
    expect(rows).toHaveLength(KEYS);
    expect(others.flatMap(({ ended }) => ended)).toHaveLength(KEYS * others.length);
    expectStored(order.session, rows, [victim, ...others]);
    expect(rows.filter(({ late }) => late > 0)).toEqual([]);
    // Only what the killed process had begun and not stored ran a second time.
    const begun = new Set(victim.started.map(({ execution }) => execution));
    for (const { runs, executions, outcome } of rows.filter((row) => row.runs > 1)) {
      expect(runs).toBe(2);
      expect(executions.filter((execution) => begun.has(execution))).toHaveLength(1);
      expect(begun.has(JSON.parse(outcome ?? "{}").output.execution)).toBe(false);
    }
    return rows.filter(({ fence }) => fence > 1).length;
  }

  it("gives a process that slept through its leases the outcomes of those who took over", async () => {
    const [sleeper, ...others] = all.slice(KILLS);
    if (sleeper === undefined) throw new Error("no process");
    const order = orderOf("sleep");
    const isBusy = sleeper.next((line) => line.type === "started" && sleeper.started.length >= 4);
    const asleep = sleeper.work(order);
    const done = Promise.all(others.map((worker) => worker.work(order)));
    await isBusy;
    sleeper.signal("SIGSTOP");
    await done;
    sleeper.signal("SIGCONT");
    await asleep;
    const rows = await storedOf(order.session);
    expect(rows).toHaveLength(KEYS);
    expect(sleeper.ended).toHaveLength(KEYS);
    expectStored(order.session, rows, [sleeper, ...others]);
    expect(rows.filter(({ fence }) => fence > 1).length, "claims taken over").toBeGreaterThan(0);
  });
});

/** Few at once, so that a process holds some claims and has some before it. The lease allows for a busy machine. */
function orderOf(session: string): WorkOrder {
  return { session, keys: KEYS, claimsPerKey: 1, concurrency: 8, leaseMs: 1_500, toolMs: 20 };
}
