import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import {
  Agent,
  defineTool,
  extensionToken,
  Runner,
  type RunState,
  ToolCallExtensions,
  ToolInvocationContext,
} from "tool-call-extensions";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

// A process that works off one job: `worker.ts <state file> <payments url>`. It begins the run, or goes on with the one whose
// state is in the file.

const [, , stateFile = "", paymentsUrl = ""] = process.argv;

const PaymentsUrl = extensionToken("payments-url").of<string>();

const charge = defineTool({
  name: "charge",
  description: "Charges the customer's card",
  input: z.object({ cents: z.number() }),
  requires: [PaymentsUrl],
  // May be entered again after a crash, because the key makes the service answer with the charge that is there.
  idempotent: true,
  callWithExtensions: async ({ cents }, extensions) => {
    const { invocationKey } = extensions.require(ToolInvocationContext);
    // Without a key every charge would be a new one: better none.
    if (invocationKey === undefined)
      throw new Error("give the request a .session(key): charges need an invocation key");
    const response = await fetch(`${extensions.require(PaymentsUrl)}/charges`, {
      method: "POST",
      headers: { "idempotency-key": invocationKey },
      body: JSON.stringify({ cents }),
    });
    if (!response.ok) throw new Error(`the payment service answered ${response.status}`);
    return response.json();
  },
});

// A script instead of a model, so that this runs without a key: it charges once and reads the answer.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool"
    ? `Charged: ${last.text}`
    : { toolCalls: [{ toolName: "charge", input: { cents: 500 } }] };
});
const agent = new Agent({ name: "cashier", model, tools: [charge] });

/** Written aside and then renamed, so that a crash in between leaves the last whole state. */
function save(state: RunState): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state));
  renameSync(`${stateFile}.new`, stateFile);
}

// The session's key is the job's, not the process's: it is what makes the keys of a second try those of the first.
const request = existsSync(stateFile)
  ? agent.resume(JSON.parse(readFileSync(stateFile, "utf8")))
  : agent.prompt("Charge 5.00 for order 42.").session("order-42");
const extensions = new ToolCallExtensions().with(PaymentsUrl, paymentsUrl);

// Within a process `once` joins calls of one key, here of a job that was delivered twice; of several processes `once` with
// `postgresOnceStore` does.
const runner = new Runner({ middleware: [once({ store: memoryOnceStore() })] });
const job = request.toolExtensions(extensions).onCheckpoint(save);
const results = await Promise.all([runner.run(job), runner.run(job)]);
console.log(JSON.stringify(results.map(({ output }) => output)));
