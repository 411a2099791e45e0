/**
 * The AI SDK's providers as models, your tools in its loop, and its tools in yours.
 *
 * @module
 */

export { type FromAiSdkToolOptions, fromAiSdkTool } from "./from-ai-sdk-tool.ts";
export { type CallSettings, fromLanguageModel, type LanguageModelOptions } from "./from-language-model.ts";
export type { LanguageModel } from "./language-model.ts";
export { type AiSdkContextTool, type AiSdkTool, type AiSdkToolsOptions, toAiSdkTools } from "./to-ai-sdk-tools.ts";
