/**
 * A scripted model, a recording tool, and tests for tools and models of your own.
 *
 * @module
 */

export { modelConformance } from "./model-conformance.ts";
export { type RecordedCall, type RecordingTool, type RecordingToolOptions, recordingTool } from "./recording-tool.ts";
export { type ScriptedModel, type ScriptedTurn, scriptedModel } from "./scripted-model.ts";
export { toolConformance } from "./tool-conformance.ts";
export { toolSetConformance } from "./tool-set-conformance.ts";
