import type { ToolInvocationContext } from "../invocation/invocation-context.ts";
import { derivedRunId, hostCallId } from "../invocation/tool-call-id.ts";

/** Where a call stands in the loop of another framework; a run of this library knows it by itself. */
export interface HostCall {
  /** Identifies the run: the same words on a replay make the same ids. */
  readonly run: readonly string[];
  /** From 1. */
  readonly turn: number;
  /** Of the conversation's earlier calls. */
  readonly earlierCallIds: readonly string[];
  /** How many calls with the same id the same answer of the model has made before this one. */
  readonly repeat: number;
  /** Says that whoever has to approve the call has done so. */
  readonly isApproved: boolean;
}

/** Identifies a call as a run would: its id names one call of the conversation, whatever the provider sent. */
export function identifyHostCall(
  { run, turn, earlierCallIds, repeat }: HostCall,
  call: { readonly providerToolCallId: string | undefined; readonly toolName: string },
  parent: ToolInvocationContext | undefined,
): { readonly runId: string; readonly toolCallId: string; readonly turn: number } {
  const outer = parent === undefined ? [] : [parent.runId, parent.toolCallId];
  const runId = derivedRunId("host", ...outer, ...run);
  return { runId, turn, toolCallId: hostCallId({ runId, turn, repeat }, call, earlierCallIds) };
}
