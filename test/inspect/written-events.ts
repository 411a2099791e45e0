import {
  type RunEvent,
  ToolCallExtensions,
  type ToolFailureKind,
  type ToolInvocationContext,
} from "tool-call-extensions";

// Events with chosen times: what a run of its own makes begins whenever the machine gets to it.

type Call = Partial<ToolInvocationContext> & { readonly toolCallId: string };

export function call(fields: Call): ToolInvocationContext {
  return {
    providerToolCallId: undefined,
    toolName: "lookup",
    invocationKey: undefined,
    sessionKey: undefined,
    runId: "run_1",
    agentName: "desk",
    turn: 1,
    index: 0,
    batchSize: 1,
    attempt: 1,
    isRemote: false,
    parent: undefined,
    signal: new AbortController().signal,
    ...fields,
  };
}

export function requested(at: number, invocation: ToolInvocationContext, tokenIds: readonly string[] = []): RunEvent {
  return { type: "tool-requested", at, invocation, input: {}, tokenIds };
}

export function completed(at: number, invocation: ToolInvocationContext): RunEvent {
  return { type: "tool-completed", at, invocation, input: {}, output: "", resultExtensions: undefined };
}

export function retried(at: number, invocation: ToolInvocationContext): RunEvent {
  return { type: "tool-retried", at, invocation, error: new Error("unseen") };
}

export function failed(at: number, invocation: ToolInvocationContext, kind: ToolFailureKind): RunEvent {
  return { type: "tool-failed", at, invocation, input: {}, kind, error: new Error("unseen") };
}

/** The events of one run. */
export class WrittenRun {
  readonly #base: Pick<Extract<RunEvent, { type: "run-started" }>, "runId" | "agentName" | "parent">;

  constructor(runId = "run_1", agentName = "desk", parent?: ToolInvocationContext) {
    this.#base = { runId, agentName, parent };
  }

  started(at: number): RunEvent {
    return { type: "run-started", at, ...this.#base };
  }

  asked(at: number, turn: number): RunEvent {
    return { type: "turn-started", at, turn, ...this.#base };
  }

  answered(at: number, turn: number): RunEvent {
    return { type: "turn-completed", at, turn, message: { role: "assistant", content: [] }, ...this.#base };
  }

  paused(at: number, waiting: readonly string[]): RunEvent {
    const { agentName } = this.#base;
    const pending = waiting.map((toolCallId) => {
      return { toolCallId, toolName: "pay", input: {}, agentName, invocationKey: undefined, path: [] };
    });
    return { type: "run-paused", at, pending, ...this.#base };
  }

  failed(at: number, error: unknown): RunEvent {
    return { type: "run-failed", at, error, ...this.#base };
  }

  completed(at: number): RunEvent {
    const { runId } = this.#base;
    const usage = { inputTokens: 30, outputTokens: 12 };
    const rest = { turns: 1, messages: [], finishReason: "stop", resultExtensions: new ToolCallExtensions<string>() };
    return {
      type: "run-completed",
      at,
      result: { status: "completed", output: "", runId, usage, ...rest },
      ...this.#base,
    };
  }
}

/** Deeper than functions can call each other: each call inside the one before, or in a sub-agent's run inside it. */
export function nestedCalls(depth: number, isAgents: boolean): readonly RunEvent[] {
  const events: RunEvent[] = [];
  let parent: ToolInvocationContext | undefined;
  for (let level = 0; level < depth; level++) {
    const runId = isAgents ? `run_${level}` : "run_0";
    if (isAgents) events.push(new WrittenRun(runId, "agent", parent).started(1_000 + level));
    parent = call({ toolCallId: `call_${level}`, runId, parent });
    events.push(requested(1_000 + level, parent, ["tenant"]));
  }
  return events;
}

export function callsBeside(count: number): readonly RunEvent[] {
  const run = new WrittenRun();
  const calls = Array.from({ length: count }, (_, index) => {
    const invocation = call({ toolCallId: `call_${index}`, index, batchSize: count });
    return [requested(1_000 + index, invocation, ["tenant", "auth-token"]), completed(1_100 + index, invocation)];
  });
  return [run.started(1_000), ...calls.flat(), run.completed(2_000 + count)];
}
