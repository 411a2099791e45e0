export { type CallSettings, fromLanguageModel, type LanguageModelOptions } from "./from-language-model.ts";
export type { LanguageModel } from "./language-model.ts";
