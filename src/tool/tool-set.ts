import { invalidArgument, ToolCallExtensionsError } from "../errors.ts";
import { isExtensionMap } from "../extensions/extension-map.ts";
import type { AnyExtensionToken } from "../extensions/extension-token.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { Cancellation } from "../invocation/cancellation.ts";
import { scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { type ApprovalQuestion, approvalRequired, checkApproval } from "./approval.ts";
import { checkCallOptions, identify, type ToolSetCallOptions } from "./call-options.ts";
import {
  type CallScope,
  type DispatchRequest,
  dispatch,
  OUTSIDE_A_RUN,
  performCall,
  type RunScope,
} from "./dispatch.ts";
import { makeEmit } from "./emit.ts";
import { type JsonSchema, toObjectSchema } from "./input-schema.ts";
import { composeMiddleware, type ToolHandler, type ToolMiddleware } from "./middleware.ts";
import type { MissingToolExtension } from "./needs.ts";
import { withRetries } from "./retry.ts";
import { assertTool, type Tool } from "./tool.ts";
import type { ToolOutcome } from "./tool-result.ts";

/** What a model is told of a tool. */
export interface ToolDefinitionForModel {
  readonly name: string;
  readonly description: string | undefined;
  readonly inputSchema: JsonSchema;
}

export interface ToolSetOptions {
  /** Runs around every call of this set, inside the runner's; the first is outermost. */
  readonly middleware?: readonly ToolMiddleware[] | undefined;
}

type CallByName = (name: string, input: unknown, options?: ToolSetCallOptions) => Promise<ToolOutcome>;

type CallWithMap = (
  name: string,
  input: unknown,
  extensions: ToolCallExtensions<never>,
  options?: ToolSetCallOptions,
) => Promise<ToolOutcome>;

/**
 * Holds tools by name and calls them. Called from inside a tool with that tool's extensions, it makes a nested call whose
 * parent is the running one.
 *
 * @throws ToolCallExtensionsError `duplicate-tool`, `unsupported-schema`, `invalid-argument` when it is built.
 * @example
 * ```ts
 * import { defineTool, extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const whose = defineTool({
 *   name: "whose",
 *   input: { type: "object" },
 *   requires: [Tenant],
 *   callWithExtensions: (_input, extensions) => extensions.require(Tenant),
 * });
 * const tools = new ToolSet([whose]);
 * const outcome = await tools.callWithExtensions("whose", {}, new ToolCallExtensions().with(Tenant, "t-7"));
 * if (outcome.status !== "completed" || outcome.output !== "t-7") throw new Error("not carried");
 *
 * const unknown = await tools.callWithExtensions("who", {}, new ToolCallExtensions().with(Tenant, "t-7"));
 * if (unknown.status !== "failed" || unknown.kind !== "unknown-tool") throw new Error("found a tool");
 * ```
 */
export class ToolSet<Needs extends string = never> {
  readonly #tools = new Map<string, Tool>();
  readonly #middleware: readonly ToolMiddleware[];
  readonly #handler: ToolHandler;
  /** What a model is told, in the order the tools were given. */
  readonly definitions: readonly ToolDefinitionForModel[];
  /** The tokens that some tool needs, each once. */
  readonly requires: readonly AnyExtensionToken<Needs>[];
  /** Calls a tool with an empty map; there for the compiler only when no tool needs an extension. */
  readonly call: [Needs] extends [never] ? CallByName : MissingToolExtension<Needs>;

  constructor(tools: readonly Tool<never, unknown, Needs>[], options: ToolSetOptions = {}) {
    if (!Array.isArray(tools)) throw invalidArgument("the tools of a ToolSet", tools, "an array of tools");
    for (const tool of tools) this.#add(tool);
    this.#middleware = checkMiddleware(options.middleware);
    this.#handler = composeMiddleware(this.#middleware, withRetries(performCall));
    this.definitions = tools.map(({ name, description, input }) => {
      return { name, description, inputSchema: toObjectSchema(input, `tool "${name}"`) };
    });
    // What the library makes itself is there without being given.
    this.requires = [...new Set(tools.flatMap(({ requires }) => requires ?? []))].filter(
      (token) => !token["~reserved"],
    );
    this.call = callable((name, input, callOptions) => this.#call(name, input, new ToolCallExtensions(), callOptions));
  }

  get size(): number {
    return this.#tools.size;
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** Calls a tool; never rejects for a tool's failure, which is an outcome. */
  callWithExtensions(
    name: string,
    input: unknown,
    extensions: ToolCallExtensions<Needs>,
    options: ToolSetCallOptions = {},
  ): Promise<ToolOutcome> {
    return this.#call(name, input, extensions, options);
  }

  /** Dispatches to the tool of this name, with the middleware of the run around this set's. */
  "~dispatch"(request: DispatchRequest): Promise<ToolOutcome> {
    const { middleware } = request.run;
    const handler = middleware.length === 0 ? this.#handler : composeMiddleware(middleware, this.#handler);
    return dispatch({ tools: this.#tools, handler }, request);
  }

  /** Asks whether a call has to wait for approval; yes where the question cannot be put, as what was not asked about must not run. */
  async "~asksApproval"(
    name: string,
    input: unknown,
    extensions: ToolCallExtensions<never>,
    options: ToolSetCallOptions,
  ): Promise<boolean> {
    assertExtensions(extensions);
    checkCallOptions(options);
    const parent = extensions.get(ToolInvocationContext);
    const outer = parent && scopeOf<CallScope>(parent);
    const call = identify(name, options, parent, outer);
    const cancellation = outer?.cancellation.child() ?? new Cancellation();
    const question = { tool: this.#tools.get(name), input, extensions: extensions.snapshot(), call, cancellation };
    return (await checkApproval(question).finally(() => cancellation.dispose())) !== "run";
  }

  /** Gives a loop of another framework its number among what the call of these extensions begins; nothing outside a call. */
  "~numberRun"(extensions: ToolCallExtensions<never>): number | undefined {
    const parent = extensions.get(ToolInvocationContext);
    const scope = parent && scopeOf<CallScope>(parent);
    return scope && scope.nestedCalls++;
  }

  /** Rejects for a bad argument, without the promise that `async` would cost every call. */
  #call(...call: Parameters<CallWithMap>): Promise<ToolOutcome> {
    try {
      return this.#begin(...call);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #begin(
    name: string,
    input: unknown,
    extensions: ToolCallExtensions<never>,
    options: ToolSetCallOptions = {},
  ): Promise<ToolOutcome> {
    assertExtensions(extensions);
    checkCallOptions(options);
    const parent = extensions.get(ToolInvocationContext);
    const outer = parent && scopeOf<CallScope>(parent);
    const call = identify(name, options, parent, outer);
    const cancellation = (outer?.cancellation.child() ?? new Cancellation()).follow(options.signal);
    const run = withListener(outer?.run ?? OUTSIDE_A_RUN, options.listener);
    const request = { input, extensions, call, run, cancellation };
    const isAsked = this.#tools.get(name)?.needsApproval !== undefined && !options.host?.isApproved;
    const work = isAsked ? this.#dispatchApproved(request) : this["~dispatch"](request);
    // The run waits for it when it ends, also where its outer call did not.
    run.track?.(work);
    return work;
  }

  async #dispatchApproved(request: DispatchRequest): Promise<ToolOutcome> {
    // Taken before the question is awaited: what the caller inserts from now on is not the call's.
    const extensions = request.extensions.snapshot();
    const verdict = await refusal({ ...request, tool: this.#tools.get(request.call.toolName), extensions });
    return this["~dispatch"]({ ...request, extensions, verdict });
  }

  #add(tool: Tool): void {
    assertTool(tool);
    if (this.#tools.has(tool.name)) {
      const message = `two tools are named "${tool.name}"; the model could not tell them apart: rename one`;
      throw new ToolCallExtensionsError("duplicate-tool", message, { toolName: tool.name });
    }
    this.#tools.set(tool.name, tool);
  }
}

function assertExtensions(value: unknown): asserts value is ToolCallExtensions<string> {
  if (!isExtensionMap(value)) throw invalidArgument("the extensions of a call", value, "a ToolCallExtensions");
}

function withListener(run: RunScope, listener: ToolSetCallOptions["listener"]): RunScope {
  return listener === undefined ? run : run.withEmit(makeEmit([listener], undefined, run.emit));
}

export function checkMiddleware(middleware: readonly ToolMiddleware[] = []): readonly ToolMiddleware[] {
  if (!Array.isArray(middleware)) throw invalidArgument("option middleware", middleware, "an array of functions");
  for (const entry of middleware) {
    if (typeof entry !== "function") throw invalidArgument("an entry of option middleware", entry, "a function");
  }
  return [...middleware];
}

/** Hides the method from the compiler where `Needs` is not empty; at run time it is there and fails by name. */
function callable<Needs extends string>(call: CallByName): ToolSet<Needs>["call"] {
  return call as ToolSet<Needs>["call"];
}

/** Only a run can pause: a call made by name that needs approval fails instead of running without one. */
async function refusal(question: ApprovalQuestion): Promise<ToolOutcome | undefined> {
  const approval = await checkApproval(question);
  if (approval === "run") return undefined;
  if (approval !== "wait") return approval.outcome;
  return { status: "failed", kind: "error", error: approvalRequired(question.call.toolName) };
}
