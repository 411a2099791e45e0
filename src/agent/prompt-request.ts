import type { StandardSchemaV1 } from "@standard-schema/spec";
import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { isExtensionMap } from "../extensions/extension-map.ts";
import { isStandardSchema } from "../extensions/extension-token.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import type { InnerRunPort } from "../tool/dispatch.ts";
import { toJsonSchema } from "../tool/input-schema.ts";
import type { MissingToolExtension } from "../tool/needs.ts";
import type { Agent } from "./agent.ts";
import type { Message } from "./model.ts";
import type { RunEvent, RunListener } from "./run-events.ts";
import type { RunResult } from "./run-result.ts";
import { assertAgents, type Decision, decide, type PendingCall, type RunState, readRunState } from "./run-state.ts";
import { Runner } from "./runner.ts";

/** What the keys of a run's calls are made from. */
interface Session {
  readonly key: string;
  readonly turnId: string | undefined;
}

/** What a request holds; the runner reads it. */
export interface RequestSettings<Output> {
  readonly agent: Agent<string>;
  readonly prompt: string;
  readonly history: readonly Message[];
  readonly extensions: ToolCallExtensions<string>;
  readonly session: Session | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maxTurns: number | undefined;
  readonly listeners: readonly RunListener[];
  /** Where a resumed run goes on from. */
  readonly state: RunState | undefined;
  readonly onCheckpoint: ((state: RunState) => void | Promise<void>) | undefined;
  /** Where a sub-agent's run keeps its state. */
  readonly innerRun: InnerRunPort | undefined;
  readonly outputSchema: StandardSchemaV1<unknown, Output> | undefined;
}

/**
 * Is one prompt, built up and then run. Immutable: every method gives a new request. Nothing runs until `.run()` or
 * `.stream()`, and each of those runs anew; it is not a promise, so `await request` runs nothing.
 *
 * `Needs` is the union of token ids still missing: until it is empty, `.run` and `.stream` are no functions for the
 * compiler, and at run time they reject before the first model call.
 */
export interface PromptRequest<Needs extends string, Output> {
  /** Keeps a request that lacks something from passing for one that does not; never present at run time. */
  readonly "~needs"?: (() => Needs) | undefined;
  /** Adds the entries of a map as it is now; later calls win. What is inserted into it afterwards is not seen. */
  toolExtensions<Has extends string>(extensions: ToolCallExtensions<Has>): PromptRequest<Exclude<Needs, Has>, Output>;
  /**
   * Gives the run's calls invocation keys, for idempotent side effects. `key` names what the conversation belongs to, such as
   * a chat's id; `turnId` names this prompt within it, such as the id of the user's message. Without a turn id, the same prompt
   * after the same number of messages counts as the same run again, with the same keys.
   */
  session(key: string, options?: { readonly turnId?: string | undefined }): PromptRequest<Needs, Output>;
  /** Puts earlier messages before the prompt, such as `result.messages` of the last run. */
  history(messages: readonly Message[]): PromptRequest<Needs, Output>;
  /** Aborts the run with the signal: the model call, every tool and every sub-agent. */
  signal(signal: AbortSignal): PromptRequest<Needs, Output>;
  /** Limits the model calls of the run; the agent's own limit, or 20, where it is not called. */
  maxTurns(maxTurns: number): PromptRequest<Needs, Output>;
  /** Asks for a structured answer: `result.output` is the schema's value. */
  output<Structured>(schema: StandardSchemaV1<unknown, Structured>): PromptRequest<Needs, Structured>;
  /**
   * Saves the run's state, awaited before tools run and after each result: what is saved is never ahead of what happened. A
   * run in a later process resumes from the last one. A save that fails ends the run; one that hangs holds it, an abort
   * included.
   */
  onCheckpoint(save: (state: RunState) => void | Promise<void>): PromptRequest<Needs, Output>;
  /** Approves a call of a resumed run that waits. @throws ToolCallExtensionsError `unknown-call` when none does. */
  approve(call: string | PendingCall): PromptRequest<Needs, Output>;
  /** Rejects a call of a resumed run that waits; the model reads the reason. @throws ToolCallExtensionsError `unknown-call`. */
  reject(call: string | PendingCall, reason?: string): PromptRequest<Needs, Output>;
  /** Adds a listener. */
  on(listener: RunListener): PromptRequest<Needs, Output>;
  /**
   * Runs to the end.
   *
   * @throws ToolCallExtensionsError `missing-extension`, `model-failed`, `max-turns`, `invalid-output`; the signal's reason
   * when the run is aborted.
   */
  readonly run: [Needs] extends [never] ? () => Promise<RunResult<Output>> : MissingToolExtension<Needs>;
  /** Runs while it is iterated, and aborts when the iteration is left early. Throws what `.run` rejects with. */
  readonly stream: [Needs] extends [never] ? () => AsyncGenerator<RunEvent, void> : MissingToolExtension<Needs>;
  readonly "~settings": RequestSettings<Output>;
}

const defaultRunner: Runner = /* @__PURE__ */ new Runner();

/** The invocation needs no giving: dispatch makes it. */
type NewRequest<Needs extends string> = PromptRequest<Exclude<Needs, "tool-invocation">, string>;

export function promptRequest<Needs extends string>(agent: Agent<Needs>, prompt: string): NewRequest<Needs> {
  if (typeof prompt !== "string") throw invalidArgument("the prompt", prompt, "a string");
  return build({ ...emptySettings(agent), prompt });
}

/** Goes on with a run from its state. @throws ToolCallExtensionsError `invalid-state`, naming the field. */
export function resumeRequest<Needs extends string>(agent: Agent<Needs>, value: unknown): NewRequest<Needs> {
  const state = readRunState(value);
  assertAgents(state, agent);
  return build({ ...emptySettings(agent), state });
}

/** Makes the request of a run whose state is kept by the call that it is inside of. */
export function insideCall<Needs extends string, Output>(
  request: PromptRequest<Needs, Output>,
  innerRun: InnerRunPort | undefined,
): PromptRequest<Needs, Output> {
  return build({ ...request["~settings"], innerRun });
}

function emptySettings<Needs extends string>(agent: Agent<Needs>): RequestSettings<string> {
  return {
    // What the agent needs is in the request's type.
    agent: agent as Agent<string>,
    prompt: "",
    history: [],
    extensions: new ToolCallExtensions<string>().snapshot(),
    session: undefined,
    signal: undefined,
    maxTurns: undefined,
    listeners: [],
    state: undefined,
    onCheckpoint: undefined,
    innerRun: undefined,
    outputSchema: undefined,
  };
}

function build<Needs extends string, Output>(settings: RequestSettings<Output>): PromptRequest<Needs, Output> {
  const change = (changes: Partial<RequestSettings<Output>>): PromptRequest<Needs, Output> =>
    build({ ...settings, ...changes });
  const request = {
    toolExtensions: <Has extends string>(extensions: ToolCallExtensions<Has>) =>
      build<Exclude<Needs, Has>, Output>({ ...settings, extensions: merged(settings.extensions, extensions) }),
    session: (key: string, { turnId }: { readonly turnId?: string | undefined } = {}) => {
      if (settings.state !== undefined) throw notOnResume(".session()", "its calls keep the keys they have");
      if (typeof key !== "string" || key === "") throw invalidArgument("the session key", key, "a non-empty string");
      if (turnId !== undefined && (typeof turnId !== "string" || turnId === "")) {
        throw invalidArgument("the turn id", turnId, "a non-empty string");
      }
      return change({ session: { key, turnId } });
    },
    history: (history: readonly Message[]) => {
      if (settings.state !== undefined) throw notOnResume(".history()", "the state holds its conversation");
      if (!Array.isArray(history)) throw invalidArgument("the argument of .history()", history, "an array of messages");
      for (const message of history) {
        if (!isMessage(message)) throw invalidArgument("a message of .history()", message, MESSAGE);
      }
      return change({ history: [...history] });
    },
    signal: (signal: AbortSignal) => {
      if (typeof signal?.addEventListener !== "function") {
        throw invalidArgument("the argument of .signal()", signal, "an AbortSignal");
      }
      return change({ signal });
    },
    maxTurns: (maxTurns: number) => change({ maxTurns: checkMaxTurns(maxTurns) }),
    output: <Structured>(schema: StandardSchemaV1<unknown, Structured>) => {
      if (!isStandardSchema(schema)) throw invalidArgument("the argument of .output()", schema, "a Standard Schema");
      toJsonSchema(schema, "the output");
      return build<Needs, Structured>({ ...settings, outputSchema: schema });
    },
    onCheckpoint: (save: (state: RunState) => void | Promise<void>) => {
      if (typeof save !== "function") throw invalidArgument("the argument of .onCheckpoint()", save, "a function");
      return change({ onCheckpoint: save });
    },
    approve: (call: string | PendingCall) => change({ state: decided(settings.state, call, { isApproved: true }) }),
    reject: (call: string | PendingCall, reason?: string) =>
      change({ state: decided(settings.state, call, { isApproved: false, reason }) }),
    on: (listener: RunListener) => {
      if (typeof listener !== "function") throw invalidArgument("the argument of .on()", listener, "a function");
      return change({ listeners: [...settings.listeners, listener] });
    },
    run: () => defaultRunner.run(request as PromptRequest<never, Output>),
    stream: () => defaultRunner.stream(request as PromptRequest<never, Output>),
    "~settings": settings,
  };
  // The two conditional members are functions at run time whatever `Needs` is: without the compiler they fail by name.
  return Object.freeze(request) as PromptRequest<Needs, Output>;
}

const MESSAGE = "one of role user or tool with a text, or of role assistant with a content array";

/** What the loop reads of a message: a conversation may come from a store. */
function isMessage(message: Message): boolean {
  if (message?.role === "user" || message?.role === "tool") return typeof message.text === "string";
  if (message?.role !== "assistant" || !Array.isArray(message.content)) return false;
  return message.content.every((part) => typeof part?.type === "string");
}

function notOnResume(method: string, reason: string): ToolCallExtensionsError {
  const [received, expected] = ["a resumed run", `called on a new prompt only: ${reason}`];
  const message = `${method} must be ${expected}; received ${received}`;
  return new ToolCallExtensionsError("invalid-argument", message, { argument: method, received, expected });
}

function decided(state: RunState | undefined, call: string | PendingCall, decision: Decision): RunState {
  if (state !== undefined) return decide(state, call, decision);
  throw invalidArgument("a request with a decision", undefined, "made by agent.resume(state)");
}

function merged(earlier: ToolCallExtensions<string>, later: ToolCallExtensions<never>): ToolCallExtensions<string> {
  if (!isExtensionMap(later)) throw invalidArgument("the argument of .toolExtensions()", later, "a ToolCallExtensions");
  if (earlier.isEmpty) return later.snapshot();
  // Not a clone, which would copy values whose token says so: a run shares what its caller has.
  const both = new ToolCallExtensions<string>();
  both.extend(earlier);
  both.extend(later);
  return both.snapshot();
}

export function checkMaxTurns(maxTurns: number): number {
  if (Number.isInteger(maxTurns) && maxTurns > 0) return maxTurns;
  throw invalidArgument("maxTurns", maxTurns, "a positive integer");
}
