/**
 * The tools of MCP servers for your agents, and your tools for MCP clients.
 *
 * @module
 */

export type { McpClient } from "./mcp-client.ts";
export { McpResult, mcpResult } from "./mcp-result.ts";
export type { McpServer } from "./mcp-server.ts";
export { type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
export { type McpRequest, type ServeToolsOptions, serveTools } from "./serve-tools.ts";
