import assert from "node:assert/strict";
import { Agent, defineTool, extensionToken, ToolCallExtensions } from "tool-call-extensions";
import { modelConformance } from "tool-call-extensions/testing";
import { acmeModel } from "./acme-model.ts";
import { type AcmeServer, startAcme } from "./acme-server.ts";

// A model for a chat API that no adapter knows, and what proves that it does all that the loop relies on.

const KEY = "acme-key";
const servers: AcmeServer[] = [];
const start: typeof startAcme = async (...args) => {
  const server = await startAcme(...args);
  servers.push(server);
  return server;
};

// In a project of yours `test` is that of vitest, node:test or jest.
const cases: { readonly title: string; readonly run: () => Promise<void> }[] = [];
modelConformance({
  test: (title, run) => cases.push({ title, run }),
  makeModel: async (turns) => {
    const { url, lastBody } = await start(turns, KEY);
    return { ...acmeModel(url, KEY), lastBody };
  },
  sent: ({ lastBody }) => lastBody(),
});
try {
  for (const { title, run } of cases) {
    await run();
    console.log(`✓ ${title}`);
  }
  assert.ok(cases.length > 0);

  const Tenant = extensionToken("tenant").of<string>();
  const whose = defineTool({
    name: "whose",
    input: { type: "object" },
    requires: [Tenant],
    callWithExtensions: (_input, extensions) => `${extensions.require(Tenant).length} characters`,
  });
  const server = await start([{ toolCalls: [{ toolName: "whose", input: {}, toolCallId: "c1" }] }, "Done."], KEY);
  const agent = new Agent({ name: "acme", model: acmeModel(server.url, KEY), tools: [whose] });
  const result = await agent.prompt("Whose?").toolExtensions(new ToolCallExtensions().with(Tenant, "t-7")).run();
  console.log(`answer: ${result.output}`);
  assert.equal(result.output, "Done.");
  assert.match(server.lastBody(), /3 characters/);
  assert.doesNotMatch(server.lastBody(), /t-7/);

  const wrongKey = new Agent({ name: "acme", model: acmeModel(server.url, "another key") });
  const refusal = await wrongKey
    .prompt("Hello?")
    .run()
    .catch((error: unknown) => String(error));
  console.log(refusal);
  assert.match(String(refusal), /Acme answered HTTP 401/);
} finally {
  for (const server of servers) server.close();
}
