import { format, printTable } from "./report.ts";

/** One figure and the bound it should keep. */
export interface Goal {
  readonly name: string;
  readonly value: number;
  readonly bound: number;
}

export function holds({ value, bound }: Goal): boolean {
  return value <= bound;
}

export function printGoals(title: string, goals: readonly Goal[]): void {
  const rows = goals.map((goal) => [
    goal.name,
    format(goal.value),
    `≤ ${goal.bound}`,
    holds(goal) ? "holds" : "MISSED",
  ]);
  printTable(title, ["measured", "bound", ""], rows);
}

/** Prints the goals of one question and, where `run.ts` asked it, hands them over for the summary. */
export function reportGoals(goals: readonly Goal[]): void {
  printGoals("goal", goals);
  process.send?.(goals);
}

/** Receives the goals in the summary's process. */
export function isGoals(message: unknown): message is readonly Goal[] {
  return Array.isArray(message) && message.every((goal) => typeof goal?.name === "string");
}
