import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { invalidArgument } from "../errors.ts";
import { isExtensionMap } from "../extensions/extension-map.ts";
import { type AnyExtensionToken, asReadable } from "../extensions/extension-token.ts";
import { type KnownId, ToolCallExtensions } from "../extensions/tool-call-extensions.ts";
import { scopeOf, ToolInvocationContext } from "../invocation/invocation-context.ts";
import { approvalRequired } from "../tool/approval.ts";
import type { CallScope, InnerRunPort } from "../tool/dispatch.ts";
import type { MustHave } from "../tool/needs.ts";
import { type CallExtensions, defineTool, type Tool } from "../tool/tool.ts";
import { pauseOf, type ToolResult, toolResult } from "../tool/tool-result.ts";
import type { Agent } from "./agent.ts";
import { insideCall } from "./prompt-request.ts";

/** What the outer model passes to a sub-agent. */
interface SubAgentInput {
  readonly prompt: string;
}

type SubAgentTool<Needs extends string> = Tool<SubAgentInput, ToolResult<string>, Needs>;

interface SubAgentOptions {
  /** The tool's name for the outer model. */
  readonly name: string;
  readonly description?: string | undefined;
}

type Filter = (extensions: CallExtensions<string>) => ToolCallExtensions<never>;

/** What of the caller's map a sub-agent's run may see, where it is not a function that says so. */
type Choice = "inherit" | "none" | readonly AnyExtensionToken[];

/** Stands in for the ids that a function gives, where there is no function. */
type NoFilter = "~no-filter";

/** The ids that stay visible, as far as the compiler can know; a function that gives a dynamic map may give any. */
type VisibleIds<Needs extends string, Chosen extends Choice, Given extends string> = string extends Given
  ? string
  : [NoFilter] extends [Given]
    ? [Chosen] extends ["inherit"]
      ? Needs
      : [Chosen] extends [readonly AnyExtensionToken<infer Id>[]]
        ? KnownId<Id>
        : never
    : Given;

/** What the sub-agent's tool needs of its caller: with a function, what that declares to read. */
type OuterNeeds<Needs extends string, Reads extends string, Chosen extends Choice, Given extends string> =
  // A function that gives a dynamic map.
  string extends Given ? Reads : [NoFilter] extends [Given] ? (Chosen extends "none" ? never : Needs) : Reads;

/**
 * Makes a tool of an agent. `extensions` chooses what its run sees of the caller's map, by identity: `"inherit"`, the default,
 * everything; `"none"` nothing but the parent link; a list these tokens, where the caller has them; a function what it makes
 * of the map, where `requires` declares what it reads. The types follow: a choice that drops what the agent's tools need
 * does not compile.
 */
export type AsTool<Needs extends string> = <
  const Chosen extends Choice = "inherit",
  Given extends string = NoFilter,
  Reads extends string = never,
>(
  options: SubAgentOptions & {
    readonly requires?: readonly AnyExtensionToken<Reads>[] | undefined;
    readonly extensions?: Chosen | ((extensions: CallExtensions<Reads>) => ToolCallExtensions<Given>) | undefined;
  } & MustHave<Needs, VisibleIds<Needs, Chosen, Given>>,
) => SubAgentTool<OuterNeeds<Needs, Reads, Chosen, Given>>;

interface AnySubAgentOptions extends SubAgentOptions {
  readonly requires?: readonly AnyExtensionToken[] | undefined;
  readonly extensions?: Choice | Filter | undefined;
}

export function asTool<Needs extends string>(agent: Agent<Needs>): AsTool<Needs> {
  const make = (options: AnySubAgentOptions): SubAgentTool<string> => {
    const { name, description, extensions: option = "inherit", requires = [] } = options;
    const filter = toFilter(option, name);
    const tool = defineTool({
      name,
      description,
      // Its own calls are saved in its state, so the call itself may be entered again.
      idempotent: true,
      input: PROMPT_SCHEMA,
      requires: option === "none" ? [] : typeof option === "function" ? requires : agent.tools.requires,
      callWithExtensions: async ({ prompt }, extensions: CallExtensions<string>) => {
        const invocation = extensions.require(ToolInvocationContext);
        // The entry of the outer call is what makes the inner run a child of it, whatever the filter let through.
        const given = filter(extensions);
        if (!isExtensionMap(given)) {
          throw invalidArgument(
            `what the extensions filter of sub-agent "${name}" returns`,
            given,
            "a ToolCallExtensions",
          );
        }
        const visible = given["~bind"](ToolInvocationContext, invocation);
        return runInside(dynamic(agent), prompt, visible, scopeOf<CallScope>(invocation)?.innerRun);
      },
    });
    return Object.freeze({ ...tool, "~agent": agent });
  };
  // The type says which needs each choice leaves; the implementation checks them when a run begins.
  return make as AsTool<Needs>;
}

/** Begins the inner run, or goes on with it when the outer run was resumed. */
async function runInside(
  agent: Agent<never>,
  prompt: string,
  extensions: ToolCallExtensions<never>,
  port: InnerRunPort | undefined,
): Promise<ToolResult<string>> {
  const state = port?.state();
  const begun = state === undefined ? agent.prompt(prompt) : agent.resume(state);
  const result = await insideCall(begun, port).toolExtensions(extensions).run();
  if (result.status === "completed") return toolResult(result.output, result.resultExtensions);
  if (port === undefined) throw approvalRequired(result.pending[0]?.toolName ?? agent.name);
  throw pauseOf(result.state);
}

/** `requires` has checked the needs before the tool was entered; the filter's type says that it keeps them. */
function dynamic(agent: unknown): Agent<never> {
  return agent as Agent<never>;
}

function toFilter(option: Exclude<AnySubAgentOptions["extensions"], undefined>, name: string): Filter {
  if (option === "inherit") return (extensions) => extensions;
  if (option === "none") return () => new ToolCallExtensions();
  if (typeof option === "function") return option;
  if (Array.isArray(option)) return (extensions) => pick(extensions, option);
  throw invalidArgument(`option extensions of sub-agent "${name}"`, option, '"inherit", "none", tokens or a function');
}

function pick(extensions: CallExtensions<string>, tokens: readonly AnyExtensionToken[]): ToolCallExtensions<never> {
  const kept = new ToolCallExtensions<string>();
  for (const token of tokens) {
    if (extensions.has(token)) kept.insert(asReadable(token), extensions.get(asReadable(token)));
  }
  return kept;
}

const PROMPT_SCHEMA: StandardSchemaV1<unknown, SubAgentInput> & StandardJSONSchemaV1 = {
  "~standard": {
    version: 1,
    vendor: "tool-call-extensions",
    validate: (value) => {
      const { prompt } = Object(value) as { readonly prompt?: unknown };
      return typeof prompt === "string" ? { value: { prompt } } : { issues: [{ message: "prompt: must be a string" }] };
    },
    jsonSchema: { input: promptJsonSchema, output: promptJsonSchema },
  },
};

function promptJsonSchema(): Record<string, unknown> {
  const properties = { prompt: { type: "string" } };
  return { type: "object", properties, required: ["prompt"], additionalProperties: false };
}
