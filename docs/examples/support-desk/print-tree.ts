import pc from "picocolors";
import type { RunEvent, ToolInvocationContext } from "tool-call-extensions";

interface CallNode {
  readonly invocation: ToolInvocationContext;
  readonly startedAt: number;
  readonly tokenIds: readonly string[];
  readonly children: CallNode[];
  end: string;
  durationMs: number;
}

/** Rebuilds the tree of calls from `invocation.parent` alone and prints it, one line a call. */
export function printTree(events: readonly RunEvent[]): void {
  const nodes = new Map<ToolInvocationContext, CallNode>();
  const roots: CallNode[] = [];
  for (const event of events) {
    if (event.type === "tool-requested") {
      const { invocation, at: startedAt, tokenIds } = event;
      const node = { invocation, startedAt, tokenIds, children: [], end: pc.yellow("open"), durationMs: 0 };
      nodes.set(invocation, node);
      const siblings = invocation.parent && nodes.get(invocation.parent)?.children;
      (siblings ?? roots).push(node);
    }
    const node = "invocation" in event ? nodes.get(event.invocation) : undefined;
    if (node === undefined || event.type === "tool-requested" || event.type === "tool-progress") continue;
    if (!("invocation" in event)) continue;
    node.durationMs = event.at - node.startedAt;
    node.end = event.type === "tool-completed" ? pc.green("completed") : pc.red(`failed (${event.kind})`);
  }
  for (const node of roots) printNode(node, "", node === roots.at(-1));
}

function printNode(node: CallNode, indent: string, isLast: boolean): void {
  const { invocation, tokenIds, children, end, durationMs } = node;
  const place = `${invocation.agentName} turn ${invocation.turn}, call ${invocation.index + 1} of ${invocation.batchSize}`;
  console.log(`${indent}${isLast ? "└─" : "├─"} ${pc.bold(invocation.toolName)} ${end} in ${durationMs} ms`);
  const rest = `${indent}${isLast ? "   " : "│  "}`;
  const guide = `${rest}${children.length > 0 ? "│ " : "  "}`;
  console.log(
    pc.dim(`${guide} id ${invocation.toolCallId}, parent ${invocation.parent?.toolCallId ?? "none"}, ${place}`),
  );
  console.log(pc.dim(`${guide} sees ${tokenIds.join(", ")}`));
  for (const child of children) printNode(child, rest, child === children.at(-1));
}
