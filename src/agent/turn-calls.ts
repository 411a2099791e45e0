import { ToolError } from "../errors.ts";
import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { ToolInvocationContext } from "../invocation/invocation-context.ts";
import type { ApprovalCheck } from "../tool/approval.ts";
import type { InnerRunPort } from "../tool/dispatch.ts";
import type { Tool } from "../tool/tool.ts";
import type { ToolEvent } from "../tool/tool-events.ts";
import { outcomeText, type ToolOutcome } from "../tool/tool-result.ts";
import type { AssistantPart, Message, ToolCallPart } from "./model.ts";
import { type CallState, type RunState, readRunState } from "./run-state.ts";

/** One call of the turn, as the run works on it. */
export interface CallRecord
  extends Pick<CallState, "toolCallId" | "providerToolCallId" | "wireId" | "toolName" | "input"> {
  readonly index: number;
  readonly decision: CallState["decision"];
  status: CallState["status"];
  result: CallState["result"];
  /** Writes the state of the sub-agent's run down. */
  run: (() => RunState) | undefined;
  /** What the call ends in without its tool being entered. */
  verdict: ToolOutcome | undefined;
  /** The call as it was told of, while its sub-agent waits. */
  waiting: ToolInvocationContext | undefined;
  /** Lives as long as the process: a state holds no extension value. */
  resultExtensions: ToolCallExtensions<string> | undefined;
}

/** Holds the calls of one turn from the model's answer until all of them have a result. */
export class TurnCalls {
  readonly records: readonly CallRecord[];

  constructor(calls: readonly CallState[]) {
    this.records = calls.map((call, index) => ({
      toolCallId: call.toolCallId,
      providerToolCallId: call.providerToolCallId,
      wireId: call.wireId,
      toolName: call.toolName,
      input: call.input,
      index,
      decision: call.decision,
      status: call.status,
      result: call.result,
      run: stateOf(call.run),
      verdict: undefined,
      waiting: undefined,
      resultExtensions: undefined,
    }));
  }

  static from(calls: readonly ToolCallPart[], ids: readonly string[], wireIds: readonly string[]): TurnCalls {
    return new TurnCalls(
      calls.map(({ toolCallId, toolName, input }, index) => ({
        toolCallId: ids[index] ?? "",
        // Some providers send null, or a number, in the place of a string.
        providerToolCallId: typeof toolCallId === "string" ? toolCallId : undefined,
        wireId: wireIds[index] ?? "",
        toolName,
        input,
        status: "new",
      })),
    );
  }

  get size(): number {
    return this.records.length;
  }

  get isEmpty(): boolean {
    return this.records.length === 0;
  }

  get areDone(): boolean {
    return this.records.every(({ status }) => status === "done");
  }

  /**
   * Decides of each call whether it runs, waits, or ends without its tool. What runs is marked as started before it is, so
   * that a state saved in between never says less than what may have happened. Gives the questions still open.
   */
  prepare(
    tools: { get(name: string): Tool | undefined },
    checkApproval: (record: CallRecord) => Promise<ApprovalCheck>,
  ): readonly Promise<void>[] {
    const questions: Promise<void>[] = [];
    for (const record of this.records) {
      const { status, decision, run } = record;
      const tool = tools.get(record.toolName);
      if (status === "done") continue;
      if (decision?.isApproved === false) record.verdict = rejected(decision.reason);
      else if (status === "started" && run === undefined && tool?.idempotent !== true)
        record.verdict = outcomeUnknown();
      else if (decision !== undefined || (status === "new" && tool !== undefined && !tool.needsApproval))
        record.status = "started";
      else if (status === "new") questions.push(checkApproval(record).then((found) => this.#take(record, found)));
    }
    return questions;
  }

  /** A call that ends without its tool is not marked as started: until its end is saved, it has not begun. */
  #take(record: CallRecord, approval: ApprovalCheck): void {
    if (approval === "wait") record.status = "waiting";
    else if (approval === "run") record.status = "started";
    else record.verdict = approval.outcome;
  }

  runnable(): readonly CallRecord[] {
    return this.records.filter(({ status, verdict }) => status === "started" || verdict !== undefined);
  }

  settle(record: CallRecord, outcome: ToolOutcome): void {
    if (outcome.status === "paused") {
      record.run = stateOf(readRunState(outcome.state, "the state of a sub-agent"));
      record.waiting = outcome.invocation;
      return;
    }
    // The run ends: a call that was aborted, or lacked an extension, has no result that a resumed run could use.
    if (outcome.status === "failed" && (outcome.kind === "aborted" || outcome.kind === "missing-extension")) return;
    record.status = "done";
    record.run = undefined;
    if (outcome.status === "completed") record.resultExtensions = outcome.resultExtensions;
    record.result = { text: outcomeText(outcome, record.toolName), isError: outcome.status === "failed" };
  }

  /** The ends of calls that wait inside, for a run that fails instead of pausing. */
  endsOfWaiting(error: unknown): readonly ToolEvent[] {
    return this.records.flatMap(({ waiting: invocation, input }) =>
      invocation === undefined
        ? []
        : { type: "tool-failed", at: Date.now(), invocation, input, kind: "aborted", error },
    );
  }

  /** In call order, for a later call to win. */
  resultExtensions(): readonly ToolCallExtensions<string>[] {
    return this.records.flatMap(({ resultExtensions }) => resultExtensions ?? []);
  }

  toMessages(): readonly Message[] {
    return this.records.map(({ wireId, toolName, result }) => {
      return { role: "tool", toolCallId: wireId, toolName, text: result?.text ?? "", isError: result?.isError ?? true };
    });
  }

  toState(): readonly CallState[] {
    return this.records.map(({ toolCallId, providerToolCallId, wireId, toolName, input, ...record }) => ({
      toolCallId,
      ...(providerToolCallId !== undefined && { providerToolCallId }),
      wireId,
      toolName,
      input,
      status: record.status,
      ...(record.decision !== undefined && { decision: record.decision }),
      ...(record.result !== undefined && { result: record.result }),
      ...(record.run !== undefined && { run: record.run() }),
    }));
  }
}

/** Keeps the run of a sub-agent in the record of its call. A class, because every call of a run is given one. */
export class RecordedInnerRun implements InnerRunPort {
  readonly #record: CallRecord;
  readonly #outer: { save(): Promise<void> | undefined };

  constructor(record: CallRecord, outer: { save(): Promise<void> | undefined }) {
    this.#record = record;
    this.#outer = outer;
  }

  state(): object | undefined {
    return this.#record.run?.();
  }

  keep(state: () => object): void {
    // A wrapper may have given the sub-agent up, which goes on nonetheless.
    if (this.#record.status === "done") return;
    // The port is handed to sub-agents alone, and what they keep is their state.
    this.#record.run = state as () => RunState;
  }

  async save(): Promise<void> {
    await this.#outer.save();
  }
}

function stateOf(run: RunState | undefined): (() => RunState) | undefined {
  return run && (() => run);
}

export function textOf(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function rejected(reason = "The call was rejected."): ToolOutcome {
  return { status: "failed", kind: "rejected", error: new ToolError(reason) };
}

function outcomeUnknown(): ToolOutcome {
  const message =
    "The run was interrupted while this call was open: it may or may not have happened. Check before calling again.";
  return { status: "failed", kind: "outcome-unknown", error: new ToolError(message) };
}
