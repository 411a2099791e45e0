import pg from "pg";
import * as root from "tool-call-extensions";
import { type Model, type ToolMiddleware, ToolSet } from "tool-call-extensions";
import * as aiSdk from "tool-call-extensions/ai-sdk";
import * as inspect from "tool-call-extensions/inspect";
import * as mcp from "tool-call-extensions/mcp";
import * as once from "tool-call-extensions/once";
import * as postgres from "tool-call-extensions/postgres";
import * as testing from "tool-call-extensions/testing";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { startProvider } from "../ai-sdk/provider-server.ts";
import { WIRE_FORMATS } from "../ai-sdk/wire-formats.ts";
import { connectors } from "../mcp/connections.ts";
import { noServerReason } from "../postgres/server.ts";
import { type AnyTool, enter, type MakeTool, ToolClass } from "./kinds.ts";
import {
  approvedRun,
  callOfSubAgent,
  loopOfAiSdk,
  type MakeToolSet,
  overJson,
  overMcp,
  runOfAgent,
  runOfRunner,
} from "./tool-sets.ts";

type Losses = Parameters<typeof testing.toolSetConformance>[0]["loses"];
/** A model with what has been sent for it so far. */
type SendingModel = Model & { readonly requests: readonly unknown[] };
type MakeModel = Parameters<typeof testing.modelConformance<SendingModel>>[0]["makeModel"];

/** Under which kit an export is run, or why under none. */
export type Row =
  | { readonly kit: "tool"; readonly make: MakeTool }
  | {
      readonly kit: "tool set";
      readonly make: MakeToolSet;
      readonly isRemote?: boolean;
      readonly skipped?: string | undefined;
      readonly loses?: Losses;
    }
  | { readonly kit: "model"; readonly make: MakeModel }
  | { readonly kit: "none"; readonly because: string; readonly provedBy?: string };

export type Table = Readonly<Record<string, Readonly<Record<string, Row>>>>;

/** What the package exports at run time, by the entry's name. */
export interface Entries {
  readonly ".": typeof root;
  readonly "./testing": typeof testing;
  readonly "./mcp": typeof mcp;
  readonly "./once": typeof once;
  readonly "./postgres": typeof postgres;
  readonly "./ai-sdk": typeof aiSdk;
  readonly "./inspect": typeof inspect;
}

const tool = (make: MakeTool): Row => ({ kit: "tool", make });
const toolSet = (make: MakeToolSet, loses?: Losses): Row => ({ kit: "tool set", make, loses });
const remoteSet = (make: MakeToolSet, loses: Losses): Row => ({ kit: "tool set", make, isRemote: true, loses });
const model = (make: MakeModel): Row => ({ kit: "model", make });
const none = (because: string, provedBy?: string): Row => ({ kit: "none", because, ...(provedBy && { provedBy }) });

const DATA = none("a shape of data or options, which its functions are run with");
const through =
  (middleware: ToolMiddleware): MakeToolSet =>
  (tools, parts) =>
    new ToolSet(tools, { middleware: [...parts.middleware, middleware] });
/** The set's tools, each one changed by a function that keeps what it declares. */
const ofTools =
  (change: (inner: AnyTool) => AnyTool): MakeToolSet =>
  (tools, { middleware }) =>
    new ToolSet(tools.map(change), { middleware });

const ROOT = ({ ".": api }: Entries): Table[string] => ({
  Agent: toolSet(callOfSubAgent(api.Agent)),
  AgentOptions: DATA,
  AnyExtensionToken: DATA,
  AssistantPart: DATA,
  DefaultedExtensionToken: DATA,
  ErrorCode: DATA,
  ExtensionToken: DATA,
  InputSchema: none("a schema", "test/tool/input-schema.test.ts"),
  JsonSchema: DATA,
  Message: DATA,
  // Without a stream, which a model need not have.
  Model: model((turns) => {
    const { generate, requests } = testing.scriptedModel(turns);
    return { generate, requests };
  }),
  ModelRequest: DATA,
  ModelResponse: DATA,
  ModelStreamPart: DATA,
  PendingCall: DATA,
  PromptRequest: toolSet(runOfAgent(root.Agent)),
  RunEvent: DATA,
  RunListener: none("hears, and dispatches nothing", "test/agent/runner-listeners.test.ts"),
  RunResult: DATA,
  RunState: toolSet(approvedRun),
  Runner: toolSet(runOfRunner(api.Runner)),
  RunnerOptions: DATA,
  Tool: tool((inner) => new ToolClass(inner)),
  ToolCall: DATA,
  ToolCallExtensions: toolSet((tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    return {
      definitions: set.definitions,
      callWithExtensions: (name, input, extensions, options) => {
        const map = new api.ToolCallExtensions<string>();
        map.extend(extensions);
        return set.callWithExtensions(name, input, map, options);
      },
    };
  }),
  ToolCallExtensionsError: none("an error", "test/agent/runner-failures.test.ts"),
  ToolError: none("an error, which the kit of tool sets throws", "test/tool/tool-result.test.ts"),
  ToolEvent: DATA,
  ToolFailureKind: DATA,
  ToolInvocationContext: none("a token, which every kit reads", "test/tool/tool-set.test.ts"),
  ToolMiddleware: toolSet(through((call, next) => next({ ...call }))),
  ToolOutcome: DATA,
  ToolResult: DATA,
  ToolSet: toolSet((tools, { middleware }) => new api.ToolSet(tools, { middleware })),
  Usage: DATA,
  currentToolInvocation: tool((inner) =>
    root.wrapTool(inner, {
      callWithExtensions: (input, extensions, next) => {
        if (api.currentToolInvocation() !== extensions.require(root.ToolInvocationContext)) throw new Error("another");
        return next(input, extensions);
      },
    }),
  ),
  decodeExtensions: remoteSet(overJson(api), ["result extensions", "progress"]),
  defineTool: tool((inner) => {
    const { name, input, requires, idempotent, retries } = inner;
    const needsApproval = inner.needsApproval === true;
    return api.defineTool({
      ...{ name, input, requires, needsApproval, idempotent, retries },
      callWithExtensions: (given, extensions) => enter(inner, given, extensions),
    });
  }),
  deriveInvocationKey: none("a pure function", "test/pins/invocation-key.test.ts"),
  encodeExtensions: remoteSet(overJson(api), ["result extensions", "progress"]),
  extensionToken: tool((inner) => {
    const Limit = api.extensionToken("limit").of({ default: () => 10 });
    return root.wrapTool(inner, {
      requires: [Limit],
      callWithExtensions: (input, extensions, next) => next(input, extensions.with(Limit, extensions.get(Limit) + 1)),
    });
  }),
  invalidArgument: none("makes an error, for adapters"),
  outcomeText: none("says what a model is shown; the kit of tool sets asks it", "test/tool/tool-result.test.ts"),
  toolResult: toolSet(
    ofTools((inner) =>
      root.wrapTool(inner, {
        callWithExtensions: async (input, extensions, next) => {
          const result = await next(input, extensions);
          return typeof result === "string" ? api.toolResult(result, new root.ToolCallExtensions()) : result;
        },
      }),
    ),
  ),
  wrapTool: tool((inner) =>
    api.wrapTool(inner, { callWithExtensions: (input, extensions, next) => next(input, extensions) }),
  ),
});

const TESTING = ({ "./testing": api }: Entries): Table[string] => ({
  RecordedCall: DATA,
  RecordingTool: DATA,
  RecordingToolOptions: DATA,
  ScriptedModel: DATA,
  ScriptedTurn: DATA,
  modelConformance: none("a kit", "test/testing/model-conformance.test.ts"),
  recordingTool: tool((inner) => {
    const { name, input, requires } = inner;
    const result = (call: testing.RecordedCall): unknown => enter(inner, call.input, call.extensions);
    // What it has no options for.
    const { needsApproval, idempotent, retries } = inner;
    return { ...api.recordingTool({ name, input, requires, result }), needsApproval, idempotent, retries };
  }),
  scriptedModel: model((turns) => api.scriptedModel(turns)),
  toolConformance: none("a kit", "test/testing/tool-conformance.test.ts"),
  toolSetConformance: none("a kit", "test/testing/tool-set-conformance.test.ts"),
});

/** In memory with one version of the SDK, over HTTP with the other; all of them are in the kit's own tests. */
const connectorOf = (name: string): (typeof connectors)[number] => {
  const connector = connectors.find((each) => each.name === name);
  if (connector === undefined) throw new Error(`there is no connector "${name}"`);
  return connector;
};

const MCP = ({ "./mcp": api }: Entries): Table[string] => ({
  McpClient: DATA,
  McpRequest: DATA,
  McpResult: none("a token", "test/mcp/mcp-tools.test.ts"),
  McpServer: DATA,
  McpToolsOptions: DATA,
  ServeToolsOptions: DATA,
  mcpResult: toolSet(
    ofTools((inner) =>
      root.wrapTool(inner, {
        callWithExtensions: async (input, extensions, next) => {
          const text = await next(input, extensions);
          return typeof text === "string" ? api.mcpResult({ content: [{ type: "text", text }] }) : text;
        },
      }),
    ),
  ),
  mcpTools: remoteSet(overMcp(api, connectorOf("version 1 in memory")), ["undefined", "result extensions", "progress"]),
  serveTools: remoteSet(overMcp(api, connectorOf("version 2 over HTTP")), [
    "undefined",
    "result extensions",
    "progress",
  ]),
});

const ONCE = ({ "./once": api }: Entries): Table[string] => {
  const keeping: MakeToolSet = (...made) => through(api.once({ store: api.memoryOnceStore() }))(...made);
  return { OnceOptions: DATA, OnceStore: DATA, memoryOnceStore: toolSet(keeping), once: toolSet(keeping) };
};

const POSTGRES = ({ "./postgres": api }: Entries, url: () => string): Table[string] => ({
  PostgresClient: DATA,
  PostgresOnceOptions: DATA,
  PostgresOnceStore: DATA,
  postgresOnceStore: {
    kit: "tool set",
    skipped: noServerReason,
    make: async (tools, parts) => {
      const pool = new pg.Pool({ connectionString: url() });
      onTestFinished(() => pool.end());
      // One for each case: the cases have sessions and ids in common.
      const store = api.postgresOnceStore(pool, { table: `once_${crypto.randomUUID().replaceAll("-", "")}` });
      await store.createTable();
      return through(once.once({ store }))(tools, parts);
    },
  },
});

const AI_SDK = ({ "./ai-sdk": api }: Entries): Table[string] => ({
  AiSdkContextTool: DATA,
  AiSdkTool: DATA,
  AiSdkToolsOptions: DATA,
  CallSettings: DATA,
  FromAiSdkToolOptions: DATA,
  LanguageModel: DATA,
  LanguageModelOptions: DATA,
  fromAiSdkTool: tool((inner) => {
    const { name, requires, needsApproval, idempotent, retries } = inner;
    const execute = (input: unknown, { experimental_context: context }: { readonly experimental_context: never }) =>
      enter(inner, input, context);
    const made = api.fromAiSdkTool(name, { inputSchema: z.looseObject({}), execute }, { requires });
    // What a tool of the AI SDK cannot declare.
    return { ...made, needsApproval, idempotent, retries };
  }),
  fromLanguageModel: model(async (turns, isStreaming) => {
    const [format] = WIRE_FORMATS;
    if (format === undefined) throw new Error("there is no wire format");
    const answers = turns.map((turn) => {
      const { text = "", toolCalls = [] } = typeof turn === "string" ? { text: turn } : turn;
      const calls = toolCalls.map(({ toolName, toolCallId = "", input }) => {
        return { id: toolCallId, name: toolName, input: Object(input) };
      });
      return format.answer(isStreaming ? "streaming" : "blocking", text, calls);
    });
    const { url, requests } = await startProvider(answers);
    return { ...api.fromLanguageModel(format.connect(url)), requests };
  }),
  toAiSdkTools: toolSet(loopOfAiSdk(api.toAiSdkTools), ["undefined", "result extensions"]),
});

const INSPECT: Table[string] = {
  ProgressStream: DATA,
  RenderTreeOptions: DATA,
  liveProgress: none("hears, and dispatches nothing", "test/inspect/live-progress.test.ts"),
  renderTree: none("a pure function of events", "test/inspect/render-tree.test.ts"),
  toHtml: none("a pure function of events", "test/inspect/to-html.test.ts"),
  toMermaid: none("a pure function of events", "test/inspect/to-mermaid.test.ts"),
};

export const ENTRIES: Entries = {
  ".": root,
  "./testing": testing,
  "./mcp": mcp,
  "./once": once,
  "./postgres": postgres,
  "./ai-sdk": aiSdk,
  "./inspect": inspect,
};

/** Every public name, types too. The rows call what they are about by `api`. */
export const tableOf = (api: Entries, postgresUrl: () => string): Table => ({
  ".": ROOT(api),
  "./testing": TESTING(api),
  "./mcp": MCP(api),
  "./once": ONCE(api),
  "./postgres": POSTGRES(api, postgresUrl),
  "./ai-sdk": AI_SDK(api),
  "./inspect": INSPECT,
});
