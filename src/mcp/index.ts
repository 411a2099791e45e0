export type { McpClient } from "./mcp-client.ts";
export { McpResult, mcpResult } from "./mcp-result.ts";
export type { McpServer } from "./mcp-server.ts";
export { type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
export { type McpRequest, type ServeToolsOptions, serveTools } from "./serve-tools.ts";
