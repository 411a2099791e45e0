import {
  defineTool,
  type ExtensionToken,
  extensionToken,
  type Tool,
  ToolInvocationContext,
} from "tool-call-extensions";
import { z } from "zod";

export const PaymentsUrl: ExtensionToken<"payments-url", string> = extensionToken("payments-url").of<string>();

/** Sends the invocation key with the refund: however often the call is repeated, the service makes one refund. */
export const refund: Tool<{ order: number }, unknown, "payments-url"> = defineTool({
  name: "refund",
  description: "Refunds an order",
  input: z.object({ order: z.number() }),
  requires: [PaymentsUrl],
  idempotent: true,
  retries: 2,
  callWithExtensions: async ({ order }, extensions) => {
    const { invocationKey } = extensions.require(ToolInvocationContext);
    // An empty key would make one refund of all of them.
    if (invocationKey === undefined)
      throw new Error("a refund needs an invocation key: give the request a .session(key)");
    const response = await fetch(`${extensions.require(PaymentsUrl)}/refunds/${order}`, {
      method: "POST",
      headers: { "idempotency-key": invocationKey },
    });
    if (!response.ok) throw new Error(`the payment service answered ${response.status}`);
    return response.json();
  },
});
