import {
  defineTool,
  type Tool,
  type ToolCall,
  ToolCallExtensions,
  type ToolEvent,
  ToolInvocationContext,
  type ToolOutcome,
  ToolSet,
} from "../index.ts";
import { dynamic, Session, USER } from "./tool-set-bench.ts";

/** What the kit's inner tool does in one case. */
export type Behaviour = (call: Omit<ToolCall, "tool">) => unknown;

/** Makes the tool under test around, or like, the kit's inner tool. */
export type MakeTool = (inner: Tool<never, unknown, never>) => Tool<never> | Promise<Tool<never>>;

export const INPUT = { text: "hello" };

/** What one case has: the tool under test in a set, and what its inner tool was handed. */
export interface Bench {
  readonly calls: Omit<ToolCall, "tool">[];
  readonly events: ToolEvent[];
  /** Whether the tool under test asks for further attempts. */
  readonly isRetried: boolean;
  /** Is fulfilled when the inner tool is entered. */
  readonly entered: Promise<void>;
  call(options?: {
    readonly signal?: AbortSignal;
    readonly user?: typeof USER;
    readonly toolCallId?: string;
  }): Promise<ToolOutcome>;
}

export async function bench(makeTool: MakeTool, behave: Behaviour): Promise<Bench> {
  const calls: Omit<ToolCall, "tool">[] = [];
  let enter = (): void => undefined;
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const inner = defineTool({
    name: "conformance_inner",
    input: { type: "object", properties: { text: { type: "string" } } },
    call: (): unknown => {
      throw new Error("the plain call was taken, though the tool has callWithExtensions");
    },
    callWithExtensions: (input, extensions): unknown => {
      const call = { input, extensions: dynamic(extensions), invocation: extensions.require(ToolInvocationContext) };
      calls.push(call);
      enter();
      return behave(call);
    },
  });
  const tool = await makeTool(inner);
  const tools = new ToolSet([tool]);
  const events: ToolEvent[] = [];
  return {
    calls,
    events,
    isRetried: tool.retries !== undefined,
    entered,
    call: ({ signal, user = USER, toolCallId = "toolu_conformance" } = {}) => {
      const extensions = new ToolCallExtensions<string>().with(Session, user);
      const listener = (event: ToolEvent): number => events.push(event);
      return tools.callWithExtensions(tool.name, INPUT, extensions, { signal, toolCallId, sessionKey: "s", listener });
    },
  };
}
