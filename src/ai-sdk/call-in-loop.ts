import { invalidArgument, type ToolCallExtensions, ToolError, ToolInvocationContext, type ToolSet } from "../index.ts";
import { placeInConversation } from "./place-in-conversation.ts";

/** What the AI SDK hands a tool with its input: `experimental_context` in 5 and 6, `context` in 7. */
export interface ExecuteOptions {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly abortSignal?: AbortSignal | undefined;
  readonly experimental_context?: unknown;
  readonly context?: unknown;
}

interface Session {
  readonly key: string;
  readonly turnId?: string | undefined;
}

export type GivenSession = Session | ((extensions: ToolCallExtensions) => Session | undefined) | undefined;

/** What the tools of one `toAiSdkTools` have in common. */
export interface Host<Needs extends string> {
  readonly tools: ToolSet<Needs>;
  readonly session: GivenSession;
  /** Where no session identifies the run, the request's map does: tools that outlive a request see one for each. */
  readonly runs: WeakMap<object, string>;
  extensionsOf(options: Partial<ExecuteOptions>): ToolCallExtensions<Needs>;
}

interface HostRequest {
  readonly name: string;
  readonly input: unknown;
  readonly options: ExecuteOptions;
  /** Whether the call begins now; a question about it does not make the next one another. */
  readonly isBegun: boolean;
}

type CallOptions = NonNullable<Parameters<ToolSet["callWithExtensions"]>[3]>;

/** Identifies a call by the session, by the loop it is made in, and by the messages its tool is handed. */
export function callInLoop<Needs extends string>(
  host: Host<Needs>,
  { name, input, options, isBegun }: HostRequest,
  extensions: ToolCallExtensions<Needs>,
): CallOptions {
  const { toolCallId, abortSignal } = options;
  // A caller of its own may leave them out.
  const messages = Array.isArray(options.messages) ? options.messages : [];
  const session = sessionOf(host, name, extensions);
  const { question, isWaiting, ...place } = placeInConversation({ toolCallId, toolName: name, input }, messages);
  const loop = session?.turnId === undefined ? nameRun(host, extensions, session !== undefined) : "";
  const run = [session?.key ?? "", loop, ...(session?.turnId === undefined ? question : [session.turnId])];
  // A call that waited is told by the messages, which a second try may bring again in the same array.
  const repeat = isWaiting ? 0 : countRepeats(messages, JSON.stringify([run, toolCallId]), isBegun);
  return { toolCallId, sessionKey: session?.key, signal: abortSignal, host: { run, ...place, repeat } };
}

/**
 * The calls of one answer are handed the same array, and another than those of every other answer. Outside the set, as
 * one loop may have the tools of several.
 */
const begun = new WeakMap<object, Map<string, number>>();

function countRepeats(messages: readonly unknown[], call: string, isBegun: boolean): number {
  const counts = begun.get(messages) ?? new Map<string, number>();
  const count = counts.get(call) ?? 0;
  if (isBegun) begun.set(messages, counts.set(call, count + 1));
  return count;
}

/** Inside a call its loops are numbered, as the runs are that it starts; elsewhere a session is enough. */
export function nameRun<Needs extends string>(
  { runs, tools }: Host<Needs>,
  extensions: ToolCallExtensions<Needs>,
  hasSession: boolean,
): string {
  const isInCall = extensions.has(ToolInvocationContext);
  if (hasSession && !isInCall) return "";
  // Not `randomUUID`, which pages without TLS lack.
  const makeName = (): string => crypto.getRandomValues(new Uint32Array(4)).join("-");
  const run = runs.get(extensions) ?? tools["~numberRun"](extensions)?.toString() ?? makeName();
  runs.set(extensions, run);
  return run;
}

/** What a session's function throws may hold a value of the map, and the AI SDK would show it to the model. */
function sessionOf<Needs extends string>(
  { session }: Host<Needs>,
  name: string,
  extensions: ToolCallExtensions<Needs>,
): Session | undefined {
  if (typeof session !== "function") return session;
  let made: Session | undefined;
  try {
    made = session(extensions);
  } catch {
    throw new ToolError(`Tool "${name}" failed.`);
  }
  assertSession(made);
  return made;
}

/** A session without a key would leave the calls without keys, and nobody would be told. */
export function assertSession(session: GivenSession): void {
  if (session === undefined || typeof session === "function") return;
  const { key, turnId } = Object(session) as Partial<Session>;
  const isTurnId = turnId === undefined || (typeof turnId === "string" && turnId !== "");
  if (typeof key === "string" && key !== "" && isTurnId) return;
  const expected = "{ key, turnId }, each a non-empty string, or a function that gives one";
  throw invalidArgument("option session", session, expected);
}
