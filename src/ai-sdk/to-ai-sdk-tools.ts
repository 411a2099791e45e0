import type { StandardSchemaV1 } from "@standard-schema/spec";
import {
  invalidArgument,
  type JsonSchema,
  outcomeText,
  type Tool,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolError,
  type ToolOutcome,
  type ToolSet,
} from "../index.ts";
import { toAiSdkSchema } from "./ai-sdk-schema.ts";
import {
  assertSession,
  callInLoop,
  type ExecuteOptions,
  type GivenSession,
  type Host,
  nameRun,
} from "./call-in-loop.ts";

/** A tool for the `tools` of `generateText`, `streamText` and agents of `ai` 5, 6 and 7. */
export interface AiSdkTool {
  readonly description?: string;
  /** The AI SDK marks its schemas with a symbol whose type only it can name; a function that gives one fits all versions. */
  readonly inputSchema: () => never;
  /** Read by 6 and 7. */
  readonly needsApproval?:
    | boolean
    | ((input: unknown, options: Omit<ExecuteOptions, "abortSignal">) => Promise<boolean>);
  /** @throws ToolError with what the model may know of a failure. */
  readonly execute: (input: unknown, options: ExecuteOptions) => Promise<unknown>;
}

/** An {@link AiSdkTool} that finds its extensions in the context of the request. */
export interface AiSdkContextTool<Needs extends string> extends AiSdkTool {
  /** Read by 7, where `toolsContext` has to hold a map for each tool. */
  readonly contextSchema: StandardSchemaV1<unknown, ToolCallExtensions<Needs>>;
}

/** What the calls belong to. */
export interface AiSdkToolsOptions {
  /**
   * Gives the calls invocation keys, as `.session(key, { turnId })` of a prompt does. A function reads it from the
   * extensions, where the tools outlive a request.
   */
  readonly session?: GivenSession;
}

/**
 * Gives the tools of a set to the AI SDK's own loop. Each call sees the extensions and an invocation of its own: call id,
 * turn and parent, the signal, and a key where there is a session. `"from-context"` leaves the map to each request:
 * `experimental_context` in 5 and 6, `toolsContext` in 7.
 *
 * A tool that needs approval waits for it in 6 and 7; in 5, which has no approvals, its calls fail. Made inside a tool with
 * that tool's extensions, the calls have it as their parent.
 *
 * @throws ToolCallExtensionsError `missing-extension` when a token is absent that a tool needs; `invalid-argument`.
 * @example
 * ```ts
 * import { defineTool, extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 * import { toAiSdkTools } from "tool-call-extensions/ai-sdk";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const whose = defineTool({
 *   name: "whose",
 *   input: { type: "object" },
 *   requires: [Tenant],
 *   callWithExtensions: (_input, extensions) => extensions.require(Tenant),
 * });
 * const tools = toAiSdkTools(new ToolSet([whose]), new ToolCallExtensions().with(Tenant, "t-7"));
 * // generateText({ model, prompt, tools }) then does this:
 * const output = await tools["whose"]?.execute({}, { toolCallId: "call_abc", messages: [] });
 * if (output !== "t-7") throw new Error("not carried");
 * ```
 */
export function toAiSdkTools<Needs extends string>(
  tools: ToolSet<Needs>,
  extensions: ToolCallExtensions<NoInfer<Needs>>,
  options?: AiSdkToolsOptions,
): Readonly<Record<string, AiSdkTool>>;
export function toAiSdkTools<Needs extends string>(
  tools: ToolSet<Needs>,
  extensions: "from-context",
  options?: AiSdkToolsOptions,
): Readonly<Record<string, AiSdkContextTool<Needs>>>;
export function toAiSdkTools<Needs extends string>(
  tools: ToolSet<Needs>,
  extensions: ToolCallExtensions<NoInfer<Needs>> | "from-context",
  options: AiSdkToolsOptions = {},
): Readonly<Record<string, AiSdkTool>> {
  assertArguments(tools, extensions, options);
  const isFromContext = extensions === "from-context";
  const { session } = options;
  assertSession(session);
  // A later change to the caller's map is not seen, as in a run.
  const given = isFromContext ? undefined : checkNeeds(tools, extensions.snapshot());
  const host: Host<Needs> = {
    tools,
    session,
    runs: new WeakMap(),
    extensionsOf: ({ context, experimental_context }) => given ?? checkNeeds(tools, context ?? experimental_context),
  };
  // Now, as a call that is entered again makes its loops in the same order, but may not get to their calls in it.
  if (given !== undefined) nameRun(host, given, session !== undefined);
  const named = tools.definitions.flatMap(({ name, inputSchema }): [string, AiSdkTool][] => {
    const tool = tools.get(name);
    if (tool === undefined) return [];
    return [
      [name, { ...toTool(host, tool, inputSchema), ...(isFromContext && { contextSchema: contextSchema(tools) }) }],
    ];
  });
  // Without a prototype: the AI SDK would take `constructor`, which a model asked for, for one of the tools.
  const record: Record<string, AiSdkTool> = Object.create(null);
  return Object.assign(record, Object.fromEntries(named));
}

function assertArguments(tools: unknown, extensions: unknown, options: unknown): void {
  if (!Array.isArray(Object(tools).definitions)) throw invalidArgument("the tools", tools, "a ToolSet");
  if (extensions !== "from-context" && !ToolCallExtensions.is(extensions)) {
    throw invalidArgument("the extensions of these tools", extensions, 'a ToolCallExtensions or "from-context"');
  }
  if (typeof options !== "object" || options === null) {
    throw invalidArgument("the options of these tools", options, "an object");
  }
}

function toTool<Needs extends string>(host: Host<Needs>, tool: Tool, inputSchema: JsonSchema): AiSdkTool {
  const { name, description, input: schema, needsApproval } = tool;
  return {
    ...(description !== undefined && { description }),
    ...(needsApproval !== undefined && {
      needsApproval:
        typeof needsApproval === "boolean" ? needsApproval : (input, options) => asks(host, name, input, options),
    }),
    inputSchema: toAiSdkSchema(name, schema, inputSchema),
    execute: (input, options) => execute(host, name, input, options),
  };
}

async function execute<Needs extends string>(
  host: Host<Needs>,
  name: string,
  input: unknown,
  options: ExecuteOptions,
): Promise<unknown> {
  const extensions = host.extensionsOf(options);
  const call = callInLoop(host, { name, input, options, isBegun: true }, extensions);
  return toOutput(await host.tools.callWithExtensions(name, input, extensions, call), name);
}

/**
 * Gives the output as the model would read it, as JSON values: the AI SDK prints, stores and sends it itself. A failure is
 * thrown without its cause, which may hold a secret, and which the AI SDK would put into steps and spans; a middleware of
 * the set sees it.
 */
function toOutput(outcome: ToolOutcome, name: string): unknown {
  const text = outcomeText(outcome, name);
  if (outcome.status === "completed") {
    if (typeof outcome.output === "string" || outcome.output === undefined) return text;
    try {
      return JSON.parse(text);
    } catch {
      // The text was cut off where it became too long; the rest of it is what there is.
      return text;
    }
  }
  if (isRefused(outcome, name)) {
    throw new ToolError(`Tool "${name}" needs approval, and the conversation holds none for this call.`);
  }
  const isCallers = outcome.status === "failed" && (outcome.kind === "aborted" || outcome.kind === "missing-extension");
  throw isCallers ? outcome.error : new ToolError(text);
}

function isRefused(outcome: ToolOutcome, name: string): boolean {
  if (outcome.status !== "failed" || !ToolCallExtensionsError.is(outcome.error)) return false;
  // A call that the tool made may have been refused, too.
  return outcome.error.code === "approval-required" && outcome.error.details.toolName === name;
}

async function asks<Needs extends string>(
  host: Host<Needs>,
  name: string,
  input: unknown,
  options: Omit<ExecuteOptions, "abortSignal">,
): Promise<boolean> {
  const extensions = host.extensionsOf(options);
  const call = callInLoop(host, { name, input, options, isBegun: false }, extensions);
  return await host.tools["~asksApproval"](name, input, extensions, call);
}

function contextSchema<Needs extends string>(tools: ToolSet<Needs>): AiSdkContextTool<Needs>["contextSchema"] {
  const validate = (value: unknown): StandardSchemaV1.Result<ToolCallExtensions<Needs>> => {
    try {
      return { value: checkNeeds(tools, value) };
    } catch (error) {
      return { issues: [{ message: error instanceof Error ? error.message : String(error) }] };
    }
  };
  return { "~standard": { version: 1, vendor: "tool-call-extensions", validate } };
}

function checkNeeds<Needs extends string>(tools: ToolSet<Needs>, value: unknown): ToolCallExtensions<Needs> {
  if (!ToolCallExtensions.is(value)) {
    const expected = "a ToolCallExtensions in toolsContext (ai 7) or experimental_context (ai 5 and 6)";
    throw invalidArgument("the context of these tools", value, expected);
  }
  const [first, ...others] = tools.requires;
  return first === undefined ? value : value.expect(first, ...others);
}
