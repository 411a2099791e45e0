import type { RunEvent } from "../index.ts";
import { isWaiting, placeText, runText, statusText, type Totals, totalsOf } from "./node-text.ts";
import { toDuration, toPlainText } from "./plain-text.ts";
import { readEvents } from "./read-events.ts";
import { type CallNode, durationOf, type NodeStatus, placedNodes, type TreeNode } from "./tree-node.ts";

/** How {@link renderTree} writes. */
export interface RenderTreeOptions {
  /** Writes ANSI colours; plain text by default. */
  readonly color?: boolean | undefined;
}

type Paint = (style: keyof typeof STYLES, text: string) => string;

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
const STATUS_STYLES: Readonly<Record<NodeStatus, keyof typeof STYLES>> = {
  completed: "green",
  failed: "red",
  paused: "yellow",
  open: "yellow",
};
/** Deeper than this the lines are not moved further in: each would be as long as the tree is deep. */
const MAX_INDENT = 24;

/**
 * Renders the runs and calls of the events as a tree for a terminal or a log: ids, keys, parents, times and the token ids each call
 * saw. Shows no value, input, output or message. Takes any part of any runs' events, in order, and those of a `ToolSet`'s listener.
 *
 * @example
 * ```ts
 * import { type ToolEvent, ToolSet } from "tool-call-extensions";
 * import { renderTree } from "tool-call-extensions/inspect";
 * import { recordingTool } from "tool-call-extensions/testing";
 *
 * const events: ToolEvent[] = [];
 * const tools = new ToolSet([recordingTool({ name: "lookup" })]);
 * await tools.call("lookup", {}, { toolCallId: "call_1", listener: (event) => events.push(event) });
 * const tree = renderTree(events);
 * if (!/^└─ lookup completed in \d+ ms\n +id call_1, parent none/.test(tree)) throw new Error(tree);
 * ```
 */
export function renderTree(events: readonly RunEvent[], { color = false }: RenderTreeOptions = {}): string {
  const tree = readEvents(events);
  const paint: Paint = (style, text) =>
    color ? `\u001b[${STYLES[style][0]}m${text}\u001b[${STYLES[style][1]}m` : text;
  const totals = totalsOf(tree.roots, tree.lastAt);
  const lines: string[] = [];
  /** What stands before the lines of each depth's children. */
  const indents = [""];
  for (const { node, isLast } of placedNodes(tree.roots)) {
    const { depth } = node;
    const level = Math.min(depth, MAX_INDENT);
    const indent = indents[level] ?? "";
    const isRoot = depth === 0 && node.kind === "run";
    const deep = depth > MAX_INDENT ? `(depth ${depth}) ` : "";
    lines.push(
      `${isRoot ? "" : indent + paint("dim", isLast ? "└─ " : "├─ ")}${deep}${headLine(node, tree.lastAt, { paint, totals })}`,
    );
    const rest = isRoot ? "" : `${indent}${isLast ? "   " : paint("dim", "│  ")}`;
    if (level < MAX_INDENT) indents[level + 1] = rest;
    if (node.kind !== "call") continue;
    const guide = `${rest}${node.children.length > 0 ? paint("dim", "│") : " "}`;
    for (const line of callLines(node)) lines.push(`${guide}${paint("dim", line)}`);
  }
  return lines.join("\n");
}

function headLine(
  node: TreeNode,
  lastAt: number,
  { paint, totals }: { readonly paint: Paint; readonly totals: ReadonlyMap<TreeNode, Totals> },
): string {
  const { name, status } = node;
  if (node.kind === "run") {
    const end = paint(STATUS_STYLES[status], statusText(node));
    return `${paint("bold", toPlainText(name))} ${end} ${runText(node, totals.get(node), lastAt)}`;
  }
  const duration = toDuration(durationOf(node, lastAt));
  if (node.kind === "model") {
    const end = status === "completed" ? "" : ` ${paint(STATUS_STYLES[status], statusText(node))}`;
    return paint("dim", `${name}, model${end} ${duration}`);
  }
  const attempts = node.attempts > 1 ? `, attempt ${node.attempts},` : "";
  const end = paint(STATUS_STYLES[status], statusText(node));
  return `${paint("bold", toPlainText(name))} ${end}${isWaiting(node) ? " for approval" : `${attempts} in ${duration}`}`;
}

function callLines({ facts, tokenIds }: CallNode): readonly string[] {
  const { toolCallId, parentId, invocationKey, isRemote } = facts;
  const parent = parentId === undefined ? "none" : toPlainText(parentId);
  const origin = isRemote ? ", as another process says" : "";
  return [
    ` id ${toPlainText(toolCallId)}, parent ${parent}, ${placeText(facts)}${origin}`,
    ` key ${invocationKey === undefined ? "none" : toPlainText(invocationKey)}`,
    ...(tokenIds.length === 0 ? [] : [` sees ${tokenIds.map(toPlainText).join(", ")}`]),
  ];
}
