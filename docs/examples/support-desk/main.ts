import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import pc from "picocolors";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolError,
} from "tool-call-extensions";
import { renderTree } from "tool-call-extensions/inspect";
import { mcpTools } from "tool-call-extensions/mcp";
import { z } from "zod";
import { chooseOrExit } from "./choose-models.ts";
import { startOrderService } from "./order-service.ts";
import { startPaymentService } from "./payment-service.ts";
import { PaymentsUrl, refund } from "./refund.ts";
import { startScriptedProvider } from "./scripted-provider.ts";
import { scripts } from "./scripts.ts";
import { surviveKill } from "./survive-kill.ts";

// The models: a provider's, with `--model openai:<name>` and its key in the environment, or a script that a provider on
// loopback plays. The client, the requests and the streams are real ones either way.
const handbook = fileURLToPath(new URL("handbook", import.meta.url));
const provider = await startScriptedProvider(scripts(handbook));
const models = chooseOrExit(provider.url);

// 1. The values that tools need and no model may see, each behind a typed token.
const Tenant = extensionToken("com.example/tenant").of(z.string());
const AuthToken = extensionToken("auth-token").of<string>();
const OrdersUrl = extensionToken("orders-url").of<string>();

// 2. A tool that reads them. Leave one out of `requires`, and this file no longer compiles.
const lookupOrder = defineTool({
  name: "lookup_order",
  description: "Gives the state of an order",
  input: z.object({ order: z.number() }),
  requires: [Tenant, AuthToken, OrdersUrl],
  callWithExtensions: async ({ order }, extensions) => {
    const response = await fetch(`${extensions.require(OrdersUrl)}/orders/${order}`, {
      headers: { authorization: `Bearer ${extensions.require(AuthToken)}`, "x-tenant": extensions.require(Tenant) },
    });
    if (!response.ok) throw new ToolError(`The order service refused: HTTP ${response.status}.`);
    return response.json();
  },
});

// 3. A tool that fails the first time: the model is told what the ToolError says, and tries again.
let deliveries = 0;
const notifyCustomer = defineTool({
  name: "notify_customer",
  description: "Sends the customer a message",
  input: z.object({ text: z.string() }),
  call: () => {
    deliveries += 1;
    if (deliveries === 1) throw new ToolError("The mail server is busy; try again.");
    return "sent";
  },
});

// 4. A sub-agent whose tools are a real MCP server's. Only the tenant is forwarded to it.
const serverPath = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const client = new Client({ name: "support-desk", version: "1.0.0" });
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [serverPath, handbook], stderr: "ignore" }),
);
const librarian = new Agent({
  name: "librarian",
  instructions: `Answer from the handbook, which is the folder ${handbook}: list it, then read what you need.`,
  model: models.modelOf("librarian"),
  tools: await mcpTools(client, { forward: { "com.example/tenant": Tenant } }),
});

// 5. The agent.
const desk = new Agent({
  name: "support-desk",
  instructions: [
    "Help the customer. Look up every order that is named, all at once. Ask the librarian for the rule.",
    "Refund what the rule allows, then notify the customer; where a tool says to try again, try again.",
  ].join(" "),
  model: models.modelOf("desk"),
  tools: [
    lookupOrder,
    refund,
    notifyCustomer,
    librarian.asTool({ name: "ask_librarian", description: "Knows the handbook's rules", extensions: "inherit" }),
  ],
});

// 6. One run: the values travel with the request.
const secret = `secret-${randomUUID()}`;
const orders = await startOrderService("t-7", secret);
const payments = await startPaymentService((request, response, body) => {
  if (request === 1) response.destroy();
  else response.end(body);
});
const extensions = new ToolCallExtensions()
  .with(Tenant, "t-7")
  .with(AuthToken, secret)
  .with(OrdersUrl, orders.url)
  .with(PaymentsUrl, payments.url);
const events: RunEvent[] = [];
const request = desk.prompt("Order 42 is broken, and 43?").session("chat-7").toolExtensions(extensions);
try {
  for await (const event of request.stream()) events.push(event);
} catch (error) {
  // A provider that does not answer is none of this program's faults: its message is all there is to show.
  if (!ToolCallExtensionsError.is(error) || error.code !== "model-failed") throw error;
  console.error(pc.red(error.message));
  process.exit(1);
}
const withoutValues = await fetch(`${orders.url}/orders/42`);
await orders[Symbol.asyncDispose]();
await payments[Symbol.asyncDispose]();
await client.close();

console.log(pc.bold(`\nThe calls of the run, asked for by ${models.name}\n`));
console.log(renderTree(events, { color: pc.isColorSupported }));

const last = events.at(-1);
console.log(`\n${pc.bold("The answer")}\n\n${last?.type === "run-completed" ? last.result.output : "none"}`);

// 7. Another run, killed in the middle of its refund and resumed in a new process.
const survival = await surviveKill(provider.url);
await provider[Symbol.asyncDispose]();
console.log(`\n${pc.bold("The run that was killed")}\n`);
console.log(`  ended by ${survival.signal} after the refund was committed, before it was answered`);
console.log(pc.dim(`  before: call ${survival.before.toolCallId}, key ${survival.before.key}`));
console.log(pc.dim(`  after:  call ${survival.after.toolCallId}, key ${survival.after.key}`));
console.log(`  ${survival.after.answer}`);

// 8. What has to be so. A false line ends the program with exit code 1.
const shownToModels = models.sent.join("\n");
const callsOf = (toolName: string, type: RunEvent["type"]): readonly RunEvent[] =>
  events.filter((event) => "invocation" in event && event.invocation.toolName === toolName && event.type === type);
const sawTenant = (event: RunEvent): boolean => event.type === "tool-requested" && event.tokenIds.includes(Tenant.id);
const checks: Readonly<Record<string, boolean>> = {
  "the run completed": last?.type === "run-completed",
  "the order service refuses a caller without the values": withoutValues.status === 401,
  "every refund has one key, however often it was sent": payments.refunds.size === new Set(payments.requests).size,
  "the killed run went on in a new process, under the same call id and key":
    survival.signal === "SIGKILL" &&
    survival.after.toolCallId === survival.before.toolCallId &&
    survival.after.key === survival.before.key,
  "the service was asked twice by it and holds one refund": survival.requests === 2 && survival.refunds === 1,
  "the secret is nowhere in what the models were sent": !shownToModels.includes(secret),
  "the secret is nowhere in the events": !JSON.stringify(events).includes(secret),
};
// A real model may go another way; the script does not.
const scriptedChecks: Readonly<Record<string, boolean>> = {
  "the order service let both parallel calls in": orders.log.filter(({ status }) => status === 200).length === 2,
  "the sub-agent's MCP tools ran and saw the tenant":
    callsOf("read_text_file", "tool-completed").length === 1 &&
    callsOf("read_text_file", "tool-requested").every(sawTenant),
  "the failing tool was seen failing once, then completed":
    callsOf("notify_customer", "tool-failed").length === 1 && callsOf("notify_customer", "tool-completed").length === 1,
  "the refund was sent twice with one key, and the service holds one refund":
    payments.requests.length === 2 && new Set(payments.requests).size === 1 && payments.refunds.size === 1,
  "the models were shown the tools' results": shownToModels.includes("delivered damaged"),
};
console.log(`\n${pc.bold("The proof")}\n`);
console.log(
  pc.dim(`  ${models.sent.length} requests to models over HTTP, ${shownToModels.length} characters searched`),
);
const claims = Object.entries({ ...checks, ...(models.isScripted && scriptedChecks) });
for (const [claim, holds] of claims) console.log(`  ${holds ? pc.green("✓") : pc.red("✗")} ${claim}`);
process.exitCode = claims.every(([, holds]) => holds) ? 0 : 1;
