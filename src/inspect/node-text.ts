import { toCount, toDuration, toPlainText } from "./plain-text.ts";
import { type CallNode, durationOf, pausesOf, placedNodes, type RunNode, type TreeNode } from "./tree-node.ts";

/** Says in words what became of a run, a question or a call. */
export function statusText({ kind, status, reason }: TreeNode): string {
  if (status === "paused") return kind === "run" ? "paused" : "waiting";
  return reason === undefined ? status : `${status} (${toPlainText(reason)})`;
}

/** A call that waits for approval, in contrast to one whose sub-agent waits, has not begun. */
export function isWaiting(node: TreeNode): boolean {
  return node.kind === "call" && node.status === "paused" && node.facts.place === undefined;
}

/** Says where in its agent's run a call was made. */
export function placeText({ agentName, place }: CallNode["facts"]): string {
  const who = agentName === undefined ? "" : `${toPlainText(agentName)} `;
  if (place === undefined) return `${who}not begun`;
  return `${who}turn ${place.turn}, call ${place.index + 1} of ${place.batchSize}`;
}

/** What is inside one node, sub-agents' runs and the node itself included. */
export interface Totals {
  readonly calls: number;
  readonly failed: number;
  readonly turns: number;
  readonly modelMs: number;
  /** The names of the first calls that wait for approval. */
  readonly waiting: readonly string[];
}

const MAX_WAITING = 4;

/** Counts each node once, from the innermost outwards: counted for each by itself, a deep tree would take its depth squared. */
export function totalsOf(roots: readonly TreeNode[], lastAt: number): ReadonlyMap<TreeNode, Totals> {
  const totals = new Map<TreeNode, Totals>();
  for (const { node } of [...placedNodes(roots)].reverse()) {
    const inside = node.children.flatMap((child) => totals.get(child) ?? []);
    totals.set(node, sumOf([ownTotals(node, lastAt), ...inside]));
  }
  return totals;
}

function ownTotals(node: TreeNode, lastAt: number): Totals {
  const { kind, status, name } = node;
  return {
    calls: kind === "call" ? 1 : 0,
    failed: kind === "call" && status === "failed" ? 1 : 0,
    turns: kind === "model" ? 1 : 0,
    modelMs: kind === "model" ? durationOf(node, lastAt) : 0,
    waiting: isWaiting(node) ? [toPlainText(name)] : [],
  };
}

export function sumOf(all: readonly Totals[]): Totals {
  const names: string[] = [];
  const sum = { calls: 0, failed: 0, turns: 0, modelMs: 0, waiting: names };
  for (const { calls, failed, turns, modelMs, waiting } of all) {
    sum.calls += calls;
    sum.failed += failed;
    sum.turns += turns;
    sum.modelMs += modelMs;
    names.push(...waiting.slice(0, MAX_WAITING - names.length));
  }
  return sum;
}

export function usageText(usage: RunNode["usage"]): string | undefined {
  const { inputTokens, outputTokens } = usage ?? {};
  if (!Number.isFinite(inputTokens) || !Number.isFinite(outputTokens)) return undefined;
  return `${inputTokens} in, ${outputTokens} out`;
}

/** Sums a run up, after its status. */
export function runText(run: RunNode, totals: Totals | undefined, lastAt: number): string {
  const { calls, failed, turns, waiting } = totals ?? sumOf([]);
  const waitedMs = waitedMsOf([run]);
  const usage = usageText(run.usage);
  return [
    `in ${toDuration(durationOf(run, lastAt))}`,
    ...(waitedMs > 0 ? [`paused for ${toDuration(waitedMs)}`] : []),
    toCount(turns, "turn"),
    failed === 0 ? toCount(calls, "call") : `${toCount(calls, "call")}, ${failed} failed`,
    ...(waiting.length > 0 ? [`waits for approval of ${waiting.join(", ")}`] : []),
    ...(usage === undefined ? [] : [`tokens ${usage}`]),
  ].join(" · ");
}

/** What lay between the nodes' spans. */
export function waitedMsOf(nodes: readonly TreeNode[]): number {
  return nodes.flatMap(pausesOf).reduce((total, { start, end = start }) => total + Math.max(0, end - start), 0);
}
