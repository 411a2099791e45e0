import type { Contender } from "./contenders.ts";
import * as contenders from "./contenders.ts";
import { type Goal, reportGoals } from "./goals.ts";
import { bytesPerRun, timeAll } from "./measure.ts";
import { describeMachine, Figures, printFigures, type Yardstick } from "./report.ts";
import type { Run, Scenarios } from "./scenarios.ts";
import { CALLS_PER_RUN, READS_PER_RUN } from "./scenarios.ts";

interface Column {
  readonly name: string;
  readonly scenario: keyof Scenarios;
  readonly sizes: readonly number[];
}
interface Competitor {
  readonly name: string;
  /** Makes what is measured in one cell of a table. */
  readonly createRun: (column: Column) => Promise<Run>;
}

const SIZES: readonly number[] = [0, 1, 4, 16, 64];
const SIZE_NAMES: readonly string[] = SIZES.map(String);
const MIXED_SIZES: readonly number[] = [0, 1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 40, 48, 56, 64];
const OURS: readonly string[] = [contenders.ours.name, contenders.oursTracked.name];
const FLOOR: Yardstick = { name: "floor", rows: [contenders.floor.name] };
const EFFECT: Yardstick = { name: "faster Effect", rows: [contenders.effect.name, contenders.effectAdd.name] };
const MAP: Yardstick = { name: "Map", rows: [contenders.nativeMap.name] };

const CALLS: readonly Column[] = [
  ...SIZES.map((size): Column => ({ name: String(size), scenario: "call", sizes: [size] })),
  { name: "mixed", scenario: "call", sizes: MIXED_SIZES },
  { name: "nested, 4", scenario: "nested", sizes: [4] },
  { name: "filled, 4", scenario: "filled", sizes: [4] },
];
const READS: readonly Column[] = [
  { name: "get at 4", scenario: "read", sizes: [4] },
  { name: "of a first child", scenario: "readFirstChild", sizes: [4] },
];
const BYTES: readonly Column[] = [
  ...SIZES.map((size): Column => ({ name: String(size), scenario: "bind", sizes: [size] })),
  { name: "empty map", scenario: "empty", sizes: [] },
];

const competitors: readonly Competitor[] = [
  compete(contenders.floor),
  compete(contenders.ours),
  compete(contenders.oursTracked),
  compete(contenders.effect),
  compete(contenders.effectAdd),
  compete(contenders.nativeMap),
  compete(contenders.immutable),
  compete(contenders.openTelemetry),
  compete(contenders.connect),
  compete(contenders.angular),
];

function compete<Key, Instance>(contender: Contender<Key, Instance>): Competitor {
  const createRun = async ({ name: column, scenario, sizes }: Column): Promise<Run> => {
    const query = new URLSearchParams({ contender: contender.name, column });
    const module: typeof import("./scenarios.ts") = await import(`./scenarios.ts?${query}`);
    return module.createScenarios(contender)[scenario](sizes);
  };
  return { name: contender.name, createRun };
}

async function createRuns(columns: readonly Column[]): Promise<ReadonlyMap<string, Run>> {
  const runs = new Map<string, Run>();
  for (const column of columns) {
    for (const { name, createRun } of competitors) runs.set(Figures.key(name, column.name), await createRun(column));
  }
  return runs;
}

function print(title: string, figures: Figures, columns: readonly Column[], yardsticks: readonly Yardstick[]): void {
  const names = { all: competitors.map(({ name }) => name), ours: OURS, yardsticks };
  printFigures(
    title,
    figures,
    columns.map(({ name }) => name),
    names,
  );
}

/** The worst of both ways to build and read, against the bounds of the design. */
function goalsOf(calls: Figures, reads: Figures, bytes: Figures): readonly Goal[] {
  const worst = (values: (row: string) => readonly number[]): number => Math.max(...OURS.flatMap(values));
  const callTo = (yardstick: Yardstick, sizes: readonly string[]): number =>
    worst((row) => calls.ratios(row, yardstick.rows, sizes));
  const measured = [...SIZE_NAMES, "mixed"];
  return [
    { name: "call ÷ Effect, any size", value: callTo(EFFECT, measured), bound: 0.5 },
    { name: "call ÷ floor, any size", value: callTo(FLOOR, measured), bound: 4 },
    { name: "call ÷ Map copy, 4 entries", value: callTo(MAP, ["4"]), bound: 0.15 },
    { name: "call ÷ Map copy, 16 entries", value: callTo(MAP, ["16"]), bound: 0.05 },
    {
      name: "call, 64 entries ÷ 1 entry",
      value: worst((row) => [calls.get(row, "64") / calls.get(row, "1")]),
      bound: 2,
    },
    {
      name: "bytes a call, any size",
      value: worst((row) => SIZE_NAMES.map((size) => bytes.get(row, size))),
      bound: 72,
    },
    { name: "bytes of an empty map", value: worst((row) => [bytes.get(row, "empty map")]), bound: 72 },
    {
      name: "get ÷ Map.get, 4 entries",
      value: worst((row) => reads.ratios(row, MAP.rows, ["get at 4"])),
      bound: 1.6,
    },
  ];
}

console.log(describeMachine());
const times = await timeAll(await createRuns([...CALLS, ...READS]));
const calls = new Figures(times, CALLS_PER_RUN);
print("ns a call", calls, CALLS, [EFFECT, FLOOR, MAP]);

const reads = new Figures(times, READS_PER_RUN);
print("ns a read", reads, READS, [MAP, EFFECT]);

const byteRuns = await createRuns(BYTES);
const bytes = new Figures(new Map([...byteRuns].map(([name, run]) => [name, bytesPerRun(run)])));
print("bytes", bytes, BYTES, [EFFECT, FLOOR, MAP]);

reportGoals(goalsOf(calls, reads, bytes));
console.log(`\n${describeMachine()}`);
