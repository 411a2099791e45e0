import assert from "node:assert/strict";
import {
  Agent,
  defineTool,
  extensionToken,
  ToolCallExtensions,
  ToolInvocationContext,
  toolResult,
} from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

// Three levels: a lead asks a researcher, who asks an archivist. Each level is handed less than the one above it, and what
// the lowest tool found comes back to the program without passing through a model.

const Tenant = extensionToken("tenant").of<string>();
const ArchiveKey = extensionToken("archive-key").of<string>();
const PaymentKey = extensionToken("payment-key").of<string>();
/** Handed back by a tool: which documents an answer rests on. */
const Sources = extensionToken("sources").of<readonly string[]>();

const USAGE = { inputTokens: 10, outputTokens: 5 };
const asks = (toolName: string, input: object) => ({ toolCalls: [{ toolName, input }], usage: USAGE });
const says = (text: string) => ({ text, usage: USAGE });

const seen: string[] = [];
const findDocument = defineTool({
  name: "find_document",
  description: "Finds a document in the archive",
  input: z.object({ about: z.string() }),
  requires: [Tenant, ArchiveKey],
  callWithExtensions: ({ about }, extensions) => {
    const way: string[] = [];
    for (let call = extensions.get(ToolInvocationContext); call !== undefined; call = call.parent)
      way.push(call.toolName);
    seen.push(...way.reverse(), extensions.require(Tenant), String(extensions.has(PaymentKey)));
    const text = `The contract about ${about} ends in May.`;
    return toolResult(text, new ToolCallExtensions().with(Sources, ["contract-12.pdf"]));
  },
});

const archivist = new Agent({
  name: "archivist",
  model: scriptedModel([asks("find_document", { about: "cleaning" }), says("It ends in May.")]),
  tools: [findDocument],
});
const researcher = new Agent({
  name: "researcher",
  model: scriptedModel([asks("ask_archivist", { prompt: "When does the contract end?" }), says("In May.")]),
  // Names what may go on. Without PaymentKey the archivist's tools cannot pay, whatever a model talks them into.
  tools: [archivist.asTool({ name: "ask_archivist", extensions: [Tenant, ArchiveKey] })],
});
const lead = new Agent({
  name: "lead",
  model: scriptedModel([
    asks("ask_researcher", { prompt: "Look up the contract." }),
    says("The contract ends in May."),
  ]),
  tools: [researcher.asTool({ name: "ask_researcher" })],
});

// The compiler knows what the lowest tool needs: leave ArchiveKey out, and `.run()` does not compile.
const extensions = new ToolCallExtensions()
  .with(Tenant, "t-7")
  .with(ArchiveKey, "archive-secret")
  .with(PaymentKey, "payment-secret");
const result = await lead.prompt("When does our cleaning contract end?").toolExtensions(extensions).run();

const [outer, middle, inner, tenant, canPay] = seen;
console.log(`answer: ${result.output}`);
console.log(`way of the lowest call: ${outer} > ${middle} > ${inner}, for ${tenant}, payment key seen: ${canPay}`);
console.log(`sources: ${result.resultExtensions.require(Sources).join()}`);
console.log(`tokens of all three levels: ${result.usage.inputTokens} in, ${result.usage.outputTokens} out`);

assert.equal(result.output, "The contract ends in May.");
assert.deepEqual(seen, ["ask_researcher", "ask_archivist", "find_document", "t-7", "false"]);
assert.deepEqual(result.resultExtensions.get(Sources), ["contract-12.pdf"]);
// Two turns on each level.
assert.deepEqual(result.usage, { inputTokens: 6 * USAGE.inputTokens, outputTokens: 6 * USAGE.outputTokens });
assert.equal(JSON.stringify(result.messages).includes("secret"), false);
