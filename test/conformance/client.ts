import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { outcomeText, ToolSet } from "tool-call-extensions";
import { type McpClient, mcpTools } from "tool-call-extensions/mcp";
import { UNFINISHED } from "./scenarios.ts";

// The client under test: the suite starts it with the address of the scenario's server, which judges what it receives.
const [generation, address = ""] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env;

const info = { name: "conformance", version: "1.0.0" };
// The user of the elicitation scenario accepts the form as it is: the defaults are the client's to fill in.
const capabilities = { elicitation: { form: { applyDefaults: true } } };
const accepted = { action: "accept", content: {} } as const;

type Connected = McpClient & { close(): Promise<void> };

async function connect1(url: URL): Promise<Connected> {
  const client = new Client1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => accepted);
  await client.connect(new Http1(url));
  return client;
}

async function connect2(url: URL): Promise<Connected> {
  const isStateless = generation === "version 2, stateless";
  const client = new Client2(info, { capabilities, ...(isStateless && { versionNegotiation: { mode: "auto" } }) });
  client.setRequestHandler("elicitation/create", () => accepted);
  await client.connect(new Http2(url));
  return client;
}

interface Call {
  readonly name: string;
  readonly arguments: object;
}

/** The calls that the scenario names, or one of each tool. */
function callsOf(tools: ToolSet): readonly Call[] {
  // Its tool is there to be read, and its server has nothing to answer a call with.
  if (scenario === "json-schema-ref-no-deref") return [];
  const { toolCalls }: { readonly toolCalls?: readonly Call[] } = JSON.parse(context);
  return toolCalls ?? tools.definitions.map(({ name }) => ({ name, arguments: inputOf(name, tools) }));
}

function inputOf(name: string, tools: ToolSet): object {
  switch (name) {
    case "add_numbers":
      return { a: 2, b: 3 };
    case "json_schema_echo":
      return { schema: tools.definitions.find((tool) => tool.name === "json_schema_2020_12_tool")?.inputSchema };
    default:
      return {};
  }
}

const client = await (generation === "version 1" ? connect1 : connect2)(new URL(address));
const tools = new ToolSet(await mcpTools(client));
for (const { name, arguments: input } of callsOf(tools)) {
  const outcome = await tools.call(name, input);
  if (outcome.status === "completed") continue;
  const cause = outcome.status === "failed" ? outcome.error : undefined;
  console.log(`${UNFINISHED}${name}: ${cause instanceof Error ? cause.message : outcomeText(outcome, name)}`);
  process.exitCode = 1;
}
await client.close();
