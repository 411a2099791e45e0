/**
 * Agents, tools, and the map that carries private values to every call.
 *
 * @module
 */

// For applications.
export { Agent, type AgentOptions } from "./agent/agent.ts";
// For authors of adapters and other libraries.
export type {
  AssistantPart,
  Message,
  Model,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  Usage,
} from "./agent/model.ts";
export type { PromptRequest } from "./agent/prompt-request.ts";
export type { RunEvent, RunListener } from "./agent/run-events.ts";
export type { RunResult } from "./agent/run-result.ts";
export type { PendingCall, RunState } from "./agent/run-state.ts";
export { Runner, type RunnerOptions } from "./agent/runner.ts";
export { type ErrorCode, invalidArgument, ToolCallExtensionsError, ToolError } from "./errors.ts";
export {
  type AnyExtensionToken,
  type DefaultedExtensionToken,
  type ExtensionToken,
  extensionToken,
} from "./extensions/extension-token.ts";
export { decodeExtensions, encodeExtensions } from "./extensions/portable.ts";
export { ToolCallExtensions } from "./extensions/tool-call-extensions.ts";
export { currentToolInvocation } from "./invocation/current-invocation.ts";
export { ToolInvocationContext } from "./invocation/invocation-context.ts";
export { deriveInvocationKey } from "./invocation/invocation-key.ts";
export type { InputSchema, JsonSchema } from "./tool/input-schema.ts";
export type { ToolCall, ToolMiddleware } from "./tool/middleware.ts";
export { defineTool, type Tool, wrapTool } from "./tool/tool.ts";
export type { ToolEvent } from "./tool/tool-events.ts";
export {
  outcomeText,
  type ToolFailureKind,
  type ToolOutcome,
  type ToolResult,
  toolResult,
} from "./tool/tool-result.ts";
export { ToolSet } from "./tool/tool-set.ts";
