import pc from "picocolors";
import type { RunEvent, ToolInvocationContext } from "tool-call-extensions";

interface CallNode {
  readonly invocation: ToolInvocationContext;
  readonly startedAt: number;
  readonly tokenIds: readonly string[];
  readonly children: CallNode[];
  end: string;
  durationMs: number;
  attempts: number;
}

/** Rebuilds the tree of calls from `invocation.parent` alone and prints it, one line a call. */
export function printTree(events: readonly RunEvent[]): void {
  // By id, because each attempt of a call has an invocation object of its own.
  const nodes = new Map<string, CallNode>();
  const roots: CallNode[] = [];
  for (const event of events) {
    if (event.type === "tool-requested") {
      const { invocation, at: startedAt, tokenIds } = event;
      const node = {
        invocation,
        startedAt,
        tokenIds,
        children: [],
        end: pc.yellow("open"),
        durationMs: 0,
        attempts: 1,
      };
      nodes.set(idOf(invocation), node);
      const siblings = invocation.parent && nodes.get(idOf(invocation.parent))?.children;
      (siblings ?? roots).push(node);
    }
    if (event.type !== "tool-completed" && event.type !== "tool-failed") continue;
    const node = nodes.get(idOf(event.invocation));
    if (node === undefined) continue;
    node.durationMs = event.at - node.startedAt;
    node.attempts = event.invocation.attempt;
    node.end = event.type === "tool-completed" ? pc.green("completed") : pc.red(`failed (${event.kind})`);
  }
  for (const node of roots) printNode(node, "", node === roots.at(-1));
}

function idOf({ runId, toolCallId }: ToolInvocationContext): string {
  return `${runId}/${toolCallId}`;
}

function printNode(node: CallNode, indent: string, isLast: boolean): void {
  const { invocation, tokenIds, children, end, durationMs, attempts } = node;
  const place = `${invocation.agentName} turn ${invocation.turn}, call ${invocation.index + 1} of ${invocation.batchSize}`;
  console.log(
    `${indent}${isLast ? "└─" : "├─"} ${pc.bold(invocation.toolName)} ${end}${attempts > 1 ? `, attempt ${attempts},` : ""} in ${durationMs} ms`,
  );
  const rest = `${indent}${isLast ? "   " : "│  "}`;
  const guide = `${rest}${children.length > 0 ? "│ " : "  "}`;
  console.log(
    pc.dim(`${guide} id ${invocation.toolCallId}, parent ${invocation.parent?.toolCallId ?? "none"}, ${place}`),
  );
  console.log(pc.dim(`${guide} key ${invocation.invocationKey ?? "none"}`));
  console.log(pc.dim(`${guide} sees ${tokenIds.join(", ")}`));
  for (const child of children) printNode(child, rest, child === children.at(-1));
}
