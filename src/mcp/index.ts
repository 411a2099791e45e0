export { type McpClient, type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
