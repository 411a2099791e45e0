// One link of the chain of servers, over stdio: `chain-server.ts <log file> <links behind this one>`.
import { appendFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ToolSet } from "tool-call-extensions";
import { mcpTools, serveTools } from "tool-call-extensions/mcp";
import { logOf, record, researcher, Tenant } from "./chain.ts";

const [, , log = "", links = "0"] = process.argv;
const accept = { "com.example/tenant": Tenant };

async function nextServersTools() {
  const client = new Client({ name: "link", version: "1.0.0" });
  const args = ["--import", "tsx", fileURLToPath(import.meta.url), log, String(Number(links) - 1)];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  return mcpTools(client, { forward: accept, invocation: true });
}

const tool = links === "0" ? record : researcher(await nextServersTools());
const server = new Server({ name: "link", version: "1.0.0" });
serveTools(server, new ToolSet([tool]), {
  accept,
  extensions: ({ accepted }) => accepted,
  listener: logOf((entry) => appendFileSync(log, `${JSON.stringify({ links, ...entry })}\n`)),
});
await server.connect(new StdioServerTransport());
