import { placedNodes, type RunTree, type Span } from "./tree-node.ts";

/** A stretch in which something ran. */
interface Stretch {
  readonly start: number;
  readonly end: number;
  /** Where it lies on the axis, from 0 to 1. */
  readonly from: number;
  readonly to: number;
}

export interface Tick {
  readonly position: number;
  /** Milliseconds since the stretch began. */
  readonly ms: number;
}

/** A time in which nothing ran, drawn at a width of its own: an hour's wait for approval would hide what ran around it. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  readonly ms: number;
}

const GAP_WIDTH = 0.07;
const MAX_GAPS = 6;
/** A gap that takes less of the axis than this is drawn as long as it is. */
const MIN_GAP_SHARE = 0.1;
const TICKS = 10;

/** Maps times to places from 0 to 1. */
export class TimeAxis {
  readonly #stretches: readonly Stretch[];
  /** What the whole axis stands for, gaps as long as they are drawn. */
  readonly drawnMs: number;

  constructor(tree: RunTree) {
    const busy = busyTimes(tree);
    const cuts = longGaps(busy);
    const groups = groupAt(busy, cuts);
    const total = groups.reduce((sum, { start, end }) => sum + end - start, 0);
    const room = 1 - GAP_WIDTH * (groups.length - 1);
    this.drawnMs = Math.max(total, 1) / room;
    let position = 0;
    this.#stretches = groups.map(({ start, end }) => {
      const from = position;
      const to = from + (end - start) / this.drawnMs;
      position = to + GAP_WIDTH;
      return { start, end, from, to };
    });
  }

  /** What runs where the last stretch ends, or before the first begins, lies at the edge. */
  position(at: number): number {
    let before: Stretch | undefined;
    for (const stretch of this.#stretches) {
      if (at < stretch.start) return within(before, stretch, at);
      if (at <= stretch.end) return stretch.from + (at - stretch.start) / this.drawnMs;
      before = stretch;
    }
    return before?.to ?? 0;
  }

  gaps(): readonly Gap[] {
    return this.#stretches.slice(1).map(({ start, from }, index) => {
      const before = this.#stretches[index];
      return { from: before?.to ?? 0, to: from, ms: start - (before?.end ?? start) };
    });
  }

  /** Each stretch counts from 0: what was waited says nothing about how long anything took. */
  ticks(): readonly Tick[] {
    const step = niceStep(this.drawnMs / TICKS);
    return this.#stretches.flatMap(({ from, to }) => {
      const count = Math.floor(((to - from) * this.drawnMs) / step + 1e-9);
      return Array.from({ length: count + 1 }, (_, index) => {
        return { position: from + (index * step) / this.drawnMs, ms: index * step };
      });
    });
  }
}

function within(before: Stretch | undefined, after: Stretch, at: number): number {
  if (before === undefined) return after.from;
  return before.to + ((at - before.end) / (after.start - before.end)) * (after.from - before.to);
}

/** The times in which something ran, in order, none touching another. */
function busyTimes({ roots, lastAt }: RunTree): readonly Required<Span>[] {
  const spans = [...placedNodes(roots)].flatMap(({ node }) => node.spans).sort((a, b) => a.start - b.start);
  const busy: { start: number; end: number }[] = [];
  for (const { start, end = Math.max(start, lastAt) } of spans) {
    const last = busy.at(-1);
    if (last === undefined || start > last.end) busy.push({ start, end });
    else last.end = Math.max(last.end, end);
  }
  return busy.length === 0 ? [{ start: 0, end: 0 }] : busy;
}

/** The ends of the times after which the axis is cut, the longest first until one takes little of what is left. */
function longGaps(busy: readonly Span[]): ReadonlySet<number> {
  const gaps = busy.slice(1).map(({ start }, index) => {
    const end = busy[index]?.end ?? start;
    return { end, ms: start - end };
  });
  gaps.sort((a, b) => b.ms - a.ms);
  const first = busy[0]?.start ?? 0;
  let left = (busy.at(-1)?.end ?? first) - first;
  const cuts = new Set<number>();
  for (const { end, ms } of gaps.slice(0, MAX_GAPS)) {
    if (ms < left * MIN_GAP_SHARE) break;
    cuts.add(end);
    left -= ms;
  }
  return cuts;
}

function groupAt(
  busy: readonly Span[],
  cuts: ReadonlySet<number>,
): readonly { readonly start: number; readonly end: number }[] {
  const groups: { start: number; end: number }[] = [];
  let isCut = true;
  for (const { start, end = start } of busy) {
    const last = groups.at(-1);
    if (isCut || last === undefined) groups.push({ start, end });
    else last.end = end;
    isCut = cuts.has(end);
  }
  return groups;
}

/** 1, 2 or 5 of a power of ten, at least a millisecond. */
function niceStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(ms, 1)));
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= ms) ?? 1;
  return factor * power;
}
