import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { do_not_optimize, measure } from "mitata";
import type { Run } from "./scenarios.ts";

const { ROUNDS = "12" } = process.env;
const CPU_TIME_NS = 15e6;
const RUNS_PER_SAMPLE = 256;
const BYTE_COUNT = 32;
const BYTE_ROUNDS = 15;
const TRAINING_LAPS = 50;
const TRAINING_RUNS = 100;

// V8 moves what an object literal makes to the old space once it has seen some of it survive, but never what a class
// makes: the floor and Effect were twice as slow in some runs, and we were not.
setFlagsFromString("--no-allocation-site-pretenuring");
// A flag at run time instead of on the command line, so that plain `tsx` is enough.
setFlagsFromString("--expose-gc");
const gc: unknown = runInNewContext("gc");
export const collectGarbage = (): void => {
  if (typeof gc === "function") gc();
};

/**
 * Times all of them in turn, several rounds, and gives the least median of each in ns a run.
 *
 * Everything runs before the first round counts: a function that has seen one kind of instance is faster than it will be
 * in a program. And in turns: whatever ran first was compiled before its callees were warm, and stayed slow in every third
 * process.
 */
export async function timeAll(runs: ReadonlyMap<string, Run>): Promise<ReadonlyMap<string, number>> {
  for (let lap = 0; lap < TRAINING_LAPS; lap++) {
    for (const run of runs.values()) repeat(run, TRAINING_RUNS);
  }
  const best = new Map<string, number>();
  for (let round = 0; round < Number(ROUNDS); round++) {
    collectGarbage();
    for (const [name, run] of runs) {
      const { p50 } = await measure(run, {
        min_cpu_time: CPU_TIME_NS,
        batch_samples: RUNS_PER_SAMPLE,
        gc: false,
      });
      best.set(name, Math.min(p50, best.get(name) ?? Number.POSITIVE_INFINITY));
    }
  }
  return best;
}

/** Gives what one call allocates, garbage included: the heap's growth over few enough calls that none is collected. */
export function bytesPerRun(run: Run): number {
  repeat(run, TRAINING_LAPS * TRAINING_RUNS);
  return (heapGrowth(run) - heapGrowth(() => undefined)) / BYTE_COUNT;
}

/** The least of several rounds: a compiler thread may allocate too. */
function heapGrowth(run: Run): number {
  const growths = Array.from({ length: BYTE_ROUNDS }, () => {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    repeat(run, BYTE_COUNT);
    return process.memoryUsage().heapUsed - before;
  });
  return Math.min(...growths);
}

export type AsyncRun = () => Promise<unknown>;

/**
 * Times asynchronous work in turn, several rounds, and gives the median of each in µs of processor time a run.
 *
 * Every run is awaited before the next begins. One round goes ahead, for the compiler. No garbage is collected in between:
 * a full collection throws compiled code away, and what follows it is five times as slow for as long as a round takes.
 */
export async function timeAsync(
  runs: ReadonlyMap<string, AsyncRun>,
  rounds: number,
  runsPerRound: number,
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number[]>([...runs.keys()].map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of runs) {
      const start = cpuTimeUs();
      for (let count = 0; count < runsPerRound; count++) do_not_optimize(await run());
      if (round > 0) times.get(name)?.push((cpuTimeUs() - start) / runsPerRound);
    }
  }
  return new Map([...times].map(([name, values]) => [name, median(values)]));
}

/** Of the process, garbage collection included: the clock on the wall also counts what others do to a shared machine. */
export function cpuTimeUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

function repeat(run: Run, count: number): void {
  for (let index = 0; index < count; index++) run();
}
