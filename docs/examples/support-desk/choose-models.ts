import { parseArgs } from "node:util";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Model } from "tool-call-extensions";
import { fromLanguageModel, type LanguageModel } from "tool-call-extensions/ai-sdk";

interface ProviderSettings {
  readonly apiKey: string;
  readonly baseURL?: string;
  readonly fetch: typeof fetch;
}

/** The variable that holds the key, and the client. */
const PROVIDERS: Readonly<
  Record<string, readonly [key: string, connect: (s: ProviderSettings) => (name: string) => LanguageModel]>
> = {
  openai: ["OPENAI_API_KEY", createOpenAI],
  anthropic: ["ANTHROPIC_API_KEY", createAnthropic],
  google: ["GOOGLE_GENERATIVE_AI_API_KEY", createGoogleGenerativeAI],
  mistral: ["MISTRAL_API_KEY", createMistral],
};

export interface ChosenModels {
  /** Says what plays: the embedded script, or a provider's model. */
  readonly name: string;
  readonly isScripted: boolean;
  /** Gives the model of one agent; a real provider has one for all. */
  modelOf(agentName: string): Model;
  /** The bodies of all requests, as they went over the wire. */
  readonly sent: readonly string[];
}

/** Says what is missing and ends the program, where a model was asked for that cannot be reached. */
export function chooseOrExit(scriptedUrl: string): ChosenModels {
  try {
    return chooseModels(scriptedUrl);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  }
}

/**
 * Reads `--model <provider>:<name>` and `--base-url <url>`; without them the scripted provider plays.
 *
 * @throws Error which says what is missing.
 */
function chooseModels(scriptedUrl: string): ChosenModels {
  const { values } = parseArgs({ options: { model: { type: "string" }, "base-url": { type: "string" } } });
  const { model: spec, "base-url": baseURL } = values;
  const sent: string[] = [];
  const recordingFetch: typeof fetch = (url, init) => {
    sent.push(String(init?.body));
    return fetch(url, init);
  };
  if (spec === undefined) {
    const connect = compatible({ apiKey: "none", baseURL: scriptedUrl, fetch: recordingFetch });
    const modelOf = (agentName: string): Model => fromLanguageModel(connect(agentName));
    return { name: "the embedded script, over HTTP", isScripted: true, modelOf, sent };
  }
  const [, provider = "", name = ""] = spec.match(/^([^:]*):(.+)$/) ?? [];
  const model = fromLanguageModel(connectTo(provider, baseURL, recordingFetch)(name));
  return { name: spec, isScripted: false, modelOf: () => model, sent };
}

function connectTo(
  provider: string,
  baseURL: string | undefined,
  recordingFetch: typeof fetch,
): (name: string) => LanguageModel {
  if (provider === "compatible") {
    if (baseURL === undefined) throw new Error("--model compatible:<name> needs --base-url <url>");
    return compatible({ apiKey: process.env["API_KEY"] ?? "none", baseURL, fetch: recordingFetch });
  }
  const [variable, connect] = (Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined) ?? [];
  if (variable === undefined || connect === undefined) {
    const known = [...Object.keys(PROVIDERS), "compatible"].map((key) => `${key}:<name>`);
    throw new Error(`--model takes one of ${known.join(", ")}; received "${provider}"`);
  }
  const apiKey = process.env[variable];
  if (!apiKey) throw new Error(`--model ${provider}:<name> needs a key in the environment variable ${variable}`);
  return connect({ apiKey, ...(baseURL && { baseURL }), fetch: recordingFetch });
}

function compatible({ apiKey, baseURL = "", fetch }: ProviderSettings): (name: string) => LanguageModel {
  return createOpenAICompatible({ name: "compatible", apiKey, baseURL, fetch });
}
