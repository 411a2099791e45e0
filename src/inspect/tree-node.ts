import type { Usage } from "../index.ts";

/** A stretch of time in Unix milliseconds; open while its end was not seen. */
export interface Span {
  readonly start: number;
  end: number | undefined;
}

export type NodeStatus = "open" | "completed" | "failed" | "paused";

interface NodeBase {
  /** 0 at the top. */
  readonly depth: number;
  /** The agent's name, the turn, or the tool's name. */
  readonly name: string;
  readonly children: TreeNode[];
  /** More than one where the run was interrupted and went on. */
  readonly spans: Span[];
  status: NodeStatus;
  /** The kind of a call's failure, or the code of a run's; never a message. */
  reason: string | undefined;
}

export interface RunNode extends NodeBase {
  readonly kind: "run";
  readonly runId: string;
  /** The call that the run is inside of, as a key. */
  readonly parentKey: string | undefined;
  /** The question that the model has not answered yet. */
  model: ModelNode | undefined;
  /** The last turn that was answered. */
  answered: number;
  /** What the run was before it began once more, until it is known whether it goes on or begins anew. */
  before: Pick<NodeBase, "status" | "reason"> | undefined;
  usage: Usage | undefined;
}

interface ModelNode extends NodeBase {
  readonly kind: "model";
  readonly turn: number;
}

export interface CallNode extends NodeBase {
  readonly kind: "call";
  facts: CallFacts;
  /** The run under whose id it was made, where that was seen: a run that begins anew uses ids again. */
  readonly run: RunNode | undefined;
  /** Known from what ran inside it alone: no event of its own was seen. */
  isInferred: boolean;
  attempts: number;
  /** When each attempt after the first began, as far as that was seen. */
  readonly retriedAt: number[];
  /** How often a generator tool yielded. */
  progress: number;
  tokenIds: readonly string[];
}

/** What identifies a call; of one that still waits for approval, less is known. */
interface CallFacts {
  readonly toolCallId: string;
  readonly invocationKey: string | undefined;
  readonly runId: string;
  readonly agentName: string | undefined;
  readonly place: { readonly turn: number; readonly index: number; readonly batchSize: number } | undefined;
  readonly parentId: string | undefined;
  readonly isRemote: boolean;
}

export type TreeNode = RunNode | ModelNode | CallNode;

export interface RunTree {
  readonly roots: readonly TreeNode[];
  /** The last event's time, at which open spans are cut. */
  readonly lastAt: number;
}

/** One node with its place in the tree. */
export interface Placed {
  readonly node: TreeNode;
  readonly isLast: boolean;
}

/**
 * Gives the nodes that are wanted, parents first, and nothing of what is inside one that is not. With a stack of its own, because
 * calls nest deeper than functions can.
 */
export function* placedNodes(
  roots: readonly TreeNode[],
  isWanted: (node: TreeNode) => boolean = () => true,
): Generator<Placed> {
  const place = (nodes: readonly TreeNode[]): readonly Placed[] => {
    const wanted = nodes.filter(isWanted);
    return wanted.map((node) => ({ node, isLast: node === wanted.at(-1) })).reverse();
  };
  const stack = [...place(roots)];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next;
    for (const placed of place(next.node.children)) stack.push(placed);
  }
}

/** The time at work: what lies between two spans was waited. */
export function durationOf({ spans }: TreeNode, lastAt: number): number {
  return spans.reduce((total, { start, end = lastAt }) => total + Math.max(0, end - start), 0);
}

/** What lies between two spans: a wait for approval, or the time between a crash and the resume. */
export function pausesOf({ spans }: TreeNode): readonly Required<Span>[] {
  return spans.slice(1).map(({ start }, index) => ({ start: spans[index]?.end ?? start, end: start }));
}
