import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolError,
  ToolSet,
  toolResult,
} from "tool-call-extensions";
import { liveProgress, renderTree, toHtml, toMermaid } from "tool-call-extensions/inspect";
import { scriptedModel } from "tool-call-extensions/testing";
import { beforeAll, describe, expect, it, vi } from "vitest";

const Secret = extensionToken("secret-of-tenant").of<string>();
const Given = extensionToken("given-back").of<string>();
/** One for each kind of place, so that a failure names it. */
const CANARIES = {
  extension: "canary-extension",
  resultExtension: "canary-given-back",
  prompt: "canary-prompt",
  instructions: "canary-instructions",
  input: "canary-input",
  output: "canary-output",
  progress: "canary-progress",
  error: "canary-error",
  toolError: "canary-tool-error",
  text: "canary-text",
  modelError: "canary-model-error",
  session: "canary-session",
};

const tools = [
  defineTool({
    name: "steps",
    input: { type: "object" },
    requires: [Secret],
    callWithExtensions: async function* (_input, extensions) {
      yield CANARIES.progress;
      yield toolResult({ text: CANARIES.output }, new ToolCallExtensions().with(Given, extensions.require(Secret)));
    },
  }),
  defineTool({
    name: "breaks",
    input: { type: "object" },
    call: () => {
      throw new Error(CANARIES.error, { cause: CANARIES.error });
    },
  }),
  defineTool({
    name: "refuses",
    input: { type: "object" },
    call: () => {
      throw new ToolError(CANARIES.toolError);
    },
  }),
  defineTool({ name: "pays", input: { type: "object" }, needsApproval: true, call: () => CANARIES.output }),
];

/** A run that completes, one that pauses and one that fails, each with a canary wherever something can be said. */
async function heard(...listeners: readonly ((event: RunEvent) => void)[]): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = [];
  const input = { text: CANARIES.input };
  const calls = (...names: readonly string[]) => ({
    text: CANARIES.text,
    toolCalls: names.map((toolName) => ({ toolName, input })),
  });
  const start = (script: Parameters<typeof scriptedModel>[0]) => {
    const agent = new Agent({ name: "desk", model: scriptedModel(script), tools, instructions: CANARIES.instructions });
    const request = agent
      .prompt(CANARIES.prompt)
      .session(CANARIES.session)
      .toolExtensions(new ToolCallExtensions().with(Secret, CANARIES.extension))
      .on((event) => void events.push(event));
    return listeners.reduce((listening, listener) => listening.on(listener), request);
  };
  await start([calls("steps", "breaks", "refuses"), CANARIES.text]).run();
  await start([calls("pays"), CANARIES.text]).run();
  await start([calls("steps"), new Error(CANARIES.modelError)])
    .run()
    .catch(() => undefined);
  const extensions = new ToolCallExtensions().with(Secret, CANARIES.extension);
  const listener = (event: RunEvent) => void [events.push(event), ...listeners.map((hear) => hear(event))];
  await new ToolSet(tools).callWithExtensions("breaks", input, extensions, { listener });
  return events;
}

describe("nothing but names, ids, times and token ids is shown", () => {
  const shown = new Map<string, string>();
  let events: readonly RunEvent[];

  beforeAll(async () => {
    vi.stubEnv("CI", "");
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("TERM", "xterm");
    const written = { plain: "", drawn: "" };
    const plain = liveProgress({ write: (text) => (written.plain += text) });
    const drawn = liveProgress({ write: (text) => (written.drawn += text), isTTY: true });
    events = await heard(plain, drawn);
    vi.unstubAllEnvs();
    shown.set("renderTree", renderTree(events)).set("toMermaid", toMermaid(events)).set("toHtml", toHtml(events));
    shown.set("liveProgress, plain", written.plain).set("liveProgress, drawn", written.drawn);
  });

  it("though the events, and what they refer to, hold a canary of every kind", () => {
    const texts = events.map((event) => {
      const error = "error" in event ? event.error : undefined;
      const cause = error instanceof Error ? `${error.message} ${String(error.cause)}` : "";
      const given = event.type === "tool-completed" ? event.resultExtensions?.get(Given) : "";
      const session = "invocation" in event ? event.invocation.sessionKey : "";
      return `${JSON.stringify(event)} ${cause} ${given} ${session}`;
    });
    const { prompt, instructions, resultExtension, ...inEvents } = CANARIES;
    for (const canary of Object.values(inEvents)) expect(texts.join("\n")).toContain(canary);
    expect([prompt, instructions, resultExtension]).toHaveLength(3);
  });

  it.each(["renderTree", "toMermaid", "toHtml", "liveProgress, plain", "liveProgress, drawn"])("by %s", (name) => {
    const text = shown.get(name) ?? "";
    expect(text).toContain("steps");
    expect(text).toContain("failed (error)");
    expect(text).toContain("failed (model-failed)");
    expect(text).not.toContain("canary");
  });

  it.each(["renderTree", "toMermaid", "toHtml"])("and token ids are, by %s", (name) => {
    expect(shown.get(name)).toContain("secret-of-tenant");
  });
});
