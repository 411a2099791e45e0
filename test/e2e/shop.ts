import {
  currentToolInvocation,
  defineTool,
  type ExtensionToken,
  extensionToken,
  type Tool,
  type ToolCallExtensions,
  ToolInvocationContext,
} from "tool-call-extensions";
import { z } from "zod";

export const ApiKey: ExtensionToken<"api-key", string> = extensionToken("api-key").of<string>();

export interface SeenCall {
  readonly order: number;
  readonly apiKey: string;
  readonly invocation: ToolInvocationContext;
  readonly isCurrent: boolean;
}

/** Writes down what its calls see; they end in another order than they began. */
export function lookupTool(seen: SeenCall[]): Tool<{ order: number }, unknown, "api-key"> {
  return defineTool({
    name: "lookup",
    description: "Finds an order",
    input: z.object({ order: z.string().transform(Number) }),
    requires: [ApiKey],
    callWithExtensions: async ({ order }, extensions) => {
      await new Promise((resolve) => setTimeout(resolve, (50 - order) * 2));
      const invocation = extensions.require(ToolInvocationContext);
      const isCurrent = currentToolInvocation()?.toolCallId === invocation.toolCallId;
      seen.push({ order, apiKey: extensions.require(ApiKey), invocation, isCurrent });
      return { order, at: new Date(0), extensions };
    },
  });
}

/** Fails with a secret in the error's text and cause. */
export const leaky: Tool<Record<string, unknown>, never, "api-key"> = defineTool({
  name: "leaky",
  input: { type: "object" },
  requires: [ApiKey],
  callWithExtensions: (_input, extensions: ToolCallExtensions<"api-key">) => {
    const key = extensions.require(ApiKey);
    throw new Error(`refused: ${key}`, { cause: { key } });
  },
});

export function payTool(paid: ToolInvocationContext[]): Tool<{ cents: number }, string, never> {
  return defineTool({
    name: "pay",
    input: z.object({ cents: z.number() }),
    needsApproval: ({ cents }) => cents > 10,
    callWithExtensions: ({ cents }, extensions) => {
      paid.push(extensions.require(ToolInvocationContext));
      return `paid ${cents}`;
    },
  });
}
