// A server over stdio for the tests, of the SDK version in its argument; it writes what it receives to stderr.
import { Server as Server1 } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { serveTools } from "tool-call-extensions/mcp";
import { servedTools, serveOptions } from "./served-tools.ts";

const info = { name: "served", version: "1.0.0" };
process.stdin.on("data", (chunk) => process.stderr.write(chunk));
if (process.argv[2] === "1") {
  const server = new Server1(info);
  serveTools(server, servedTools, serveOptions);
  await server.connect(new StdioServerTransport());
} else {
  serveStdio(() => {
    const server = new McpServer2(info);
    serveTools(server, servedTools, serveOptions);
    return server;
  });
}
