import {
  defineTool,
  type Tool,
  type ToolCall,
  ToolCallExtensions,
  type ToolEvent,
  ToolInvocationContext,
  type ToolMiddleware,
  type ToolOutcome,
  ToolSet,
} from "../index.ts";
import { dynamic, Session, USER } from "./tool-set-bench.ts";

/** What the kit's inner tool does in one case, with what it can see and say of the case besides its call. */
export type Behaviour = (
  call: Omit<ToolCall, "tool">,
  bench: { readonly events: readonly ToolEvent[]; close(): void },
) => unknown;

/** Registers one case. */
export type Check = (title: string, behave: Behaviour, run: (bench: Bench) => Promise<void>) => void;

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
  /** Is fulfilled when the inner tool says that it was closed. */
  readonly closed: Promise<void>;
  call(options?: {
    readonly signal?: AbortSignal;
    readonly listener?: (event: ToolEvent) => void;
    readonly middleware?: readonly ToolMiddleware[];
    readonly user?: typeof USER;
    readonly toolCallId?: string;
  }): Promise<ToolOutcome>;
}

export async function bench(makeTool: MakeTool, behave: Behaviour): Promise<Bench> {
  const calls: Omit<ToolCall, "tool">[] = [];
  const events: ToolEvent[] = [];
  const [entered, enter] = latch();
  const [closed, close] = latch();
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
      return behave(call, { events, close });
    },
  });
  const tool = await makeTool(inner);
  return {
    calls,
    events,
    isRetried: tool.retries !== undefined,
    entered,
    closed,
    call: ({ signal, user = USER, toolCallId = "toolu_conformance", listener: hear, middleware = [] } = {}) => {
      const extensions = new ToolCallExtensions<string>().with(Session, user);
      const listener = (event: ToolEvent): void => {
        events.push(event);
        hear?.(event);
      };
      const options = { signal, toolCallId, sessionKey: "s", listener };
      return new ToolSet([tool], { middleware }).callWithExtensions(tool.name, INPUT, extensions, options);
    },
  };
}

function latch(): readonly [opened: Promise<void>, open: () => void] {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return [opened, open];
}
