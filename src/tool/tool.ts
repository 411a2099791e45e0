import { invalidArgument } from "../errors.ts";
import type { AnyExtensionToken } from "../extensions/extension-token.ts";
import { ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { type InputOf, type InputSchema, toObjectSchema } from "./input-schema.ts";
import { checkRetries, type RetryOptions } from "./retry.ts";

/** What a tool's function may give back; an async iterable reports progress with each item, its last item is the result. */
export type ToolReturn<Output> = Output | Promise<Output> | AsyncIterable<Output>;

/** What every tool finds in its extensions: its declared needs and the invocation. */
export type CallExtensions<Needs extends string> = ToolCallExtensions<Needs | "tool-invocation">;

type Asks<Input, Needs extends string> = (
  input: Input,
  extensions: CallExtensions<Needs>,
) => boolean | Promise<boolean>;

/**
 * Is what a model can call. `callWithExtensions` defaults to `call`; a tool that has it is never entered by `call` under
 * dispatch.
 *
 * `Needs` is the union of token ids that must be present. An implementation by hand can be checked with the conformance
 * kit of `tool-call-extensions/testing`; to decorate a tool use {@link wrapTool}, which keeps both entries and the needs.
 */
export interface Tool<in Input = never, out Output = unknown, out Needs extends string = string> {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input: InputSchema;
  /** Checked before the first model call of a run, and before the tool is entered. */
  readonly requires?: readonly AnyExtensionToken<Needs>[] | undefined;
  /** Pauses the run until the call is approved or rejected. */
  readonly needsApproval?: boolean | Asks<Input, Needs> | undefined;
  /** Tries failed calls again, under the same id and key; a number is the further attempts. */
  readonly retries?: number | RetryOptions | undefined;
  /** Says that a call may run again under the same key, so that a resumed run repeats one that was cut off. */
  readonly idempotent?: boolean | undefined;
  /** The agent behind a sub-agent's tool, against which a state is checked before anything of it runs. */
  readonly "~agent"?: { readonly name: string; readonly tools: { get(name: string): Tool | undefined } } | undefined;
  call(input: Input): ToolReturn<Output>;
  readonly callWithExtensions?: ((input: Input, extensions: CallExtensions<Needs>) => ToolReturn<Output>) | undefined;
}

interface DefinitionBase<Schema, Needs extends string> {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input: Schema;
  readonly requires?: readonly AnyExtensionToken<Needs>[] | undefined;
  readonly needsApproval?: boolean | Asks<InputOf<Schema>, Needs> | undefined;
  readonly retries?: number | RetryOptions | undefined;
  readonly idempotent?: boolean | undefined;
}

interface WithExtensionsOnly<Schema, Output, Needs extends string> extends DefinitionBase<Schema, Needs> {
  readonly call?: undefined;
  callWithExtensions(input: InputOf<Schema>, extensions: CallExtensions<Needs>): ToolReturn<Output>;
}

interface WithCall<Schema, Output, Needs extends string> extends DefinitionBase<Schema, Needs> {
  call(input: InputOf<Schema>): ToolReturn<Output>;
  callWithExtensions?(input: InputOf<Schema>, extensions: CallExtensions<Needs>): ToolReturn<Output>;
}

/**
 * Defines a tool; the input's type comes from the schema, the needs from `requires`. `call` may be left out when
 * `callWithExtensions` is given.
 *
 * @throws ToolCallExtensionsError `unsupported-schema` when the schema cannot describe itself to a model,
 * `invalid-argument` when the definition is not usable.
 * @example
 * ```ts
 * import { defineTool, extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const lookup = defineTool({
 *   name: "lookup_order",
 *   input: z.object({ id: z.number() }),
 *   requires: [Tenant],
 *   callWithExtensions: ({ id }, extensions) => `${extensions.require(Tenant)}/${id}`,
 * });
 *
 * const extensions = new ToolCallExtensions().with(Tenant, "t-7");
 * const outcome = await new ToolSet([lookup]).callWithExtensions("lookup_order", { id: 42 }, extensions);
 * if (outcome.status !== "completed" || outcome.output !== "t-7/42") throw new Error("not carried");
 * ```
 */
// Two signatures, because a union of the two shapes costs the compiler a third more on every tool.
export function defineTool<Schema extends InputSchema, Output, Needs extends string = never>(
  definition: WithExtensionsOnly<Schema, Output, Needs>,
): Tool<InputOf<Schema>, Output, Needs>;
export function defineTool<Schema extends InputSchema, Output, Needs extends string = never>(
  definition: WithCall<Schema, Output, Needs>,
): Tool<InputOf<Schema>, Output, Needs>;
export function defineTool<Schema extends InputSchema, Output, Needs extends string = never>(
  definition: WithExtensionsOnly<Schema, Output, Needs> | WithCall<Schema, Output, Needs>,
): Tool<InputOf<Schema>, Output, Needs> {
  const { name, description, input, requires, retries, idempotent } = definition;
  assertTool({ ...definition, call: definition.call ?? definition.callWithExtensions });
  // Bound, because the definition may be a class instance or refer to itself.
  const callWithExtensions = definition.callWithExtensions?.bind(definition);
  const call = definition.call?.bind(definition) ?? callWithEmptyMap(callWithExtensions);
  const rules = { needsApproval: boundAsk(definition), retries, idempotent };
  const tool = { name, description, input, requires, ...rules, call, callWithExtensions };
  assertTool(tool);
  toObjectSchema(input, `tool "${name}"`);
  return Object.freeze(tool);
}

/** `call` of a tool that has only the other entry: its needs then fail by name, as they would under dispatch. */
function callWithEmptyMap<Input, Output, Needs extends string>(
  callWithExtensions: ((input: Input, extensions: CallExtensions<Needs>) => ToolReturn<Output>) | undefined,
): ((input: Input) => ToolReturn<Output>) | undefined {
  return callWithExtensions && ((input) => callWithExtensions(input, new ToolCallExtensions<string>().snapshot()));
}

/** How {@link wrapTool} changes a tool. */
interface ToolWrapper<Input, Inner, Output, Needs extends string, MoreNeeds extends string> {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Tokens the wrapper reads, besides the tool's own. */
  readonly requires?: readonly AnyExtensionToken<MoreNeeds>[] | undefined;
  /** `next` is the tool; what it is not handed it does not see. */
  callWithExtensions(
    input: Input,
    extensions: CallExtensions<Needs | MoreNeeds>,
    next: (input: Input, extensions: CallExtensions<Needs>) => ToolReturn<Inner>,
  ): ToolReturn<Output>;
}

/**
 * Decorates a tool without losing what it is called with: the supported alternative to copying its fields.
 *
 * @example
 * ```ts
 * import { defineTool, extensionToken, ToolCallExtensions, ToolSet, wrapTool } from "tool-call-extensions";
 *
 * const Locale = extensionToken("locale").of<string>();
 * const greet = defineTool({
 *   name: "greet",
 *   input: { type: "object" },
 *   requires: [Locale],
 *   callWithExtensions: (_input, extensions) => (extensions.require(Locale) === "de" ? "Hallo" : "Hello"),
 * });
 * const loud = wrapTool(greet, {
 *   callWithExtensions: async (input, extensions, next) => `${await next(input, extensions)}!`,
 * });
 *
 * const extensions = new ToolCallExtensions().with(Locale, "de");
 * const outcome = await new ToolSet([loud]).callWithExtensions("greet", {}, extensions);
 * if (outcome.status !== "completed" || outcome.output !== "Hallo!") throw new Error("the map was dropped");
 * ```
 */
export function wrapTool<Input, Inner, Output, Needs extends string = never, MoreNeeds extends string = never>(
  tool: Tool<Input, Inner, Needs>,
  wrapper: ToolWrapper<Input, Inner, Output, Needs, MoreNeeds>,
): Tool<Input, Output, Needs | MoreNeeds> {
  if (typeof wrapper.callWithExtensions !== "function") {
    const { callWithExtensions: received } = wrapper;
    throw invalidArgument(`callWithExtensions of the wrapper of tool "${tool.name}"`, received, "a function");
  }
  const next = (input: Input, extensions: CallExtensions<Needs>): ToolReturn<Inner> =>
    // A wrapper may hand on a map it has made; what a tool sees is read-only.
    enterTool(tool, input, extensions.isReadOnly ? extensions : extensions.snapshot());
  const callWithExtensions = (input: Input, extensions: CallExtensions<Needs | MoreNeeds>): ToolReturn<Output> =>
    wrapper.callWithExtensions(input, extensions, next);
  const wrapped = {
    name: wrapper.name ?? tool.name,
    description: wrapper.description ?? tool.description,
    input: tool.input,
    requires: [...(tool.requires ?? []), ...(wrapper.requires ?? [])],
    needsApproval: boundAsk(tool),
    retries: tool.retries,
    idempotent: tool.idempotent,
    "~agent": tool["~agent"],
    call: (input: Input) => callWithExtensions(input, new ToolCallExtensions<string>().snapshot()),
    callWithExtensions,
  };
  assertTool(wrapped);
  return Object.freeze(wrapped);
}

function boundAsk<Input, Needs extends string>(owner: {
  readonly needsApproval?: boolean | Asks<Input, Needs> | undefined;
}): boolean | Asks<Input, Needs> | undefined {
  const { needsApproval } = owner;
  return typeof needsApproval === "function" ? needsApproval.bind(owner) : needsApproval;
}

/** The one rule of entry: `callWithExtensions` where there is one, else `call`. */
export function enterTool<Input, Output, Needs extends string>(
  tool: Tool<Input, Output, Needs>,
  input: Input,
  extensions: CallExtensions<Needs>,
): ToolReturn<Output> {
  return tool.callWithExtensions === undefined ? tool.call(input) : tool.callWithExtensions(input, extensions);
}

export function assertTool(tool: unknown): asserts tool is Tool {
  const { name, call, callWithExtensions, requires, retries, needsApproval, idempotent } = Object(tool) as {
    readonly [Key in keyof Tool]?: unknown;
  };
  if (typeof name !== "string" || name === "") throw invalidArgument("a tool's name", name, "a non-empty string");
  if (typeof call !== "function") {
    const isAgent = typeof Object(tool).asTool === "function";
    if (isAgent) throw invalidArgument("a tool", tool, `a tool; agent "${name}" becomes one by .asTool({ name })`);
    throw invalidArgument(`call of tool "${name}"`, call, "a function");
  }
  if (callWithExtensions !== undefined && typeof callWithExtensions !== "function") {
    throw invalidArgument(`callWithExtensions of tool "${name}"`, callWithExtensions, "a function or left out");
  }
  checkRetries(retries, name);
  if (needsApproval !== undefined && typeof needsApproval !== "boolean" && typeof needsApproval !== "function") {
    throw invalidArgument(`needsApproval of tool "${name}"`, needsApproval, "a boolean or a function");
  }
  if (idempotent !== undefined && typeof idempotent !== "boolean") {
    throw invalidArgument(`idempotent of tool "${name}"`, idempotent, "a boolean");
  }
  if (requires === undefined) return;
  if (!Array.isArray(requires)) throw invalidArgument(`requires of tool "${name}"`, requires, "an array of tokens");
  for (const token of requires) {
    if (token?.kind !== "extension-token")
      throw invalidArgument(`a token in requires of tool "${name}"`, token, "made by extensionToken(id).of()");
  }
}
