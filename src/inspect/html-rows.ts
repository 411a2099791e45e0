import { isWaiting, placeText, runText, statusText, type Totals } from "./node-text.ts";
import { toDuration, toPlainText } from "./plain-text.ts";
import type { TimeAxis } from "./time-axis.ts";
import { type CallNode, durationOf, type RunTree, type TreeNode } from "./tree-node.ts";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const GLYPHS: Readonly<Record<TreeNode["status"], string>> = { completed: "✓", failed: "✗", paused: "‖", open: "…" };
/** Deeper rows are not moved further in, and say how deep they are. */
const MAX_INDENT = 12;

/** Writes a text of anybody's into the page, as content or inside a quoted attribute. */
export function toHtmlText(text: string): string {
  return toPlainText(text).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

export function toPercent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`;
}

/** What every row is drawn from. */
export interface RunView {
  readonly tree: RunTree;
  readonly axis: TimeAxis;
  readonly totals: ReadonlyMap<TreeNode, Totals>;
}

/** Writes one row: what ran, when, and on request all that is known of it. */
export function toRow(node: TreeNode, view: RunView): string {
  const { kind, status, depth } = node;
  const level = Math.min(depth, MAX_INDENT);
  const deep = depth > level ? ` <small>depth ${depth}</small>` : "";
  return [
    `<details class="row ${kind} ${status}"><summary style="--depth:${level}">`,
    `<span class="name"><i role="img" aria-label="${toHtmlText(statusText(node))}">${GLYPHS[status]}</i>`,
    `<span class="what">${what(node)}${deep}</span></span>`,
    `<span class="track">${bars(node, view)}</span>`,
    `<span class="took">${isWaiting(node) ? "waits" : toDuration(durationOf(node, view.tree.lastAt))}</span></summary>`,
    `<dl>${facts(node, view)}</dl></details>`,
  ].join("");
}

function what(node: TreeNode): string {
  const name = `<b>${toHtmlText(node.name)}</b>`;
  if (node.kind === "model") return `${name} <small>model</small>`;
  const end = node.status === "completed" ? "" : ` <em>${toHtmlText(statusText(node))}</em>`;
  if (node.kind === "run") return `${name} <small>agent</small>${end}`;
  const attempts = node.attempts > 1 ? ` <small class="again">${node.attempts} attempts</small>` : "";
  const sees =
    node.tokenIds.length > 0 ? `<span class="sees">sees ${node.tokenIds.map(toHtmlText).join(" · ")}</span>` : "";
  return `${name}${attempts}${end}${sees}`;
}

function bars(node: TreeNode, { tree: { lastAt }, axis }: RunView): string {
  const { spans } = node;
  const retries = node.kind === "call" ? node.retriedAt.map((at) => place("retry", axis.position(at))) : [];
  return spans
    .map(({ start, end }, index) => {
      const from = axis.position(start);
      const bar = place(end === undefined ? "bar unended" : "bar", from, axis.position(Math.max(start, end ?? lastAt)));
      const before = index === 0 ? undefined : spans[index - 1]?.end;
      return before === undefined ? bar : place("wait", axis.position(before), from) + bar;
    })
    .concat(retries)
    .join("");
}

function place(className: string, from: number, to = from): string {
  const width = Math.max(0, to - from);
  return `<span class="${className}" style="left:min(${toPercent(from)},100% - 3px);width:${toPercent(width)}"></span>`;
}

function facts(node: TreeNode, { tree, totals }: RunView): string {
  const first = node.spans[0]?.start ?? tree.lastAt;
  const start = tree.roots[0]?.spans[0]?.start ?? first;
  const rows = [
    ["Status", statusText(node)],
    ...(node.kind === "call" ? callFacts(node) : []),
    ...(node.kind === "run"
      ? [
          ["Run", node.runId],
          ["In all", runText(node, totals.get(node), tree.lastAt)],
        ]
      : []),
    ["Began", `${toDuration(Math.max(0, first - start))} after the first`],
    ["Took", toDuration(durationOf(node, tree.lastAt))],
  ];
  return rows.map(([term = "", text = ""]) => `<dt>${term}<dd>${toHtmlText(text)}`).join("");
}

function callFacts(node: CallNode): readonly (readonly string[])[] {
  const { facts: known, progress, tokenIds } = node;
  return [
    ["Id", known.toolCallId],
    ["Key", known.invocationKey ?? "none"],
    ["Parent", known.parentId ?? "none"],
    ["Run", known.runId],
    ["Place", placeText(known)],
    ["Attempts", attemptsText(node)],
    ...(progress > 0 ? [["Progress", `${progress} steps`]] : []),
    ...(known.isRemote ? [["Identity", "as another process says"]] : []),
    ["Sees", tokenIds.join(", ") || "none"],
  ];
}

/** An attempt whose beginning was not seen is counted only. */
function attemptsText({ attempts, retriedAt, spans }: CallNode): string {
  const first = spans[0]?.start ?? 0;
  const starts = retriedAt.map((at) => toDuration(Math.max(0, at - first))).join(" and ");
  return starts === "" ? String(attempts) : `${attempts}, again after ${starts}`;
}
