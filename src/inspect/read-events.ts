import { type RunEvent, ToolCallExtensionsError, type ToolEvent, type ToolInvocationContext } from "../index.ts";
import type { CallNode, NodeStatus, RunNode, RunTree, TreeNode } from "./tree-node.ts";

type AgentEvent = Exclude<RunEvent, ToolEvent>;
type EndEvent = Extract<AgentEvent, { readonly type: "run-paused" | "run-completed" | "run-failed" }>;

/**
 * Rebuilds what ran inside what, from any part of any runs' events: ends may be missing, beginnings, whole runs. Goes by ids and
 * not by identity, so events that were saved as JSON will do.
 */
export function readEvents(events: readonly RunEvent[]): RunTree {
  const reader = new EventReader();
  for (const event of events) reader.take(event);
  return { roots: reader.roots, lastAt: reader.lastAt };
}

/** Reads events one by one, for who shows them as they come. */
export class EventReader {
  readonly roots: TreeNode[] = [];
  lastAt = 0;
  #previousAt = 0;
  /** The latest of each id: a replay uses the ids again. */
  readonly #runs = new Map<string, RunNode>();
  readonly #calls = new Map<string, CallNode>();

  /** Gives the run or the call that the event is of. */
  take(event: RunEvent): RunNode | CallNode {
    const at = Number.isFinite(event.at) ? event.at : this.lastAt;
    const node = "invocation" in event ? this.#takeCall(event, at) : this.#takeRun(event, at);
    this.#previousAt = at;
    this.lastAt = Math.max(this.lastAt, at);
    return node;
  }

  #takeRun(event: AgentEvent, at: number): RunNode {
    const run = event.type === "run-started" ? this.#beginRun(event, at) : this.#runOf(event, at);
    if (event.type === "turn-started") return this.#ask(run, event, at);
    if (event.type === "turn-completed") endModel(run, at, "completed");
    else if (event.type === "run-paused" || event.type === "run-completed" || event.type === "run-failed") {
      this.#endRun(run, event, at);
    }
    return run;
  }

  /** Asks the turn's question. A run that is resumed asks no question again that was answered; one that does begins anew. */
  #ask(known: RunNode, event: Extract<AgentEvent, { readonly type: "turn-started" }>, at: number): RunNode {
    const { turn } = event;
    const run = known.before !== undefined && turn <= known.answered ? this.#split(known, event, at) : known;
    endModel(run, at, "open");
    run.before = undefined;
    run.model = {
      kind: "model",
      depth: run.depth + 1,
      name: `turn ${turn}`,
      turn,
      status: "open",
      reason: undefined,
      spans: [begin(at)],
      children: [],
    };
    run.children.push(run.model);
    return run;
  }

  #split(known: RunNode, event: AgentEvent, at: number): RunNode {
    const start = known.spans.pop()?.start ?? at;
    Object.assign(known, known.before, { before: undefined });
    return this.#addRun(event, start);
  }

  /** A run that ended in an answer does not go on: the same id once more is a replay. */
  #beginRun(event: AgentEvent, at: number): RunNode {
    const known = this.#runs.get(event.runId);
    if (known === undefined || known.status === "completed") return this.#addRun(event, at);
    // Where its end was not seen, the last that was seen is the best guess at when it was interrupted.
    cutOpen(known, this.#previousAt);
    known.before = { status: known.status, reason: known.reason };
    known.status = "open";
    known.reason = undefined;
    known.model = undefined;
    known.spans.push(begin(at));
    return known;
  }

  #runOf(event: AgentEvent, at: number): RunNode {
    return this.#runs.get(event.runId) ?? this.#addRun(event, at);
  }

  #addRun({ runId, agentName, parent }: AgentEvent, at: number): RunNode {
    const owner = parent && this.#callOf(parent, at);
    const run: RunNode = {
      kind: "run",
      depth: owner === undefined ? 0 : owner.depth + 1,
      name: agentName,
      runId,
      parentKey: parent && keyOf(parent),
      model: undefined,
      answered: 0,
      before: undefined,
      status: "open",
      reason: undefined,
      usage: undefined,
      spans: [begin(at)],
      children: [],
    };
    this.#runs.set(runId, run);
    (owner?.children ?? this.roots).push(run);
    return run;
  }

  #endRun(run: RunNode, event: EndEvent, at: number): void {
    endModel(run, at, event.type === "run-failed" ? "failed" : "completed");
    if (event.type === "run-paused") {
      for (const call of event.pending) {
        // A sub-agent's run tells of its own.
        if (call.path.length === 0) this.#await(run, call, at);
      }
      cutOpen(run, at, "paused");
      return;
    }
    cutOpen(run, at);
    run.status = event.type === "run-completed" ? "completed" : "failed";
    if (event.type === "run-completed") run.usage = event.result.usage;
    else run.reason = reasonOf(event.error);
  }

  /** A call that waits has not begun: its first span is the moment from which it waits. */
  #await(run: RunNode, call: Extract<EndEvent, { type: "run-paused" }>["pending"][number], at: number): void {
    const { toolCallId, toolName, invocationKey, agentName } = call;
    const known = this.#calls.get(keyOf({ runId: run.runId, toolCallId }));
    if (known !== undefined && !this.#isPast(known)) return;
    const parentId = run.parentKey === undefined ? undefined : this.#calls.get(run.parentKey)?.facts.toolCallId;
    const facts = {
      toolCallId,
      invocationKey,
      runId: run.runId,
      agentName,
      parentId,
      isRemote: false,
      place: undefined,
    };
    const node = this.#keep(facts, toolName, run);
    node.spans.push({ start: at, end: at });
    node.status = "paused";
  }

  #takeCall(event: ToolEvent, at: number): CallNode {
    const { invocation } = event;
    const known = this.#calls.get(keyOf(invocation));
    const isAgain = event.type === "tool-requested" && known !== undefined && this.#isPast(known);
    const node = known === undefined || isAgain ? this.#addCall(invocation, at) : known;
    node.isInferred = false;
    node.attempts = Math.max(node.attempts, invocation.attempt);
    if (event.type === "tool-requested") goOn(node, event, at);
    else if (event.type === "tool-progress") node.progress += 1;
    else if (event.type === "tool-retried") node.retriedAt.push(at);
    else endNode(node, at, event.type === "tool-completed" ? "completed" : "failed");
    node.reason = event.type === "tool-failed" ? event.kind : undefined;
    return node;
  }

  /** Of a call that has ended, or of a run that began anew since. */
  #isPast(call: CallNode): boolean {
    return isOver(call) || call.run !== this.#runs.get(call.facts.runId);
  }

  #callOf(invocation: ToolInvocationContext, at: number): CallNode {
    return this.#calls.get(keyOf(invocation)) ?? this.#addCall(invocation, at);
  }

  /** Adds the calls around it first, where their beginnings were not seen. */
  #addCall(invocation: ToolInvocationContext, at: number): CallNode {
    const unseen: ToolInvocationContext[] = [];
    let outer = invocation.parent;
    for (; outer !== undefined && !this.#calls.has(keyOf(outer)); outer = outer.parent) unseen.push(outer);
    for (const call of unseen.reverse()) this.#place(call, at);
    return this.#place(invocation, at);
  }

  #place(invocation: ToolInvocationContext, at: number): CallNode {
    const run = this.#runs.get(invocation.runId);
    const parentKey = invocation.parent && keyOf(invocation.parent);
    const parent = parentKey === undefined ? undefined : this.#calls.get(parentKey);
    const isOfRun = run !== undefined && run.parentKey === parentKey;
    // What the model asked for is the end of its answer.
    if (isOfRun) endModel(run, at, "completed");
    if (parent !== undefined) parent.attempts = Math.max(parent.attempts, invocation.parent?.attempt ?? 1);
    const owner = isOfRun ? run : (parent ?? run);
    const node = this.#keep(factsOf(invocation), invocation.toolName, owner);
    node.spans.push(begin(at));
    return node;
  }

  #keep(facts: CallNode["facts"], name: string, owner: TreeNode | undefined): CallNode {
    const node: CallNode = {
      kind: "call",
      depth: owner === undefined ? 0 : owner.depth + 1,
      name,
      facts,
      run: this.#runs.get(facts.runId),
      isInferred: true,
      attempts: 1,
      retriedAt: [],
      progress: 0,
      tokenIds: [],
      status: "open",
      reason: undefined,
      spans: [],
      children: [],
    };
    this.#calls.set(keyOf(facts), node);
    (owner?.children ?? this.roots).push(node);
    return node;
  }
}

/** The length keeps two pairs of hostile ids apart. */
function keyOf({ runId, toolCallId }: { readonly runId: string; readonly toolCallId: string }): string {
  return `${runId.length} ${runId} ${toolCallId}`;
}

function begin(at: number): { readonly start: number; end: number | undefined } {
  return { start: at, end: undefined };
}

function isOver({ status }: TreeNode): boolean {
  return status === "completed" || status === "failed";
}

function isCut({ spans }: TreeNode): boolean {
  return spans.at(-1)?.end !== undefined;
}

function cut(node: TreeNode, at: number): void {
  const span = node.spans.at(-1);
  // A clock may have been set back.
  if (span !== undefined && span.end === undefined) span.end = Math.max(span.start, at);
}

function factsOf(invocation: ToolInvocationContext): CallNode["facts"] {
  const { runId, toolCallId, agentName, invocationKey, turn, index, batchSize, isRemote } = invocation;
  const parentId = invocation.parent?.toolCallId;
  return { toolCallId, invocationKey, runId, agentName, parentId, isRemote, place: { turn, index, batchSize } };
}

type RequestedEvent = Extract<ToolEvent, { readonly type: "tool-requested" }>;

/** Begins what waited or was interrupted; of a call that waited, only now is all known. */
function goOn(node: CallNode, { invocation, tokenIds }: RequestedEvent, at: number): void {
  node.facts = factsOf(invocation);
  node.tokenIds = tokenIds;
  node.status = "open";
  if (isCut(node)) node.spans.push(begin(at));
}

function endNode(node: TreeNode, at: number, status: NodeStatus): void {
  cut(node, at);
  node.status = status;
}

function endModel(run: RunNode, at: number, status: NodeStatus): void {
  const { model } = run;
  if (model === undefined) return;
  endNode(model, at, status);
  if (status === "completed") run.answered = model.turn;
  run.model = undefined;
}

/** Ends every open span inside the run, and its own. */
function cutOpen(run: RunNode, at: number, status?: NodeStatus): void {
  const stack: TreeNode[] = [run];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    cut(node, at);
    if (status !== undefined && node.status === "open") node.status = status;
    for (const child of node.children) if (!isCut(child)) stack.push(child);
  }
}

/** The code of a library error or the word for an abort; a message may hold a secret. */
function reasonOf(error: unknown): string | undefined {
  if (ToolCallExtensionsError.is(error)) return error.code;
  const isAbort = error instanceof DOMException && (error.name === "AbortError" || error.name === "TimeoutError");
  return isAbort ? "aborted" : undefined;
}
