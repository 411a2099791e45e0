import { invalidArgument } from "../errors.ts";
import type { Tool } from "../tool/tool.ts";
import { ToolSet } from "../tool/tool-set.ts";
import type { Model } from "./model.ts";
import { checkMaxTurns, type PromptRequest, promptRequest, resumeRequest } from "./prompt-request.ts";
import { type AsTool, asTool } from "./sub-agent.ts";

/** What an {@link Agent} is made of. */
export interface AgentOptions<Needs extends string> {
  /** Names the agent in events and invocations. */
  readonly name: string;
  /** What the model is told before the conversation. */
  readonly instructions?: string | undefined;
  readonly model: Model;
  readonly tools?: readonly Tool<never, unknown, Needs>[] | ToolSet<Needs> | undefined;
  /** The model calls a run may take unless its request says otherwise; 20 by default. */
  readonly maxTurns?: number | undefined;
}

/**
 * Is a model with instructions and tools. Holds no state of a run: one agent serves any number of them at once.
 *
 * @example
 * ```ts
 * import { Agent, defineTool, extensionToken, ToolCallExtensions } from "tool-call-extensions";
 * import { scriptedModel } from "tool-call-extensions/testing";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const whose = defineTool({
 *   name: "whose",
 *   input: { type: "object" },
 *   requires: [Tenant],
 *   callWithExtensions: (_input, extensions) => `tenant ${extensions.require(Tenant)}`,
 * });
 * const model = scriptedModel([{ toolCalls: [{ toolName: "whose", input: {} }] }, "Done."]);
 * const agent = new Agent({ name: "support", model, tools: [whose] });
 *
 * const extensions = new ToolCallExtensions().with(Tenant, "t-7");
 * const result = await agent.prompt("Whose order is it?").toolExtensions(extensions).run();
 * if (result.output !== "Done.") throw new Error("no answer");
 * ```
 */
export class Agent<Needs extends string = never> {
  readonly name: string;
  readonly instructions: string | undefined;
  readonly model: Model;
  readonly tools: ToolSet<Needs>;
  readonly maxTurns: number;
  /** Makes a tool of this agent, for another agent to call. */
  readonly asTool: AsTool<Needs>;

  constructor(options: AgentOptions<Needs>) {
    const { name, instructions, model, tools = [], maxTurns = 20 } = options;
    if (typeof name !== "string" || name === "") throw invalidArgument("an agent's name", name, "a non-empty string");
    if (typeof model?.generate !== "function") {
      throw invalidArgument(`the model of agent "${name}"`, model, "an object with generate(request)");
    }
    this.name = name;
    this.instructions = instructions;
    this.model = model;
    // Not `instanceof`: the set may be of another copy of the package.
    this.tools = "~dispatch" in tools ? tools : new ToolSet(tools);
    this.maxTurns = checkMaxTurns(maxTurns);
    this.asTool = asTool(this);
    Object.freeze(this);
  }

  /**
   * Goes on with a run from its `RunState`, with fresh extensions: `.toolExtensions()`, `.approve()`, `.reject()`, `.run()`. A
   * finished call is never run again. One that was cut off runs again under the same id and key when its tool is
   * `idempotent`; otherwise the model is told that its outcome is unknown. An output schema has to be given again.
   *
   * @throws ToolCallExtensionsError `invalid-state`, naming the field.
   */
  resume(state: unknown): PromptRequest<Exclude<Needs, "tool-invocation">, string> {
    return resumeRequest(this, state);
  }

  /** Begins a request; nothing runs yet. */
  prompt(text: string): PromptRequest<Exclude<Needs, "tool-invocation">, string> {
    return promptRequest(this, text);
  }
}
