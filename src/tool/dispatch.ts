import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { missingExtension, missingTokens } from "../extensions/missing-extension.ts";
import type { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { Cancellation } from "../invocation/cancellation.ts";
import { runAsCurrent } from "../invocation/current-invocation.ts";
import {
  Invocation,
  type InvocationFields,
  type InvocationScope,
  scopeOf,
  ToolInvocationContext,
} from "../invocation/invocation-context.ts";
import { type Validation, validateInput } from "./input-schema.ts";
import type { ToolCall, ToolHandler, ToolMiddleware } from "./middleware.ts";
import { enterTool, type Tool } from "./tool.ts";
import type { ToolEvent } from "./tool-events.ts";
import { pausedState, type ToolOutcome, toOutcome, unwrapResult } from "./tool-result.ts";

/** What the calls of one run share; nested calls and sub-agents find it through their parent. */
export interface RunScope {
  /** Absent where nobody listens, so that no event is made. */
  readonly emit: ((event: ToolEvent) => void) | undefined;
  readonly middleware: readonly ToolMiddleware[];
  /** Hears of calls made by name inside the run's calls. */
  track?(work: Promise<unknown>): void;
  /** The same run with other ears, for one call of it. */
  withEmit(emit: RunScope["emit"]): RunScope;
}

/** What one call keeps for what happens inside it. */
export interface CallScope extends InvocationScope {
  readonly run: RunScope;
  readonly cancellation: Cancellation;
  /** Where a sub-agent's run inside the call keeps its state; absent where a pause could not be resumed. */
  readonly innerRun: InnerRunPort | undefined;
  /** One object for all attempts of the call. */
  readonly progress: CallProgress;
}

/** What the outer run keeps of a sub-agent's run. */
export interface InnerRunPort {
  /** The latest state, from which the inner run goes on when its call is entered again. */
  state(): object | undefined;
  /** Takes the way to write the latest state down: it is seldom asked for, and costs as much as the run is long. */
  keep(state: () => object): void;
  /** Waits until the outer run is saved with what was kept. */
  save(): Promise<void>;
}

interface CallProgress {
  /** Until the call's end has been reported; what a tool does after it is ignored. */
  isOpen: boolean;
  /** The latest attempt's. */
  invocation: ToolInvocationContext;
}

export const OUTSIDE_A_RUN: RunScope = {
  emit: undefined,
  middleware: [],
  withEmit: (emit) => ({ ...OUTSIDE_A_RUN, emit }),
};

/** What may be called, and how. */
export interface DispatchTarget {
  readonly tools: ReadonlyMap<string, Tool>;
  /** The middleware around {@link performCall}. */
  readonly handler: ToolHandler;
}

export interface DispatchRequest {
  readonly input: unknown;
  readonly extensions: ToolCallExtensions<string>;
  readonly call: InvocationFields;
  readonly run: RunScope;
  /** This call's own; disposed when the call has ended. */
  readonly cancellation: Cancellation;
  readonly innerRun?: InnerRunPort | undefined;
  /** What was decided about the call before it could run; the tool is then not entered. */
  readonly verdict?: ToolOutcome | undefined;
}

/**
 * Runs one tool call: the only place that does, whatever started it. Never rejects: a failure is an outcome.
 *
 * The invocation is bound last, so that no caller can spoof it, and before the needs are checked, so that every event
 * has it.
 */
export function dispatch(target: DispatchTarget, request: DispatchRequest): Promise<ToolOutcome> {
  const open = new OpenCall(request);
  const { invocation } = open;
  const extensions = request.extensions["~bind"](ToolInvocationContext, invocation);
  request.run.emit?.(requested(request.input, invocation, extensions));
  try {
    return open.cancellation.raceTo(perform(target, request, { extensions, invocation }), open);
  } catch (error) {
    return Promise.resolve(open.failed(error));
  }
}

/** What one call is from its first event to its last. A class, because closures for the two ends take 300 bytes a call. */
class OpenCall implements CallScope {
  readonly run: RunScope;
  readonly cancellation: Cancellation;
  readonly innerRun: InnerRunPort | undefined;
  readonly progress: CallProgress;
  readonly invocation: Invocation;
  nestedCalls = 0;
  readonly #input: unknown;

  constructor({ run, cancellation, innerRun, input, call }: DispatchRequest) {
    this.run = run;
    this.cancellation = cancellation;
    this.innerRun = innerRun;
    this.#input = input;
    this.invocation = new Invocation(call, this);
    this.progress = { isOpen: true, invocation: this.invocation };
  }

  done(outcome: ToolOutcome): ToolOutcome {
    if (!isOutcome(outcome)) return this.failed(notAnOutcome(outcome));
    const { progress, cancellation, run } = this;
    progress.isOpen = false;
    cancellation.dispose();
    if (outcome.status !== "paused") run.emit?.(ended(this.#input, progress.invocation, outcome));
    return outcome;
  }

  failed(error: unknown): ToolOutcome {
    return this.done(toFailure(error, this.invocation, this.cancellation));
  }
}

/** Not `async`: a promise, and the turns of the queue that it takes, are a good part of what a call costs. */
function perform(
  { tools, handler }: DispatchTarget,
  { cancellation, verdict, input }: DispatchRequest,
  bound: Pick<ToolCall, "extensions" | "invocation">,
): ToolOutcome | Promise<ToolOutcome> {
  cancellation.throwIfAborted();
  if (verdict !== undefined) return verdict;
  const tool = tools.get(bound.invocation.toolName);
  if (tool === undefined) return unknownTool(bound.invocation.toolName, tools.keys());
  const lack = missingOutcome(tool, bound.extensions);
  if (lack !== undefined) return lack;
  const enter = (validation: Validation<unknown>): ToolOutcome | Promise<ToolOutcome> => {
    cancellation.throwIfAborted();
    if (validation.issues !== undefined) return invalidInput(tool.name, validation.issues);
    return handler({ tool, input: validation.value, extensions: bound.extensions, invocation: bound.invocation });
  };
  const validation = validateInput(tool.input, input);
  return validation instanceof Promise ? validation.then(enter) : enter(validation);
}

/** The innermost handler: enters the tool with the invocation as the current one, to the last step of a generator. */
export function performCall(call: ToolCall): Promise<ToolOutcome> {
  return runAsCurrent(call.invocation, () => enter(call));
}

async function enter(call: ToolCall): Promise<ToolOutcome> {
  const { invocation } = call;
  const scope = scopeOf<CallScope>(invocation);
  // A middleware may have handed on another map: what a tool sees is read-only and has the invocation.
  const isAsBound = call.extensions.isReadOnly && call.extensions.get(ToolInvocationContext) === invocation;
  const extensions = isAsBound ? call.extensions : call.extensions["~bind"](ToolInvocationContext, invocation);
  try {
    scope?.cancellation.throwIfAborted();
    // The input was validated by the schema from which the tool's input type was taken. Awaited here, inside the
    // accessor's scope: a query builder, say, begins to work when it is awaited.
    const returned: unknown = await enterTool(call.tool, call.input as never, extensions);
    return toOutcome(isAsyncIterable(returned) ? await drain(returned, invocation, scope) : returned);
  } catch (error) {
    return toFailure(error, invocation, scope?.cancellation);
  }
}

/** Each item is progress; the result is the generator's return value or, where it has none, the last item. */
async function drain(
  items: AsyncIterable<unknown>,
  invocation: ToolInvocationContext,
  scope: CallScope | undefined,
): Promise<unknown> {
  const iterator = items[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return step.value === undefined ? last : step.value;
    last = step.value;
    if (scope?.progress.isOpen && !scope.cancellation.isAborted) scope.run.emit?.(progressed(invocation, last));
    // Asked after the listeners, of which one may have aborted the call: the tool takes no step more.
    if (scope?.cancellation.isAborted) {
      await iterator.return?.();
      throw scope.cancellation.reason;
    }
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function toFailure(
  error: unknown,
  invocation: ToolInvocationContext,
  cancellation: Cancellation | undefined,
): ToolOutcome {
  const state = pausedState(error);
  if (state !== undefined) return { status: "paused", state, invocation };
  if (cancellation?.isAborted) return { status: "failed", kind: "aborted", error: cancellation.reason };
  const isMissing = ToolCallExtensionsError.is(error) && error.code === "missing-extension";
  return { status: "failed", kind: isMissing ? "missing-extension" : "error", error };
}

export function missingOutcome(tool: Tool, extensions: ToolCallExtensions<string>): ToolOutcome | undefined {
  if (tool.requires === undefined) return undefined;
  const missing = missingTokens(extensions, tool.requires);
  if (missing.length === 0) return undefined;
  const error = missingExtension(missing, extensions.tokens(), ` for tool "${tool.name}"`);
  return { status: "failed", kind: "missing-extension", error };
}

export function unknownTool(toolName: string, tools: Iterable<string>): ToolOutcome {
  const available = [...tools];
  const shown = available.slice(0, 50).join(", ");
  const more = available.length > 50 ? ` and ${available.length - 50} more` : "";
  const message = `There is no tool "${toolName}". Available: ${shown === "" ? "none" : shown + more}.`;
  const error = new ToolCallExtensionsError("unknown-tool", message, { toolName, available });
  return { status: "failed", kind: "unknown-tool", error };
}

export function invalidInput(toolName: string, issues: readonly string[]): ToolOutcome {
  const message = `The arguments for tool "${toolName}" are not valid: ${issues.join("; ")}`;
  const error = new ToolCallExtensionsError("invalid-input", message, { toolName, issues });
  return { status: "failed", kind: "invalid-input", error };
}

function progressed(invocation: ToolInvocationContext, item: unknown): ToolEvent {
  return { type: "tool-progress", at: Date.now(), invocation, output: unwrapResult(item) };
}

/** Written in JavaScript, a middleware may forget to return. */
function isOutcome(outcome: ToolOutcome | undefined): boolean {
  return outcome?.status === "completed" || outcome?.status === "failed" || outcome?.status === "paused";
}

function notAnOutcome(received: unknown): ToolCallExtensionsError {
  return invalidArgument("what a middleware returns", received, "a ToolOutcome, such as that of next(call)");
}

function requested(input: unknown, invocation: Invocation, extensions: ToolCallExtensions<string>): ToolEvent {
  return { type: "tool-requested", at: Date.now(), invocation, input, tokenIds: extensions.toJSON() };
}

function ended(
  input: unknown,
  invocation: ToolInvocationContext,
  outcome: Exclude<ToolOutcome, { readonly status: "paused" }>,
): ToolEvent {
  const base = { at: Date.now(), invocation, input };
  if (outcome.status === "failed") return { type: "tool-failed", ...base, kind: outcome.kind, error: outcome.error };
  return { type: "tool-completed", ...base, output: outcome.output, resultExtensions: outcome.resultExtensions };
}
