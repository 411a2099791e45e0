import type { LanguageModel, Warning } from "./language-model.ts";

/** Makes what hears a model's warnings: the listener, whose failure is no failure of the run, or the console. */
export function warner(
  { provider, modelId }: LanguageModel,
  onWarning: ((warning: string) => void) | undefined,
): (warnings: readonly Warning[] | undefined) => void {
  const shown = new Set<string>();
  const show = (text: string): void => {
    if (!shown.has(text)) console.warn(`tool-call-extensions: ${provider} ${modelId}: ${text}`);
    shown.add(text);
  };
  return (warnings = []) => {
    for (const { type, feature, setting, tool, details, message } of warnings) {
      const what = feature ?? tool?.name ?? setting;
      const text = [type, what, details, message].filter((piece) => piece !== undefined).join(": ");
      try {
        (onWarning ?? show)(text);
      } catch (error) {
        console.error("tool-call-extensions: onWarning failed:", error);
      }
    }
  };
}
