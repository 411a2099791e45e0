import { ToolCallExtensionsError } from "../errors.ts";
import { missingExtension, missingTokens } from "../extensions/missing-extension.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { Cancellation } from "../invocation/cancellation.ts";
import { type InvocationFields, scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { ToolCallIds } from "../invocation/tool-call-id.ts";
import { checkApproval } from "../tool/approval.ts";
import type { CallScope } from "../tool/dispatch.ts";
import { toJsonSchema } from "../tool/input-schema.ts";
import type { ToolMiddleware } from "../tool/middleware.ts";
import type { ToolOutcome } from "../tool/tool-result.ts";
import { type AgentRunScope, isAgentRun } from "./agent-run-scope.ts";
import { mapBounded } from "./map-bounded.ts";
import type { AssistantMessage, Message, ModelResponse, Usage } from "./model.ts";
import { askModel } from "./model-turn.ts";
import type { RequestSettings } from "./prompt-request.ts";
import { makeEmit, type RunEventBody } from "./run-emitter.ts";
import type { RunEvent } from "./run-events.ts";
import { isToolCall, seenIds, toRunId, toWireIds, withWireIds } from "./run-identity.ts";
import type { RunResult } from "./run-result.ts";
import { pendingCalls, type RunState } from "./run-state.ts";
import type { RunnerOptions } from "./runner.ts";
import { readOutput } from "./structured-output.ts";
import { type CallRecord, TurnCalls, textOf } from "./turn-calls.ts";

const DEFAULT_CONCURRENCY = 16;

/** Is one run of one request: the loop and everything it remembers. */
export class Run<Output> implements AgentRunScope {
  readonly emit: ((event: RunEvent) => void) | undefined;
  readonly middleware: readonly ToolMiddleware[];
  readonly toolConcurrency: number;
  readonly isStreaming: boolean;
  readonly #settings: RequestSettings<Output>;
  readonly #runId: string;
  readonly #parent: ToolInvocationContext | undefined;
  readonly #outer: AgentRunScope | undefined;
  readonly #cancellation: Cancellation;
  readonly #ids: ToolCallIds;
  readonly #messages: Message[];
  readonly #resultExtensions = new ToolCallExtensions<string>();
  readonly #sessionKey: string | undefined;
  #turn: number;
  #calls: TurnCalls;
  #inputTokens: number;
  #outputTokens: number;
  #isOver = false;
  /** Saves one after another, in the order of what happened. */
  #saved: Promise<void> = Promise.resolve();

  constructor(settings: RequestSettings<Output>, options: RunnerOptions, sink?: (event: RunEvent) => void) {
    this.#settings = settings;
    this.#parent = settings.extensions.get(ToolInvocationContext);
    const scope = this.#parent && scopeOf<CallScope>(this.#parent);
    this.#runId = toRunId(settings, this.#parent, scope);
    this.#outer = scope && isAgentRun(scope.run) ? scope.run : undefined;
    this.#cancellation = (scope?.cancellation.child() ?? new Cancellation()).follow(settings.signal);
    this.middleware = [...(scope?.run.middleware ?? []), ...(options.middleware ?? [])];
    this.toolConcurrency = options.toolConcurrency ?? this.#outer?.toolConcurrency ?? DEFAULT_CONCURRENCY;
    this.isStreaming = sink !== undefined || (this.#outer?.isStreaming ?? false);
    const emit = makeEmit(settings.listeners, sink, this.#outer?.emit, options.onListenerError);
    this.emit = emit && ((event) => this.#isOver || emit(event));
    const { state } = settings;
    this.#messages =
      state === undefined ? [...settings.history, { role: "user", text: settings.prompt }] : [...state.messages];
    this.#ids = new ToolCallIds(this.#runId, seenIds(this.#messages));
    this.#sessionKey = settings.session?.key ?? state?.sessionKey;
    this.#turn = state?.turn ?? 0;
    this.#calls = new TurnCalls(state?.calls ?? []);
    this.#inputTokens = state?.usage.inputTokens ?? 0;
    this.#outputTokens = state?.usage.outputTokens ?? 0;
  }

  addUsage(usage: Usage): void {
    this.#inputTokens += usage.inputTokens;
    this.#outputTokens += usage.outputTokens;
    this.#outer?.addUsage(usage);
  }

  abort(reason: unknown): void {
    this.#cancellation.abort(reason);
  }

  async execute(): Promise<RunResult<Output>> {
    const { agent, extensions } = this.#settings;
    try {
      const missing = missingTokens(extensions, agent.tools.requires);
      if (missing.length > 0) throw missingExtension(missing, extensions.tokens(), ` for agent "${agent.name}"`);
      this.#cancellation.throwIfAborted();
      this.#emit({ type: "run-started" });
      const result = await this.#loop();
      this.#emit(
        result.status === "paused"
          ? { type: "run-paused", pending: result.pending }
          : { type: "run-completed", result },
      );
      return result;
    } catch (error) {
      this.#emit({ type: "run-failed", error });
      throw error;
    } finally {
      this.#isOver = true;
      // A save that comes late could undo what a resumed run has saved by then.
      await this.#saved.catch(() => undefined);
      this.#cancellation.dispose();
    }
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
      if (this.#turn >= maxTurns) throw this.#tooManyTurns(maxTurns);
      this.#turn += 1;
      this.#emit({ type: "turn-started", turn: this.#turn });
      const response = await this.#ask();
      if (response.usage !== undefined) this.addUsage(response.usage);
      const message = this.#takeAnswer(response);
      if (this.#calls.isEmpty) {
        this.#emit({ type: "turn-completed", turn: this.#turn, message });
        return this.#finish(response);
      }
    }
  }

  #ask(): Promise<ModelResponse> {
    const { agent, outputSchema } = this.#settings;
    const turn = this.#turn;
    // A run that is resumed from a failure asks this turn's question again.
    const before = { ...this.#state(), turn: turn - 1 };
    return askModel(agent, {
      turn,
      messages: before.messages,
      outputSchema: outputSchema && toJsonSchema(outputSchema, "the output"),
      isStreaming: this.isStreaming,
      cancellation: this.#cancellation,
      onText: this.emit && ((text) => this.#emit({ type: "text-delta", turn, text })),
      state: before,
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
    await this.#calls.prepare(
      (name) => agent.tools.get(name),
      (record) => this.#checkApproval(record),
    );
    await this.#save();
    const outcomes = await mapBounded(this.#calls.runnable(), this.toolConcurrency, async (record) => {
      const outcome = await this.#dispatch(record);
      this.#calls.settle(record, outcome);
      // A run that is being aborted saves nothing more: an aborted call may have happened.
      if (!this.#cancellation.isAborted) await this.#save();
      return outcome;
    });
    this.#cancellation.throwIfAborted();
    for (const outcome of outcomes) {
      if (outcome.status === "failed" && outcome.kind === "missing-extension") throw outcome.error;
    }
  }

  #checkApproval(record: CallRecord): ReturnType<typeof checkApproval> {
    const { agent, extensions } = this.#settings;
    const { toolName, input } = record;
    const [tool, call, cancellation] = [agent.tools.get(toolName), this.#fieldsOf(record), this.#cancellation];
    return checkApproval({ tool, input, extensions, call, cancellation });
  }

  #dispatch(record: CallRecord): Promise<ToolOutcome> {
    const { agent, extensions, onCheckpoint } = this.#settings;
    const save = async (state: object): Promise<void> => {
      // The port is handed to sub-agents alone, and what they save is their state.
      record.run = state as RunState;
      await this.#save();
    };
    return agent.tools["~dispatch"]({
      input: record.input,
      extensions,
      call: this.#fieldsOf(record),
      run: this,
      cancellation: this.#cancellation.child(),
      verdict: record.verdict,
      innerRun: { state: record.run, save: onCheckpoint && save },
    });
  }

  #fieldsOf({ toolCallId, providerToolCallId, toolName, index }: CallRecord): InvocationFields {
    return {
      toolCallId,
      providerToolCallId,
      toolName,
      sessionKey: this.#sessionKey,
      runId: this.#runId,
      agentName: this.#settings.agent.name,
      turn: this.#turn,
      index,
      batchSize: this.#calls.size,
      attempt: 1,
      parent: this.#parent,
    };
  }

  #endTurn(): void {
    const message = this.#messages.at(-1);
    this.#messages.push(...this.#calls.toMessages());
    this.#calls = new TurnCalls([]);
    if (message?.role === "assistant") this.#emit({ type: "turn-completed", turn: this.#turn, message });
  }

  #tooManyTurns(maxTurns: number): ToolCallExtensionsError {
    const message = `agent "${this.#settings.agent.name}" still called tools after ${maxTurns} turns; raise .maxTurns()`;
    return new ToolCallExtensionsError("max-turns", message, { maxTurns, state: this.#state() });
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
      pending: pendingCalls(state, [], this.#parent?.invocationKey),
      state,
      ...this.#resultBase(),
    };
  }

  #resultBase(): Omit<Extract<RunResult, { readonly status: "paused" }>, "status" | "output" | "pending" | "state"> {
    return {
      runId: this.#runId,
      turns: this.#turn,
      messages: this.#messages,
      usage: this.#usage(),
      resultExtensions: this.#resultExtensions.snapshot(),
    };
  }

  #usage(): Usage {
    return { inputTokens: this.#inputTokens, outputTokens: this.#outputTokens };
  }

  #state(): RunState {
    return {
      version: 1,
      agentName: this.#settings.agent.name,
      runId: this.#runId,
      ...(this.#sessionKey !== undefined && { sessionKey: this.#sessionKey }),
      turn: this.#turn,
      messages: [...this.#messages],
      usage: this.#usage(),
      calls: this.#calls.toState(),
    };
  }

  /** Waits until the state as it is now is saved; never saves two at once, so that an older one cannot win. */
  #save(): Promise<void> {
    const { onCheckpoint } = this.#settings;
    if (onCheckpoint === undefined || this.#isOver) return Promise.resolve();
    this.#saved = this.#saved
      .then(() => onCheckpoint(this.#state()))
      .catch((error: unknown) => {
        // Going on would let more happen than is saved.
        this.#cancellation.abort(error);
        throw error;
      });
    return this.#saved;
  }

  #emit(body: RunEventBody): void {
    if (this.emit === undefined) return;
    const agentName = this.#settings.agent.name;
    this.emit({ at: Date.now(), runId: this.#runId, agentName, parent: this.#parent, ...body });
  }
}
