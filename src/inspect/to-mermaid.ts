import type { RunEvent } from "../index.ts";
import { statusText } from "./node-text.ts";
import { toDuration, toPlainText } from "./plain-text.ts";
import { readEvents } from "./read-events.ts";
import { TimeAxis } from "./time-axis.ts";
import {
  durationOf,
  type NodeStatus,
  pausesOf,
  placedNodes,
  type RunNode,
  type RunTree,
  type TreeNode,
} from "./tree-node.ts";

/** Mermaid refuses a text of 50,000 characters. */
const MAX_LENGTH = 48_000;
/** The gantt grammar's own characters, those of directives and comments, and what a page could read as markup. */
const GRAMMAR = /[^\p{L}\p{M}\p{N} _./()·…‖✓✗├└-]/gu;
const MARKS: Readonly<Record<NodeStatus, string>> = { completed: "✓", failed: "✗", paused: "‖", open: "…" };

/**
 * Renders the runs and calls of the events as a Mermaid gantt chart, for Markdown that draws one, such as GitHub's: a section for
 * each agent's run, a bar for each question and call. Long pauses are drawn short; a chart that Mermaid would refuse for its length
 * is cut and says so. Shows no value, input, output or message. Takes what {@link renderTree} takes.
 *
 * @example
 * ```ts
 * import { type ToolEvent, ToolSet } from "tool-call-extensions";
 * import { toMermaid } from "tool-call-extensions/inspect";
 * import { recordingTool } from "tool-call-extensions/testing";
 *
 * const events: ToolEvent[] = [];
 * const tools = new ToolSet([recordingTool({ name: "lookup" })]);
 * await tools.call("lookup", {}, { listener: (event) => events.push(event) });
 * const chart = toMermaid(events);
 * if (!chart.startsWith("gantt\n") || !/✓ lookup [^:]*:done, /.test(chart)) throw new Error(chart);
 * ```
 */
export function toMermaid(events: readonly RunEvent[]): string {
  const tree = readEvents(events);
  const axis = new TimeAxis(tree);
  const lines = [
    "gantt",
    `  title ${titleOf(tree)}`,
    "  dateFormat YYYY-MM-DD HH:mm:ss.SSS",
    `  axisFormat ${axis.drawnMs < 60_000 ? "%S.%L" : "%H:%M:%S"}`,
    "  todayMarker off",
  ];
  const sections = new Sections();
  let [length, left] = [0, 0];
  for (const { node } of placedNodes(tree.roots)) {
    const text = [...sections.enter(node), ...toLines(node, tree, axis, sections.depth)].join("\n");
    if (text === "") continue;
    length += text.length + 1;
    if (length > MAX_LENGTH) left += 1;
    else lines.push(text);
  }
  if (left > 0) lines.push(`  section … and ${left} more, for which Mermaid has no room`);
  return `${lines.join("\n")}\n`;
}

/** Gives each run a section, and another one where it goes on after a run inside it: Mermaid joins those of one name. */
class Sections {
  readonly #open: RunNode[] = [];
  readonly #uses = new Map<string, number>();
  #current: RunNode | undefined;

  /** The depth of the run that the section is of. */
  get depth(): number {
    return this.#open.at(-1)?.depth ?? -1;
  }

  enter(node: TreeNode): readonly string[] {
    while (this.depth >= node.depth) this.#open.pop();
    if (node.kind === "run") this.#open.push(node);
    const run = this.#open.at(-1);
    if (run === undefined || run === this.#current) return [];
    this.#current = run;
    const name = toLabel(run.status === "completed" ? run.name : `${run.name} ${statusText(run)}`);
    const uses = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, uses);
    return [`  section ${name}${uses > 1 ? ` · ${uses}` : ""}`];
  }
}

function titleOf({ roots }: RunTree): string {
  const [first, ...others] = roots;
  if (first === undefined) return "No events";
  return `${toLabel(first.name)} ${others.length > 0 ? `and ${others.length} more` : toLabel(statusText(first))}`;
}

/** A run has no bars but its pauses: what is in its section shows how long it took. */
function toLines(node: TreeNode, { lastAt }: RunTree, axis: TimeAxis, runDepth: number): readonly string[] {
  const bars =
    node.kind === "run"
      ? pausesOf(node)
      : node.spans.filter(({ start, end }, i) => i + 1 === node.spans.length || start !== end);
  const label = node.kind === "run" ? "" : labelOf(node, "└ ".repeat(Math.min(node.depth - runDepth - 1, 4)), lastAt);
  return bars.map(({ start, end = lastAt }) => {
    const text = node.kind === "run" ? `‖ ${toLabel(node.name)} paused for ${toDuration(end - start)}` : label;
    const [from, to] = [start, end].map((at) => Math.round(axis.position(at) * axis.drawnMs));
    return `  ${text} :${tagOf(node)}, ${toDate(from ?? 0)}, ${toDate(Math.max((from ?? 0) + 1, to ?? 0))}`;
  });
}

function labelOf(node: TreeNode, indent: string, lastAt: number): string {
  const attempts = node.kind === "call" && node.attempts > 1 ? ` · ${node.attempts} attempts` : "";
  const end = node.status === "completed" ? "" : ` · ${toLabel(statusText(node))}`;
  const sees =
    node.kind === "call" && node.tokenIds.length > 0 ? ` · sees ${node.tokenIds.map(toLabel).join(" ")}` : "";
  const model = node.kind === "model" ? " model" : "";
  const duration = toDuration(durationOf(node, lastAt));
  return `${MARKS[node.status]} ${indent}${toLabel(node.name)}${model} · ${duration}${attempts}${end}${sees}`;
}

/** Leaves what no rule of the grammar begins with; a task's mark keeps its name from being a keyword. */
function toLabel(text: string): string {
  return toPlainText(text).replaceAll(GRAMMAR, "_");
}

function tagOf({ kind, status }: TreeNode): string {
  if (kind === "run") return "active";
  if (status === "failed") return "crit";
  return kind === "model" || status !== "completed" ? "active" : "done";
}

/** Counted from a midnight, so that the axis shows what passed; without a zone, so that it does so in every one. */
function toDate(ms: number): string {
  return new Date(Date.UTC(2000, 0, 1) + ms).toISOString().slice(0, -1).replace("T", " ");
}
