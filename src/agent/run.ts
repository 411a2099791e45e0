import type { StandardSchemaV1 } from "@standard-schema/spec";
import { ToolCallExtensionsError } from "../errors.ts";
import { missingExtension, missingTokens } from "../extensions/missing-extension.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { Cancellation } from "../invocation/cancellation.ts";
import { scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { derivedRunId, randomRunId, ToolCallIds } from "../invocation/tool-call-id.ts";
import type { CallScope, RunScope } from "../tool/dispatch.ts";
import { toJsonSchema, type Validation, validate } from "../tool/input-schema.ts";
import type { ToolMiddleware } from "../tool/middleware.ts";
import { outcomeText, type ToolOutcome } from "../tool/tool-result.ts";
import type { AssistantMessage, AssistantPart, Message, ModelResponse, ToolCallPart, Usage } from "./model.ts";
import { askModel } from "./model-turn.ts";
import type { RequestSettings } from "./prompt-request.ts";
import { makeEmit, type RunEventBody } from "./run-emitter.ts";
import type { RunEvent } from "./run-events.ts";
import type { RunResult } from "./run-result.ts";
import type { RunnerOptions } from "./runner.ts";

const DEFAULT_CONCURRENCY = 16;

/** What a run inside this run takes over from it. */
interface AgentRunScope extends RunScope {
  readonly emit: ((event: RunEvent) => void) | undefined;
  readonly toolConcurrency: number;
  readonly isStreaming: boolean;
  addUsage(usage: Usage): void;
}

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
  #inputTokens = 0;
  #outputTokens = 0;
  #isOver = false;

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
    this.#messages = [...settings.history, { role: "user", text: settings.prompt }];
    this.#ids = new ToolCallIds(this.#runId, seenIds(settings.history));
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
      this.#emit({ type: "run-completed", result });
      return result;
    } catch (error) {
      this.#emit({ type: "run-failed", error });
      throw error;
    } finally {
      this.#isOver = true;
      this.#cancellation.dispose();
    }
  }

  async #loop(): Promise<RunResult<Output>> {
    const maxTurns = this.#settings.maxTurns ?? this.#settings.agent.maxTurns;
    for (let turn = 1; turn <= maxTurns; turn++) {
      this.#emit({ type: "turn-started", turn });
      const response = await this.#ask(turn);
      if (response.usage !== undefined) this.addUsage(response.usage);
      const calls = response.content.filter(isToolCall);
      const message = await this.#takeTurn(response, calls, turn);
      this.#emit({ type: "turn-completed", turn, message });
      if (calls.length === 0) return this.#finish(response, turn);
    }
    const message = `agent "${this.#settings.agent.name}" still called tools after ${maxTurns} turns; raise .maxTurns()`;
    throw new ToolCallExtensionsError("max-turns", message, { maxTurns });
  }

  #ask(turn: number): Promise<ModelResponse> {
    const { agent, outputSchema } = this.#settings;
    return askModel(agent, {
      turn,
      messages: this.#messages,
      outputSchema: outputSchema && toJsonSchema(outputSchema, "the output"),
      isStreaming: this.isStreaming,
      cancellation: this.#cancellation,
      onText: this.emit && ((text) => this.#emit({ type: "text-delta", turn, text })),
    });
  }

  async #takeTurn(response: ModelResponse, calls: readonly ToolCallPart[], turn: number): Promise<AssistantMessage> {
    const ids = calls.map((call, index) => this.#ids.assign(call.toolCallId, call.toolName, turn, index));
    const wireIds = toWireIds(calls, ids);
    const message: AssistantMessage = { role: "assistant", content: withWireIds(response.content, wireIds) };
    this.#messages.push(message);
    const outcomes = await mapBounded(calls, this.toolConcurrency, (call, index) =>
      this.#dispatch(call, { toolCallId: ids[index] ?? "", turn, index, batchSize: calls.length }),
    );
    this.#cancellation.throwIfAborted();
    for (const outcome of outcomes) {
      if (outcome.status === "failed" && outcome.kind === "missing-extension") throw outcome.error;
    }
    for (const [index, { toolName }] of calls.entries()) this.#append(toolName, wireIds[index], outcomes[index]);
    return message;
  }

  #dispatch(
    { toolName, toolCallId: providerToolCallId, input }: ToolCallPart,
    place: { readonly toolCallId: string; readonly turn: number; readonly index: number; readonly batchSize: number },
  ): Promise<ToolOutcome> {
    const { agent, extensions } = this.#settings;
    const call = {
      ...place,
      providerToolCallId,
      toolName,
      sessionKey: this.#settings.session?.key,
      runId: this.#runId,
      agentName: agent.name,
      attempt: 1,
      parent: this.#parent,
    };
    return agent.tools["~dispatch"]({ input, extensions, call, run: this, cancellation: this.#cancellation.child() });
  }

  #append(toolName: string, toolCallId = "", outcome: ToolOutcome | undefined): void {
    if (outcome === undefined) return;
    const isError = outcome.status === "failed";
    this.#messages.push({ role: "tool", toolCallId, toolName, text: outcomeText(outcome, toolName), isError });
    if (!isError && outcome.resultExtensions !== undefined) this.#resultExtensions.extend(outcome.resultExtensions);
  }

  async #finish(response: ModelResponse, turns: number): Promise<RunResult<Output>> {
    return {
      status: "completed",
      output: await this.#output(textOf(response.content)),
      runId: this.#runId,
      turns,
      messages: this.#messages,
      usage: { inputTokens: this.#inputTokens, outputTokens: this.#outputTokens },
      finishReason: response.finishReason,
      resultExtensions: this.#resultExtensions.snapshot(),
    };
  }

  async #output(text: string): Promise<Output> {
    const { outputSchema } = this.#settings;
    // Without a schema the request's output type is string.
    if (outputSchema === undefined) return text as Output;
    const value = parseJson(text);
    const validation = await validateSafely(outputSchema, value, text);
    if (validation.issues !== undefined) throw invalidOutput(text, validation.issues);
    return validation.value;
  }

  #emit(body: RunEventBody): void {
    if (this.emit === undefined) return;
    const agentName = this.#settings.agent.name;
    this.emit({ at: Date.now(), runId: this.#runId, agentName, parent: this.#parent, ...body });
  }
}

function isAgentRun(run: RunScope): run is AgentRunScope {
  return "addUsage" in run;
}

/**
 * A run in a session is identified by its turn id or, without one, by the conversation it continues; a run inside a call by
 * that call, counted because one call may start several. So a replay finds the same run id, and with it the same made ids.
 */
function toRunId(
  { session, history, prompt }: RequestSettings<unknown>,
  parent: ToolInvocationContext | undefined,
  scope: CallScope | undefined,
): string {
  if (session !== undefined) {
    const { key, turnId } = session;
    return turnId === undefined
      ? derivedRunId("conversation", key, String(history.length), prompt)
      : derivedRunId("turn", key, turnId);
  }
  if (parent === undefined) return randomRunId();
  return derivedRunId("call", parent.runId, parent.toolCallId, String(scope === undefined ? 0 : scope.nestedCalls++));
}

/** The ids that the conversation already uses, for calls and for results. */
function seenIds(messages: readonly Message[]): readonly string[] {
  return messages.flatMap((message) => {
    if (message.role === "tool") return [message.toolCallId];
    if (message.role === "user") return [];
    return message.content.filter(isToolCall).map(({ toolCallId = "" }) => toolCallId);
  });
}

function isToolCall(part: AssistantPart): part is ToolCallPart {
  return part.type === "tool-call";
}

function textOf(content: readonly AssistantPart[]): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The provider gets its own ids back, unless that would leave two calls of the turn with one id, or one with none. */
function toWireIds(calls: readonly ToolCallPart[], ids: readonly string[]): readonly string[] {
  const used = new Set<string>([""]);
  return calls.map(({ toolCallId = "" }, index) => {
    const id = used.has(toolCallId) ? (ids[index] ?? "") : toolCallId;
    used.add(id);
    return id;
  });
}

function withWireIds(content: readonly AssistantPart[], wireIds: readonly string[]): readonly AssistantPart[] {
  let index = 0;
  return content.map((part) => {
    if (part.type !== "tool-call") return part;
    const toolCallId = wireIds[index++];
    return part.toolCallId === toolCallId ? part : { ...part, toolCallId };
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidOutput(text, ["the answer is not JSON"], cause);
  }
}

/** A schema's own code, such as a transform, may throw on a value it did not expect. */
async function validateSafely<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  value: unknown,
  text: string,
): Promise<Validation<Output>> {
  try {
    return await validate(schema, value);
  } catch (cause) {
    throw invalidOutput(text, ["the schema failed on it"], cause);
  }
}

function invalidOutput(text: string, issues: readonly string[], cause?: unknown): ToolCallExtensionsError {
  const message = `the model's answer does not fit the output schema: ${issues.join("; ")}`;
  return new ToolCallExtensionsError("invalid-output", message, { text, issues }, { cause });
}

async function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  if (items.length <= limit) return Promise.all(items.map(work));
  const results: Result[] = [];
  const queue = items.entries();
  const drain = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: limit }, drain));
  return results;
}
