import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type Model,
  type RunEvent,
  type RunListener,
  ToolCallExtensions,
  ToolError,
} from "tool-call-extensions";
import { type ScriptedTurn, scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

const Tenant = extensionToken("com.example/tenant").of<string>();
const AuthToken = extensionToken("auth-token").of<string>();
const Payments = extensionToken("payments-client").of<string>();

/** A support desk's run with all there is to look at: parallel calls, a sub-agent, an approval, retries, a failure. */
export async function recordRun(msPerStep: number, listener?: RunListener): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  const listen: RunListener = (event) => {
    events.push(event);
    listener?.(event);
  };
  const desk = makeDesk((steps) => sleep(steps * msPerStep));
  const extensions = new ToolCallExtensions().with(Tenant, "t-7").with(AuthToken, "secret").with(Payments, "p");
  const paused = await desk
    .prompt("Order 42 is broken, and 43?")
    .session("chat-7")
    .toolExtensions(extensions)
    .on(listen)
    .run();
  if (paused.status !== "paused") throw new Error("the refund did not wait for approval");
  await sleep(30 * msPerStep);
  const [refund] = paused.pending;
  await desk
    .resume(paused.state)
    .toolExtensions(extensions)
    .approve(refund?.toolCallId ?? "")
    .on(listen)
    .run();
  return events;
}

function makeDesk(
  work: (steps: number) => Promise<void>,
): Agent<"com.example/tenant" | "auth-token" | "payments-client"> {
  const reads = (name: string, steps: readonly number[]) => {
    let calls = 0;
    return defineTool({
      name,
      input: z.object({ about: z.string() }),
      requires: [Tenant, AuthToken],
      call: async () => {
        await work(steps[calls++ % steps.length] ?? 1);
        return "found";
      },
    });
  };
  let [payments, messages] = [0, 0];
  const refund = defineTool({
    name: "refund",
    input: z.object({ order: z.number() }),
    requires: [Tenant, Payments],
    needsApproval: true,
    retries: { max: 2, minDelayMs: 1 },
    call: async () => {
      await work(1.3);
      payments += 1;
      if (payments < 3) throw new Error("the connection was reset");
      return "refunded";
    },
  });
  const notify = defineTool({
    name: "notify_customer",
    input: z.object({ text: z.string() }),
    call: async () => {
      await work(0.9);
      messages += 1;
      if (messages === 1) throw new ToolError("The mail server is busy; try again.");
      return "sent";
    },
  });
  const librarian = new Agent({
    name: "librarian",
    model: slowModel(LIBRARIAN, () => work(1.6)),
    tools: [reads("search_handbook", [1.8]), reads("read_page", [2.6, 1.4])],
  });
  const tools = [reads("lookup_order", [2.2, 3.6]), librarian.asTool({ name: "ask_librarian" }), refund, notify];
  return new Agent({ name: "support-desk", model: slowModel(DESK, () => work(2)), tools });
}

/** Plays the script after the time that a model takes. */
function slowModel(script: readonly ScriptedTurn[], think: () => Promise<void>): Model {
  const model = scriptedModel(script);
  return {
    generate: async (request) => {
      await think();
      return model.generate(request);
    },
  };
}

const about = (text: string) => ({ about: text });
const usage = { inputTokens: 412, outputTokens: 38 };
const told = { toolCalls: [{ toolName: "notify_customer", input: { text: "It is on its way." } }], usage };
const DESK: readonly ScriptedTurn[] = [
  {
    toolCalls: [
      { toolName: "lookup_order", input: about("42"), toolCallId: "call_Yb2Lk0" },
      { toolName: "lookup_order", input: about("43"), toolCallId: "call_Yb2Lk1" },
      { toolName: "ask_librarian", input: { prompt: "What is the rule?" }, toolCallId: "call_Yb2Lk2" },
    ],
    usage,
  },
  { toolCalls: [{ toolName: "refund", input: { order: 42 }, toolCallId: "call_p7RfQ3" }], usage },
  told,
  told,
  { text: "Order 42 is refunded; the customer has been told.", usage },
];
const LIBRARIAN: readonly ScriptedTurn[] = [
  { toolCalls: [{ toolName: "search_handbook", input: about("damage") }], usage },
  {
    toolCalls: [
      { toolName: "read_page", input: about("refunds") },
      { toolName: "read_page", input: about("damage") },
    ],
    usage,
  },
  { text: "A damaged item is refunded in full.", usage },
];
