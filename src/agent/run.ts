import { missingExtension, missingTokens } from "../extensions/missing-extension.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { Cancellation } from "../invocation/cancellation.ts";
import { type InvocationFields, scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { ToolCallIds } from "../invocation/tool-call-id.ts";
import { type ApprovalCheck, checkApproval } from "../tool/approval.ts";
import { type CallScope, type RunScope, unknownTool } from "../tool/dispatch.ts";
import { makeEmit } from "../tool/emit.ts";
import { toJsonSchema } from "../tool/input-schema.ts";
import type { ToolMiddleware } from "../tool/middleware.ts";
import type { ToolOutcome } from "../tool/tool-result.ts";
import { type AgentRunScope, isAgentRun, toolEventsOnly, withToolEmit } from "./agent-run-scope.ts";
import { Checkpoints } from "./checkpoints.ts";
import { mapBounded } from "./map-bounded.ts";
import type { AssistantMessage, Message, ModelResponse, Usage } from "./model.ts";
import { askModel, tooManyTurns, totalUsage } from "./model-turn.ts";
import type { RequestSettings } from "./prompt-request.ts";
import type { RunEvent, RunEventBase } from "./run-events.ts";
import { fieldsOf, isToolCall, type RunIdentity, seenIds, toRunId, toWireIds, withWireIds } from "./run-identity.ts";
import type { RunResult } from "./run-result.ts";
import { pendingCalls, type RunState } from "./run-state.ts";
import type { RunnerOptions } from "./runner.ts";
import { readOutput } from "./structured-output.ts";
import { type CallRecord, RecordedInnerRun, TurnCalls, textOf } from "./turn-calls.ts";

const DEFAULT_CONCURRENCY = 16;

/** Is one run of one request: the loop and everything it remembers. */
export class Run<Output> implements AgentRunScope {
  readonly emit: ((event: RunEvent) => void) | undefined;
  readonly middleware: readonly ToolMiddleware[];
  readonly toolConcurrency: number;
  readonly isStreaming: boolean;
  readonly isSaved: boolean;
  readonly #settings: RequestSettings<Output>;
  readonly #outer: AgentRunScope | undefined;
  readonly #cancellation: Cancellation;
  readonly #ids: ToolCallIds;
  readonly #checkpoints: Checkpoints;
  readonly #messages: Message[];
  readonly #resultExtensions = new ToolCallExtensions<string>();
  readonly #identity: RunIdentity;
  #turn: number;
  #calls: TurnCalls;
  #usage: Usage;
  #isOver = false;
  readonly #nested = new Set<Promise<unknown>>();

  constructor(settings: RequestSettings<Output>, options: RunnerOptions, sink?: (event: RunEvent) => void) {
    this.#settings = settings;
    const { state, agent } = settings;
    const parent = settings.extensions.get(ToolInvocationContext);
    const scope = parent && scopeOf<CallScope>(parent);
    const runId = toRunId(settings, parent, scope);
    const sessionKey = settings.session?.key ?? state?.sessionKey;
    this.#identity = { agentName: agent.name, parent, runId, sessionKey };
    this.#outer = scope && isAgentRun(scope.run) ? scope.run : undefined;
    this.#cancellation = (scope?.cancellation.child() ?? new Cancellation()).follow(settings.signal);
    const { innerRun } = settings;
    const onCheckpoint = innerRun === undefined ? settings.onCheckpoint : () => innerRun.save();
    this.isSaved = innerRun === undefined ? onCheckpoint !== undefined : (this.#outer?.isSaved ?? false);
    // Going on after a failed save would let more happen than is saved.
    const onFailure = (error: unknown): void => this.#cancellation.abort(error);
    this.#checkpoints = new Checkpoints(onCheckpoint, onFailure);
    this.middleware = [...(scope?.run.middleware ?? []), ...(options.middleware ?? [])];
    this.toolConcurrency = options.toolConcurrency ?? this.#outer?.toolConcurrency ?? DEFAULT_CONCURRENCY;
    this.isStreaming = sink !== undefined || (this.#outer?.isStreaming ?? false);
    const outer = this.#outer?.emit ?? toolEventsOnly(scope?.run.emit);
    const emit = makeEmit(settings.listeners, sink, outer, options.onListenerError);
    this.emit = emit && ((event) => this.#isOver || emit(event));
    this.#messages =
      state === undefined ? [...settings.history, { role: "user", text: settings.prompt }] : [...state.messages];
    this.#ids = new ToolCallIds(runId, seenIds(this.#messages));
    this.#turn = state?.turn ?? 0;
    this.#calls = new TurnCalls(state?.calls ?? []);
    this.#usage = state?.usage ?? { inputTokens: 0, outputTokens: 0 };
  }

  addUsage(usage: Usage): void {
    this.#usage = totalUsage(this.#usage, usage);
    this.#outer?.addUsage(usage);
  }

  track(work: Promise<unknown>): void {
    this.#nested.add(work);
    work.finally(() => this.#nested.delete(work)).catch(() => undefined);
  }

  withEmit = (emit: RunScope["emit"]): AgentRunScope => withToolEmit(this, emit);

  abort(reason: unknown): void {
    this.#cancellation.abort(reason);
  }

  execute(): Promise<RunResult<Output>> {
    const work = this.#execute();
    // An outer run that ends waits for this one, so that what happens in it is told of before the outer end.
    this.#outer?.track(work);
    return work;
  }

  async #execute(): Promise<RunResult<Output>> {
    const { agent, extensions } = this.#settings;
    try {
      const missing = missingTokens(extensions, agent.tools.requires);
      if (missing.length > 0) throw missingExtension(missing, extensions.tokens(), ` for agent "${agent.name}"`);
      this.#cancellation.throwIfAborted();
      this.emit?.({ ...this.#eventBase(), type: "run-started" });
      const result = await this.#loop().finally(() => this.#endNested());
      this.emit?.(
        result.status === "paused"
          ? { ...this.#eventBase(), type: "run-paused", pending: result.pending }
          : { ...this.#eventBase(), type: "run-completed", result },
      );
      return result;
    } catch (error) {
      for (const end of this.#calls.endsOfWaiting(error)) this.emit?.(end);
      this.emit?.({ ...this.#eventBase(), type: "run-failed", error });
      throw error;
    } finally {
      this.#isOver = true;
      await this.#checkpoints.close();
      this.#cancellation.dispose();
    }
  }

  /** A call that nobody waited for ends with the run, so that each requested call has its end. */
  async #endNested(): Promise<void> {
    this.#cancellation.abortChildren(() => new DOMException("the run has ended", "AbortError"));
    await Promise.allSettled(this.#nested);
  }

  async #loop(): Promise<RunResult<Output>> {
    const maxTurns = this.#settings.maxTurns ?? this.#settings.agent.maxTurns;
    for (;;) {
      if (!this.#calls.isEmpty) {
        await this.#performCalls();
        for (const given of this.#calls.resultExtensions()) this.#resultExtensions.extend(given);
        if (!this.#calls.areDone) return this.#pause();
        this.#endTurn();
      }
      if (this.#turn >= maxTurns) throw tooManyTurns(this.#settings.agent.name, maxTurns, this.#state());
      this.#turn += 1;
      this.emit?.({ ...this.#eventBase(), type: "turn-started", turn: this.#turn });
      const response = await this.#ask();
      if (response.usage) this.addUsage(response.usage);
      const message = this.#takeAnswer(response);
      if (this.#calls.isEmpty) {
        this.emit?.({ ...this.#eventBase(), type: "turn-completed", turn: this.#turn, message });
        return this.#finish(response);
      }
    }
  }

  #ask(): Promise<ModelResponse> {
    const { agent, outputSchema } = this.#settings;
    const turn = this.#turn;
    // A run that is resumed from a failure asks this turn's question again.
    const stateBefore = this.#stateAsNow();
    return askModel(agent, {
      turn,
      messages: [...this.#messages],
      outputSchema: outputSchema && toJsonSchema(outputSchema, "the output"),
      isStreaming: this.isStreaming,
      cancellation: this.#cancellation,
      onText: this.emit && ((text) => this.emit?.({ ...this.#eventBase(), type: "text-delta", turn, text })),
      state: () => ({ ...stateBefore(), turn: turn - 1 }),
    });
  }

  /** Puts the answer into the conversation, and its calls under ids of their own. */
  #takeAnswer(response: ModelResponse): AssistantMessage {
    const calls = response.content.filter(isToolCall);
    const ids = calls.map((call, index) => this.#ids.assign(call.toolCallId, call.toolName, this.#turn, index));
    const wireIds = toWireIds(calls, ids);
    const message: AssistantMessage = { role: "assistant", content: withWireIds(response.content, wireIds) };
    this.#messages.push(message);
    this.#calls = TurnCalls.from(calls, ids, wireIds);
    return message;
  }

  /** Runs what may run; afterwards each call is done, or waits, or holds a sub-agent that waits. */
  async #performCalls(): Promise<void> {
    const { agent } = this.#settings;
    const questions = this.#calls.prepare(agent.tools, (record) => this.#checkApproval(record));
    if (questions.length > 0) await Promise.all(questions);
    const started = this.save();
    if (started !== undefined) await started;
    const outcomes = await mapBounded(this.#calls.runnable(), this.toolConcurrency, (record) => this.#perform(record));
    this.#cancellation.throwIfAborted();
    for (const outcome of outcomes) {
      if (outcome.status === "failed" && outcome.kind === "missing-extension") throw outcome.error;
    }
  }

  async #perform(record: CallRecord): Promise<ToolOutcome> {
    const outcome = await this.#dispatch(record);
    this.#calls.settle(record, outcome);
    const saved = record.status === "done" || !this.#cancellation.isAborted ? this.save() : undefined;
    if (saved !== undefined) await saved;
    return outcome;
  }

  async #checkApproval(record: CallRecord): Promise<ApprovalCheck> {
    const { agent, extensions } = this.#settings;
    const { toolName, input } = record;
    const tool = agent.tools.get(toolName);
    if (tool === undefined) {
      const names = agent.tools.definitions.map(({ name }) => name);
      return { outcome: unknownTool(toolName, names) };
    }
    const [call, cancellation] = [this.#fieldsOf(record), this.#cancellation];
    return checkApproval({ tool, input, extensions, call, cancellation });
  }

  #dispatch(record: CallRecord): Promise<ToolOutcome> {
    const { agent, extensions } = this.#settings;
    return agent.tools["~dispatch"]({
      input: record.input,
      extensions,
      call: this.#fieldsOf(record),
      run: this,
      cancellation: this.#cancellation.child(),
      verdict: record.verdict,
      innerRun: new RecordedInnerRun(record, this),
    });
  }

  #fieldsOf(record: CallRecord): InvocationFields {
    return fieldsOf(record, this.#identity, { turn: this.#turn, batchSize: this.#calls.size });
  }

  #endTurn(): void {
    const message = this.#messages.at(-1);
    // Not `push(...messages)`: a model may make more calls than a function takes arguments.
    for (const result of this.#calls.toMessages()) this.#messages.push(result);
    this.#calls = new TurnCalls([]);
    if (message?.role !== "assistant") return;
    this.emit?.({ ...this.#eventBase(), type: "turn-completed", turn: this.#turn, message });
  }

  async #finish(response: ModelResponse): Promise<RunResult<Output>> {
    const { outputSchema } = this.#settings;
    const text = textOf(response.content);
    // Without a schema the request's output type is string.
    const output = outputSchema === undefined ? (text as Output) : await readOutput(outputSchema, text);
    return { status: "completed", output, finishReason: response.finishReason, ...this.#resultBase() };
  }

  #pause(): RunResult<Output> {
    const state = this.#state();
    return {
      status: "paused",
      output: undefined,
      pending: pendingCalls(state, [], this.#identity.parent?.invocationKey),
      state,
      ...this.#resultBase(),
    };
  }

  #resultBase(): Omit<Extract<RunResult, { readonly status: "paused" }>, "status" | "output" | "pending" | "state"> {
    return {
      runId: this.#identity.runId,
      turns: this.#turn,
      messages: this.#messages,
      usage: this.#usage,
      resultExtensions: this.#resultExtensions.snapshot(),
    };
  }

  #state(): RunState {
    return this.#stateAsNow()();
  }

  /** The run as it is now, written down when it is asked for: messages are only appended, and calls know their own state. */
  #stateAsNow(): () => RunState {
    const [turn, usage, calls, length] = [this.#turn, this.#usage, this.#calls, this.#messages.length];
    return () => ({
      version: 1,
      agentName: this.#settings.agent.name,
      runId: this.#identity.runId,
      ...(this.#identity.sessionKey !== undefined && { sessionKey: this.#identity.sessionKey }),
      turn,
      messages: this.#messages.slice(0, length),
      usage,
      calls: calls.toState(),
    });
  }

  /** Gives nothing to wait for where nobody saves. */
  save(): Promise<void> | undefined {
    if (!this.#isOver) this.#settings.innerRun?.keep(this.#stateAsNow());
    return this.isSaved ? this.#checkpoints.save(() => this.#state()) : undefined;
  }

  #eventBase(): RunEventBase {
    const { runId, parent } = this.#identity;
    return { at: Date.now(), runId, agentName: this.#settings.agent.name, parent };
  }
}
