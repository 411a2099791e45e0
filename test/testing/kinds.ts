import type { Tool, ToolCallExtensions } from "tool-call-extensions";
import type { toolConformance } from "tool-call-extensions/testing";

export type AnyTool = Tool<never, unknown, never>;
export type MakeTool = Parameters<typeof toolConformance>[0]["makeTool"];

/** Enters a tool as dispatch does. */
export const enter = (tool: AnyTool, input: unknown, extensions: ToolCallExtensions<"tool-invocation">): unknown =>
  (tool.callWithExtensions ?? tool.call)(input as never, extensions);

/** A tool that is a class of its own. */
export class ToolClass {
  readonly name = "class_tool";
  readonly input = { type: "object" };
  readonly requires: AnyTool["requires"];
  readonly needsApproval: AnyTool["needsApproval"];
  readonly idempotent: AnyTool["idempotent"];
  readonly retries: AnyTool["retries"];
  readonly #inner: AnyTool;
  constructor(inner: AnyTool) {
    ({
      requires: this.requires,
      needsApproval: this.needsApproval,
      idempotent: this.idempotent,
      retries: this.retries,
    } = inner);
    this.#inner = inner;
  }
  call(): never {
    throw new Error("not by this entry");
  }
  callWithExtensions(input: unknown, extensions: ToolCallExtensions<"tool-invocation">): unknown {
    return enter(this.#inner, input, extensions);
  }
}
