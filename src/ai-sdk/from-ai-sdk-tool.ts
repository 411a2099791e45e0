import {
  type AnyExtensionToken,
  defineTool,
  invalidArgument,
  type Tool,
  type ToolCallExtensions,
  type ToolCallExtensionsError,
  ToolInvocationContext,
} from "../index.ts";
import { fromAiSdkSchema, validateWith } from "./ai-sdk-schema.ts";

/** A tool of the AI SDK, as far as it is read: what `tool({ … })` gives in 5, 6 and 7. */
interface AnyAiSdkTool {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
  /** Of 7: what the tool's context has to be. */
  readonly contextSchema?: unknown;
}

type Execute = (input: unknown, options: object) => unknown;
type Asks = (input: unknown, options: object) => boolean | Promise<boolean>;

/** What an AI SDK tool finds in its context, and what the model sees of its output. */
export interface FromAiSdkToolOptions<Needs extends string> {
  readonly requires?: readonly AnyExtensionToken<Needs>[] | undefined;
  /** Makes the tool's `context` (`experimental_context` in 5 and 6); the extensions themselves where this is left out. */
  readonly context?: ((extensions: ToolCallExtensions<Needs | "tool-invocation">) => unknown) | undefined;
  /** Stands in for the tool's own `toModelOutput`, which the major versions call in different ways. */
  readonly toModelOutput?: ((output: unknown) => unknown) | undefined;
}

/**
 * Makes a tool of one of the AI SDK's. It is handed the call's id and signal; no messages, which a tool of an agent does not
 * see. Where it yields preliminary results, they are progress, and the last one is the result.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for a tool that has no `execute`, a description that is made of a context, or
 * a `toModelOutput` that the options do not stand in for; `unsupported-schema`.
 * @example
 * ```ts
 * import { extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 * import { fromAiSdkTool } from "tool-call-extensions/ai-sdk";
 * import { z } from "zod";
 *
 * const ApiKey = extensionToken("api-key").of<string>();
 * // tool({ … }) of "ai" gives its argument back.
 * const weather = {
 *   description: "Tells the weather",
 *   inputSchema: z.object({ city: z.string() }),
 *   execute: async ({ city }: { city: string }, { context }: { context: { key: string } }) => `${city}: sun (${context.key})`,
 * };
 * const tools = new ToolSet([
 *   fromAiSdkTool("weather", weather, { requires: [ApiKey], context: (extensions) => ({ key: extensions.require(ApiKey) }) }),
 * ]);
 * const extensions = new ToolCallExtensions().with(ApiKey, "k");
 * const outcome = await tools.callWithExtensions("weather", { city: "Oslo" }, extensions);
 * if (outcome.status !== "completed" || outcome.output !== "Oslo: sun (k)") throw new Error("not carried");
 * ```
 */
export function fromAiSdkTool<Needs extends string = never>(
  name: string,
  tool: AnyAiSdkTool,
  options: FromAiSdkToolOptions<Needs> = {},
): Tool<never, unknown, Needs> {
  const { description, inputSchema, execute, needsApproval } = tool;
  const { requires, context = (extensions) => extensions, toModelOutput } = options;
  if (typeof execute !== "function")
    throw unusable(name, "execute", execute, "a function, or the provider's in providerTools");
  if (tool.toModelOutput !== undefined && toModelOutput === undefined) {
    const expected =
      "left out, or stood in for by option toModelOutput: the versions of the AI SDK call it differently";
    throw unusable(name, "toModelOutput", tool.toModelOutput, expected);
  }
  if (description !== undefined && typeof description !== "string") {
    throw unusable(
      name,
      "description",
      description,
      "a text, as an agent describes its tools before there is a context",
    );
  }
  const toOptions = async (extensions: ToolCallExtensions<Needs | "tool-invocation">): Promise<object> => {
    const { toolCallId, signal: abortSignal } = extensions.require(ToolInvocationContext);
    const made = await checkContext(name, tool.contextSchema, context(extensions));
    return { toolCallId, messages: [], abortSignal, experimental_context: made, context: made };
  };
  // What `tool()` was given for its own input and context; the input has been validated by the tool's schema.
  const run = execute.bind(tool) as Execute;
  const asks = typeof needsApproval === "function" ? (needsApproval.bind(tool) as Asks) : undefined;
  return defineTool({
    name,
    description,
    input: fromAiSdkSchema(name, inputSchema),
    requires,
    needsApproval: asks
      ? async (input, extensions) => asks(input, await toOptions(extensions))
      : needsApproval === true,
    callWithExtensions: async (input, extensions) => {
      const returned = await run(input, await toOptions(extensions));
      if (toModelOutput === undefined) return returned;
      return isAsyncIterable(returned) ? mapItems(returned, toModelOutput) : toModelOutput(returned);
    },
  });
}

/** As the AI SDK does it: a tool that is given another context than it declares would run without what it needs. */
async function checkContext(name: string, schema: unknown, context: unknown): Promise<unknown> {
  if (schema === undefined) return context;
  const result = await validateWith(schema, context);
  if (result.issues === undefined) return result.value;
  const expected = `what its contextSchema takes (${result.issues.map(({ message }) => message).join("; ")}), by option context`;
  throw unusable(name, "the context", context, expected);
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function* mapItems(
  items: AsyncIterable<unknown>,
  toModelOutput: (output: unknown) => unknown,
): AsyncGenerator<unknown, void> {
  for await (const item of items) yield toModelOutput(item);
}

function unusable(name: string, field: string, value: unknown, expected: string): ToolCallExtensionsError {
  return invalidArgument(`${field} of AI SDK tool "${name}"`, value, expected);
}
