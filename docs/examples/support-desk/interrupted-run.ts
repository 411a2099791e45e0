import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent, type RunState, ToolCallExtensions, type ToolInvocationContext } from "tool-call-extensions";
import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
import { PaymentsUrl, refund } from "./refund.ts";

// A process of its own: `interrupted-run.ts <state file> <payments url> <model url>`. Begins a run, or goes on with the one whose state
// is in the file, and prints the refund's identity. The first process is killed while the refund is on its way.

const [, , stateFile = "", paymentsUrl = "", baseURL = ""] = process.argv;

/** Written aside and then renamed, so that a kill in between leaves the last whole state. */
function save(state: RunState): void {
  writeFileSync(`${stateFile}.new`, JSON.stringify(state));
  renameSync(`${stateFile}.new`, stateFile);
}

const model = fromLanguageModel(createOpenAICompatible({ name: "night", baseURL })("night-desk"));
const agent = new Agent({ name: "night-desk", model, tools: [refund] });
const begun = existsSync(stateFile)
  ? agent.resume(JSON.parse(readFileSync(stateFile, "utf8")))
  : agent.prompt("Refund order 43.").session("chat-8");

const calls: ToolInvocationContext[] = [];
const result = await begun
  .toolExtensions(new ToolCallExtensions().with(PaymentsUrl, paymentsUrl))
  .onCheckpoint(save)
  .on((event) => {
    if (event.type === "tool-completed") calls.push(event.invocation);
  })
  .run();
const [call] = calls;
console.log(JSON.stringify({ toolCallId: call?.toolCallId, key: call?.invocationKey, answer: result.output }));
