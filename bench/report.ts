import { cpus, loadavg } from "node:os";

/** Measured values: a row for each contender, a column for each scenario. */
export class Figures {
  readonly #cells: ReadonlyMap<string, number>;

  constructor(cells: ReadonlyMap<string, number>, operationsPerRun = 1) {
    this.#cells = new Map([...cells].map(([key, value]) => [key, value / operationsPerRun]));
  }

  static key(row: string, column: string): string {
    return `${row} / ${column}`;
  }

  get(row: string, column: string): number {
    return this.#cells.get(Figures.key(row, column)) ?? Number.NaN;
  }

  /** The quotients of one row and the least of others, column by column. */
  ratios(row: string, peers: readonly string[], columns: readonly string[]): readonly number[] {
    return columns.map((column) => this.get(row, column) / Math.min(...peers.map((peer) => this.get(peer, column))));
  }
}

/** What to divide by: a name, and the rows of which the least counts. */
export interface Yardstick {
  readonly name: string;
  readonly rows: readonly string[];
}

export function describeMachine(): string {
  const load = loadavg().map((average) => average.toFixed(2));
  const { node, v8 } = process.versions;
  return `${cpus().length} × ${cpus()[0]?.model.trim()}, Node ${node} (V8 ${v8}), ${process.platform}, load ${load.join(" ")}`;
}

export function printTable(title: string, columns: readonly string[], rows: readonly (readonly string[])[]): void {
  console.log(`\n| ${[title, ...columns].join(" | ")} |\n|---|${"--:|".repeat(columns.length)}`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
}

/** Prints the values, then the quotients of each of `ours` and each yardstick. */
export function printFigures(
  title: string,
  figures: Figures,
  columns: readonly string[],
  names: {
    readonly all: readonly string[];
    readonly ours: readonly string[];
    readonly yardsticks: readonly Yardstick[];
  },
): void {
  const values = names.all.map((row) => [row, ...columns.map((column) => format(figures.get(row, column)))]);
  const ratios = names.ours.flatMap((row) =>
    names.yardsticks.map(({ name, rows }) => [`${row} ÷ ${name}`, ...figures.ratios(row, rows, columns).map(format)]),
  );
  printTable(title, columns, [...values, ...ratios]);
}

export function format(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 5 ? value.toFixed(1) : value.toFixed(2);
}
