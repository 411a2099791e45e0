import { defineTool, type ExtensionToken, extensionToken, ToolInvocationContext } from "tool-call-extensions";
import { z } from "zod";

export const PaymentsUrl: ExtensionToken<"payments-url", string> = extensionToken("payments-url").of<string>();

/** Sends the invocation key with the refund: however often the call is repeated, the service makes one refund. */
export const refund = defineTool({
  name: "refund",
  description: "Refunds an order",
  input: z.object({ order: z.number() }),
  requires: [PaymentsUrl],
  idempotent: true,
  retries: 2,
  callWithExtensions: async ({ order }, extensions) => {
    const { invocationKey = "" } = extensions.require(ToolInvocationContext);
    const response = await fetch(`${extensions.require(PaymentsUrl)}/refunds/${order}`, {
      method: "POST",
      headers: { "idempotency-key": invocationKey },
    });
    return response.json();
  },
});
