import {
  type AnyExtensionToken,
  defineTool,
  type ExtensionToken,
  extensionToken,
  type ModelRequest,
  type Tool,
  type ToolCall,
  ToolCallExtensions,
  ToolInvocationContext,
  type ToolMiddleware,
  type ToolOutcome,
} from "../index.ts";

/** What has to hold of the set under test, besides its tools. */
interface ToolSetParts {
  /** Goes around every call, the first outermost. */
  readonly middleware: readonly ToolMiddleware[];
  /** Where calls cross a wire: what goes with them, by its key there, and nothing else. */
  readonly forward: Readonly<Record<string, AnyExtensionToken>>;
}

interface CallOptions {
  readonly toolCallId?: string | undefined;
  readonly sessionKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What dispatches calls by name: a `ToolSet`, or what does as one. */
interface Dispatcher {
  readonly definitions: ModelRequest["tools"];
  callWithExtensions(
    name: string,
    input: unknown,
    extensions: ToolCallExtensions<string>,
    options: CallOptions,
  ): Promise<ToolOutcome>;
}

export type MakeToolSet = (
  tools: readonly Tool<never, unknown, never>[],
  parts: ToolSetParts,
) => Dispatcher | Promise<Dispatcher>;

/** What a tool of the kit does when it is entered, with the set that it is in. */
export type Behaviour = (call: Omit<ToolCall, "tool">, set: Dispatcher) => unknown;

/** In no order but their own; the second one is no name for a plain object's property. */
export const NAMES = ["conformance_zeta", "__proto__", "conformance_alpha"] as const;

export const Session: ExtensionToken<"conformance/session", { readonly user: string }> = extensionToken(
  "conformance/session",
).of<{ readonly user: string }>();
export const Cost: ExtensionToken<"conformance/cost", number> = extensionToken("conformance/cost").of<number>();
export const Tenant: ExtensionToken<"conformance/tenant", string> = extensionToken("conformance/tenant").of<string>({
  "~standard": {
    version: 1,
    vendor: "tool-call-extensions",
    validate: (value) => (typeof value === "string" ? { value } : { issues: [{ message: "must be a string" }] }),
  },
});
export const USER = { user: "kim" };

export const mapOf = (tenant: string): ToolCallExtensions<string> =>
  new ToolCallExtensions<string>().with(Session, USER).with(Tenant, tenant);

export const SCHEMA = { type: "object", properties: { text: { type: "string", description: "Any text." } } } as const;
export const descriptionOf = (name: string): string => `What ${name} does.`;

/** What one case has: the set under test, and what its tools were handed. */
export interface Bench {
  readonly set: Dispatcher;
  readonly seen: readonly Omit<ToolCall, "tool">[];
  /** The middleware that calls went through, in order. */
  readonly wrapped: readonly string[];
  /** Is fulfilled when a tool is entered. */
  readonly entered: Promise<void>;
  call(name: string, options?: CallOptions & { readonly tenant?: string }): Promise<ToolOutcome>;
}

export async function bench(makeToolSet: MakeToolSet, behave: Behaviour): Promise<Bench> {
  const seen: Omit<ToolCall, "tool">[] = [];
  const wrapped: string[] = [];
  let enter = (): void => undefined;
  const entered = new Promise<void>((resolve) => {
    enter = resolve;
  });
  const tools = NAMES.map((name) =>
    defineTool({
      name,
      description: descriptionOf(name),
      input: SCHEMA,
      call: (): unknown => {
        throw new Error("the plain call was taken, though the tool has callWithExtensions");
      },
      callWithExtensions: (input, extensions): unknown => {
        const call = { input, extensions: dynamic(extensions), invocation: extensions.require(ToolInvocationContext) };
        seen.push(call);
        enter();
        return behave(call, set);
      },
    }),
  );
  const through = (which: string): ToolMiddleware => {
    return (call, next) => {
      wrapped.push(`${which} ${call.tool.name}`);
      return next(call);
    };
  };
  const forward = { "com.example/conformance-tenant": Tenant };
  const set = await makeToolSet(tools, { middleware: [through("outer"), through("inner")], forward });
  let calls = 0;
  return {
    set,
    seen,
    wrapped,
    entered,
    call: (name, { tenant = "t-7", toolCallId = `toolu_conformance${++calls}x`, sessionKey = "s", signal } = {}) => {
      const options = { toolCallId: toolCallId || undefined, sessionKey, signal };
      return set.callWithExtensions(name, { text: `for ${name}` }, mapOf(tenant), options);
    },
  };
}

/** The kit reads tokens of its own, and is told by name when one is absent. */
export function dynamic(extensions: ToolCallExtensions<never>): ToolCallExtensions<string> {
  return extensions as ToolCallExtensions<string>;
}
