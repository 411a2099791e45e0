import {
  type AnyExtensionToken,
  defineTool,
  type InputSchema,
  type Tool,
  type ToolCallExtensions,
  ToolInvocationContext,
} from "../index.ts";

/** What one call of a {@link recordingTool} was handed. */
export interface RecordedCall {
  readonly input: unknown;
  readonly extensions: ToolCallExtensions<string>;
  readonly invocation: ToolInvocationContext;
}

/** What a {@link recordingTool} is called, takes and gives back. */
export interface RecordingToolOptions<Needs extends string> {
  /** `recording` by default. */
  readonly name?: string | undefined;
  /** Any object by default. */
  readonly input?: InputSchema | undefined;
  readonly requires?: readonly AnyExtensionToken<Needs>[] | undefined;
  /** Gives the result, or throws; `"recorded"` by default. */
  readonly result?: ((call: RecordedCall) => unknown) | undefined;
}

/** A tool with a record of its calls. */
export interface RecordingTool<Needs extends string> extends Tool<Record<string, unknown>, unknown, Needs> {
  /** Every call, in the order in which the tool was entered. */
  readonly calls: readonly RecordedCall[];
}

/**
 * Makes a tool that writes down what it is handed.
 *
 * @example
 * ```ts
 * import { extensionToken, ToolCallExtensions, ToolSet } from "tool-call-extensions";
 * import { recordingTool } from "tool-call-extensions/testing";
 *
 * const Tenant = extensionToken("tenant").of<string>();
 * const tool = recordingTool({ name: "probe" });
 * await new ToolSet([tool]).callWithExtensions("probe", { n: 1 }, new ToolCallExtensions().with(Tenant, "t-7"));
 * if (tool.calls[0]?.extensions.get(Tenant) !== "t-7") throw new Error("the map did not arrive");
 * if (tool.calls[0].invocation.toolName !== "probe") throw new Error("another call");
 * ```
 */
export function recordingTool<Needs extends string = never>(
  options: RecordingToolOptions<Needs> = {},
): RecordingTool<Needs> {
  const { name = "recording", input = { type: "object" }, requires, result = () => "recorded" } = options;
  const calls: RecordedCall[] = [];
  const tool = defineTool({
    name,
    input,
    requires,
    callWithExtensions: (toolInput, extensions) => {
      const invocation = extensions.require(ToolInvocationContext);
      // A test may ask for any token, and is told by name when it is absent.
      const call: RecordedCall = { input: toolInput, extensions: extensions as ToolCallExtensions<string>, invocation };
      calls.push(call);
      return result(call);
    },
  });
  return { ...tool, calls };
}
