import type { RunEvent } from "../index.ts";
import { type RunView, toHtmlText, toPercent, toRow } from "./html-rows.ts";
import { STYLE } from "./html-style.ts";
import { statusText, sumOf, totalsOf, usageText, waitedMsOf } from "./node-text.ts";
import { toDuration } from "./plain-text.ts";
import { readEvents } from "./read-events.ts";
import { TimeAxis } from "./time-axis.ts";
import { durationOf, placedNodes, type RunTree } from "./tree-node.ts";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/**
 * Renders the runs and calls of the events as one HTML page without scripts: a row for each, in a tree, on a time axis. Loads
 * nothing, so the file can be kept and sent; long pauses are drawn short. Shows no value, input, output or message. Takes what
 * {@link renderTree} takes.
 *
 * @example
 * ```ts
 * import { Agent, type RunEvent } from "tool-call-extensions";
 * import { toHtml } from "tool-call-extensions/inspect";
 * import { scriptedModel } from "tool-call-extensions/testing";
 *
 * const events: RunEvent[] = [];
 * const agent = new Agent({ name: "greeter", model: scriptedModel(["Hello!"]) });
 * await agent.prompt("Hi").on((event) => events.push(event)).run();
 * const page = toHtml(events);
 * if (!page.startsWith("<!doctype html>") || !page.includes("greeter")) throw new Error(page);
 * if (page.includes("Hello!")) throw new Error("the answer is on the page");
 * ```
 */
export function toHtml(events: readonly RunEvent[]): string {
  const tree = readEvents(events);
  const axis = new TimeAxis(tree);
  const totals = totalsOf(tree.roots, tree.lastAt);
  const view = { tree, axis, totals };
  const rows = [...placedNodes(tree.roots)].map(({ node }) => toRow(node, view));
  const { title, heading } = headingOf(tree);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta http-equiv="content-security-policy" content="${POLICY}">`,
    '<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">',
    `<title>${title}</title><style>${STYLE}</style></head><body><main><header><h1>${heading}</h1>`,
    figuresOf(view),
    `</header><div class="chart"><div class="axis" aria-hidden="true"><div>${axisLabels(axis)}</div></div>`,
    `<div class="grid" aria-hidden="true">${gridLines(axis)}</div>`,
    ...rows,
    "</div><footer>Ids, times and token ids only: no values, inputs, outputs or messages. ",
    "Model time lasts from the question to the first call or the answer. ",
    "Where nothing ran for long, the axis is cut.</footer></main></body></html>\n",
  ].join("\n");
}

function headingOf({ roots }: RunTree): { readonly title: string; readonly heading: string } {
  const [first, ...others] = roots;
  if (first === undefined) return { title: "No events", heading: "No events" };
  const name = toHtmlText(first.name) + (others.length > 0 ? ` and ${others.length} more` : "");
  const title = others.length > 0 ? name : `${name}: ${toHtmlText(statusText(first))}`;
  if (others.length > 0) return { title, heading: name };
  return { title, heading: `${name} <span class="${first.status}">${toHtmlText(statusText(first))}</span>` };
}

function figuresOf({ tree: { roots, lastAt }, totals }: RunView): string {
  const { calls, failed, turns, modelMs } = sumOf(roots.flatMap((node) => totals.get(node) ?? []));
  const runMs = roots.reduce((sum, node) => sum + durationOf(node, lastAt), 0);
  const waitedMs = waitedMsOf(roots);
  const usage = roots.length === 1 && roots[0]?.kind === "run" ? usageText(roots[0].usage) : undefined;
  const figures = [
    ["Time", toDuration(runMs)],
    ...(waitedMs > 0 ? [["Paused", toDuration(waitedMs)]] : []),
    ...(turns > 0 ? [["Model", toDuration(modelMs)]] : []),
    ...(turns > 0 ? [["Turns", String(turns)]] : []),
    [failed > 0 ? `Calls, ${failed} failed` : "Calls", String(calls)],
    ...(usage === undefined ? [] : [["Tokens", usage]]),
  ];
  const list = figures.map(([term, figure]) => `<div><dt>${term}</dt><dd>${figure}</dd></div>`).join("");
  const marks = ["run", "model", "call", "failed", "paused"].map((mark) => {
    return `<span style="--mark:var(--${mark})">${mark === "run" ? "agent" : mark}</span>`;
  });
  const filter = failed > 0 ? `<label><input type="checkbox" id="failed">failed only</label>` : "";
  return `<dl class="totals">${list}</dl><p class="key">${marks.join("")}${filter}</p>`;
}

function axisLabels(axis: TimeAxis): string {
  const gaps = axis.gaps();
  const isFree = (position: number): boolean =>
    position < 0.94 && gaps.every(({ from, to }) => position < from - 0.06 || position >= to - 1e-9);
  const ticks = axis.ticks().map(({ position, ms }, index) => {
    const odd = index % 2 === 1 ? ' class="odd"' : "";
    return isFree(position) ? `<span${odd} style="left:${toPercent(position)}">${toDuration(ms)}</span>` : "";
  });
  return [
    ...ticks,
    ...gaps.map(({ from, to, ms }) => {
      return `<span class="gap" title="nothing ran for ${toDuration(ms)}" style="left:${toPercent(from)};width:${toPercent(to - from)}">${toDuration(ms)}</span>`;
    }),
  ].join("");
}

function gridLines(axis: TimeAxis): string {
  const lines = axis.ticks().map(({ position }) => `<span style="left:${toPercent(position)}"></span>`);
  const gaps = axis.gaps().map(({ from, to }) => {
    return `<span class="gap" style="left:${toPercent(from)};width:${toPercent(to - from)}"></span>`;
  });
  return [...lines, ...gaps].join("");
}
