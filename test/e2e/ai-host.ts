import type { Tool, ToolCallExtensions, ToolSet } from "tool-call-extensions";
import type { AiSdkToolsOptions } from "tool-call-extensions/ai-sdk";

// What the tests ask of each major version of `ai`; `ai-<major>/host.ts` answers with the version that is installed there.

interface ScriptedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: string;
}

/** What the model answers, in order. */
export type Script = readonly (string | readonly ScriptedCall[])[];

interface HostRequest<Needs extends string> {
  readonly script: Script;
  readonly tools: ToolSet<Needs>;
  readonly extensions: ToolCallExtensions<Needs>;
  readonly options?: AiSdkToolsOptions | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** All that the version gave away of a run. */
export interface HostRun {
  readonly text: string;
  /** The results' steps, by reference. */
  readonly steps: readonly object[];
  /** Everything the model was sent. */
  readonly prompts: readonly object[];
  /** The ended telemetry spans. */
  readonly spans: readonly object[];
  /** The errors of failed calls, by reference. */
  readonly errors: readonly unknown[];
}

type Play = <Needs extends string>(request: HostRequest<Needs>) => Promise<HostRun>;

export interface AiHost {
  readonly generate: Play;
  readonly stream: Play;
  /** One agent for two requests, with the extensions in the request's context. */
  readonly agent: <Needs extends string>(
    request: HostRequest<Needs>,
    second: ToolCallExtensions<Needs>,
  ) => Promise<HostRun>;
  /** A tool of ours in which a loop of the version's own runs; `prompts` gets what its model was sent. */
  readonly subAgent: <Needs extends string>(
    name: string,
    script: Script,
    tools: ToolSet<Needs>,
    requires: NonNullable<Tool<never, unknown, Needs>["requires"]>,
    prompts?: object[],
  ) => Tool<never, unknown, Needs>;
  /** Asks, and goes on with the approval or the refusal; `undefined` where the version has no approvals. */
  readonly approve:
    | (<Needs extends string>(request: HostRequest<Needs>, isApproved: boolean) => Promise<HostRun>)
    | undefined;
  /** A tool made with the version's own `tool()`: echoes its input, its call id and the key in its context. */
  readonly theirTool: Parameters<typeof import("tool-call-extensions/ai-sdk").fromAiSdkTool>[1];
}
