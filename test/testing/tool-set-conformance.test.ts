import { AsyncLocalStorage } from "node:async_hooks";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import {
  Agent,
  type ToolCall,
  ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
  type ToolMiddleware,
  type ToolOutcome,
  ToolSet,
  wrapTool,
} from "tool-call-extensions";
import { toAiSdkTools } from "tool-call-extensions/ai-sdk";
import { mcpTools, serveTools } from "tool-call-extensions/mcp";
import { toolSetConformance } from "tool-call-extensions/testing";
import { describe, expect, it, test } from "vitest";
import { connectors } from "../mcp/connections.ts";
import {
  approvedRun,
  callOfSubAgent,
  loopOfAiSdk,
  type MakeToolSet,
  overMcp,
  router,
  runOfAgent,
} from "./tool-sets.ts";

const inProcess: Readonly<Record<string, MakeToolSet>> = {
  ToolSet: (tools, { middleware }) => new ToolSet(tools, { middleware }),
  "a run of an agent": runOfAgent(Agent),
  "a run that waits for approval": approvedRun,
  "a sub-agent": callOfSubAgent(Agent),
  "a tool that routes calls": router,
  "a loop of the AI SDK": loopOfAiSdk(toAiSdkTools),
};

describe.each(Object.entries(inProcess))("%s", (name, makeToolSet) => {
  const loses = name === "a loop of the AI SDK" ? (["undefined", "result extensions"] as const) : [];
  toolSetConformance({ test, makeToolSet, loses });
});

// Over stdio a server runs in another process, to which no tool can be handed.
describe.each(connectors.filter(({ transport }) => transport !== "stdio"))("MCP, $name", (connector) => {
  const loses = ["undefined", "result extensions", "progress"] as const;
  toolSetConformance({ test, isRemote: true, loses, makeToolSet: overMcp({ mcpTools, serveTools }, connector) });
});

/** Runs the kit against a kind of tool set and gives the titles of its cases, and of those that it fails. */
async function played(makeToolSet: MakeToolSet, isRemote = false) {
  const titles: string[] = [];
  const cases: Promise<string | undefined>[] = [];
  const record = (title: string, run: () => Promise<void>): void => {
    titles.push(title);
    cases.push(
      run().then(
        () => undefined,
        () => title,
      ),
    );
  };
  toolSetConformance({ test: record, makeToolSet, isRemote });
  return { titles, failed: (await Promise.all(cases)).filter((title) => title !== undefined) };
}

type Call = Parameters<ToolSet["callWithExtensions"]>;
type Change = (set: ToolSet, ...call: Call) => Promise<ToolOutcome>;

/** A set that makes its calls in a way of its own. */
const changed =
  (change: Change): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    const { definitions } = set;
    return { definitions, callWithExtensions: (...call) => change(set, ...(call as Call)) };
  };

/** A set that describes its tools otherwise. */
const describing =
  (change: Partial<ToolSet["definitions"][number]>): MakeToolSet =>
  (tools, { middleware }) => {
    const set = new ToolSet(tools, { middleware });
    const definitions = set.definitions.map((definition) => ({ ...definition, ...change }));
    return { definitions, callWithExtensions: (...call) => set.callWithExtensions(...call) };
  };

/** A set that hands every call on, changed on its way to the tool. */
const around =
  (change: ToolMiddleware): MakeToolSet =>
  (tools, { middleware }) =>
    new ToolSet(tools, { middleware: [...middleware, change] });

/** The same values in another map, each one as `copy` makes it. */
function copied({ extensions }: ToolCall, copy: (value: unknown) => unknown): ToolCallExtensions<string> {
  const map = new ToolCallExtensions<string>();
  for (const token of extensions.tokens()) {
    if (token.id.startsWith("conformance/")) map.insert(token as never, copy(extensions.get(token as never)) as never);
  }
  return map;
}

const passed = async (set: ToolSet, ...call: Call): Promise<ToolOutcome> => set.callWithExtensions(...call);
let count = 0;

const FAULTS: readonly (readonly [fault: string, title: string, makeToolSet: MakeToolSet])[] = [
  [
    "a registry that sorts",
    "describes its tools",
    (tools, { middleware }) =>
      new ToolSet(
        tools.toSorted((one, other) => (one.name < other.name ? -1 : 1)),
        { middleware },
      ),
  ],
  ["a registry without schemas", "describes what each tool does and takes", describing({ inputSchema: {} })],
  ["a registry without descriptions", "what each tool does", describing({ description: undefined })],
  [
    "a registry in a plain object",
    "reaches each tool by its own name",
    (tools, { middleware }) => {
      const registry: Record<string, (typeof tools)[number]> = {};
      for (const tool of tools) registry[tool.name] = tool;
      const set = new ToolSet(Object.values(registry), { middleware });
      return { definitions: set.definitions, callWithExtensions: (...call) => set.callWithExtensions(...call) };
    },
  ],
  [
    "a set that drops the input",
    "with its own input",
    changed((set, name, _input, ...rest) => passed(set, name, {}, ...rest)),
  ],
  [
    "a set that knows no names but its own",
    "says of an unknown tool which there are",
    changed(async (set, name, ...rest) => {
      const error = new Error("no such tool");
      return set.get(name) ? passed(set, name, ...rest) : { status: "failed", kind: "unknown-tool", error };
    }),
  ],
  [
    "a set that takes the nearest tool",
    "and enters none",
    changed((set, name, ...rest) => passed(set, set.get(name) ? name : "__proto__", ...rest)),
  ],
  [
    "a lookup in a plain object",
    "says of an unknown tool which there are",
    changed((set, name, ...rest) => {
      const tools = Object.fromEntries(set.definitions.map((definition) => [definition.name, definition]));
      if (tools[name] === undefined || set.get(name)) return passed(set, name, ...rest);
      return Promise.resolve({ status: "completed", output: "(constructor)" });
    }),
  ],
  [
    "a set of one session",
    "keeps the calls of two sessions apart",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, sessionKey: options?.sessionKey && "s" }),
    ),
  ],
  [
    "a set that keeps outcomes by the call's id",
    "keeps the calls of two sessions apart",
    (tools, { middleware }) => {
      const set = new ToolSet(tools, { middleware });
      const kept = new Map<string, Promise<ToolOutcome>>();
      return {
        definitions: set.definitions,
        callWithExtensions: (name, input, extensions, options) => {
          const key = options.toolCallId ?? crypto.randomUUID();
          const outcome = kept.get(key) ?? set.callWithExtensions(name, input, extensions, options);
          kept.set(key, outcome);
          return outcome;
        },
      };
    },
  ],
  [
    "a set that makes one call after the other, and so waits for ever for a nested one",
    "is, with its calls, the parent of those made inside them",
    (tools, { middleware }) => {
      const set = new ToolSet(tools, { middleware });
      let last: Promise<unknown> = Promise.resolve();
      return {
        definitions: set.definitions,
        callWithExtensions: (name, input, extensions, options) => {
          const given = extensions.snapshot();
          const outcome = last.then(() => set.callWithExtensions(name, input, given, options));
          last = outcome;
          return outcome;
        },
      };
    },
  ],
  ["a set without middleware", "through each middleware once", (tools) => new ToolSet(tools)],
  [
    "middleware the wrong way round",
    "the first outermost",
    (tools, { middleware }) => new ToolSet(tools, { middleware: middleware.toReversed() }),
  ],
  [
    "middleware taken twice",
    "through each middleware once",
    (tools, { middleware }) => new ToolSet(tools, { middleware: [...middleware, ...middleware] }),
  ],
  [
    "a set that copies values",
    "by identity",
    around((call, next) => next({ ...call, extensions: copied(call, structuredClone) })),
  ],
  [
    "a set that hands on an empty map",
    "by identity",
    around((call, next) => next({ ...call, extensions: new ToolCallExtensions<string>() })),
  ],
  [
    "a set that remembers a map",
    "keeps parallel calls apart",
    (tools, parts) => {
      let first: ToolCallExtensions<string> | undefined;
      return around((call, next) => {
        first ??= copied(call, (value) => value);
        return next({ ...call, extensions: first });
      })(tools, parts);
    },
  ],
  [
    "a set that waits before it takes the map",
    "nor sees a later change",
    changed(async (set, ...call) => {
      await null;
      return set.callWithExtensions(...call);
    }),
  ],
  [
    "a set that tidies up the caller's map",
    "neither changes the caller's map",
    changed((set, name, input, extensions, options) => {
      const running = passed(set, name, input, extensions.snapshot(), options);
      const map = extensions as ToolCallExtensions<string>;
      const [token] = map.tokens();
      if (token && !map.isReadOnly) map.remove(token as never);
      return running;
    }),
  ],
  [
    "a set that drops the call's id",
    "an invocation of its own",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, toolCallId: undefined }),
    ),
  ],
  [
    "a set that drops the session",
    "with its id and a key",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, sessionKey: undefined }),
    ),
  ],
  [
    "a set whose made ids repeat",
    "makes an id for each call",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, toolCallId: options?.toolCallId ?? `id${count++ % 3}` }),
    ),
  ],
  [
    "a set whose nested calls have no parent",
    "is, with its calls, the parent",
    changed((set, name, input, extensions, options) => {
      const map = new ToolCallExtensions<string>();
      map.extend(extensions);
      map.remove(ToolInvocationContext);
      return passed(set, name, input, map, { ...options, sessionKey: "s" });
    }),
  ],
  [
    "a set that tells the model every error",
    "makes a failure an outcome",
    changed(async (set, ...call) => {
      const outcome = await passed(set, ...call);
      return outcome.status === "failed" ? { ...outcome, error: new ToolError(String(outcome.error)) } : outcome;
    }),
  ],
  [
    "a set that rejects",
    "makes a failure an outcome",
    changed(async (set, ...call) => {
      const outcome = await passed(set, ...call);
      if (outcome.status === "failed") throw outcome.error;
      return outcome;
    }),
  ],
  [
    "a set that tries a failed call again",
    "tells one end of each call",
    changed(async (set, ...call) => {
      const outcome = await passed(set, ...call);
      return outcome.status === "failed" ? passed(set, ...call) : outcome;
    }),
  ],
  [
    "a set that makes undefined null",
    "gives undefined back",
    changed(async (set, ...call) => {
      const outcome = await passed(set, ...call);
      return outcome.status === "completed" ? { ...outcome, output: outcome.output ?? null } : outcome;
    }),
  ],
  [
    "a set that gives the output alone",
    "gives result extensions back",
    changed(async (set, ...call) => {
      const outcome = await passed(set, ...call);
      return outcome.status === "completed" ? { status: "completed", output: outcome.output } : outcome;
    }),
  ],
  [
    "a set that nobody outside can listen to",
    "gives progress back",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, listener: () => undefined }).then((outcome) =>
        outcome.status === "completed" && outcome.output === "three" ? { ...outcome, output: "two" } : outcome,
      ),
    ),
  ],
  [
    "a set whose tools run as another call",
    "is the current invocation while it runs",
    (tools, { middleware }) => {
      const outside = AsyncLocalStorage.snapshot();
      const entering = tools.map((tool) =>
        wrapTool(tool, { callWithExtensions: (input, map, next) => outside(() => next(input, map)) }),
      );
      return new ToolSet(entering, { middleware });
    },
  ],
  [
    "a set that drops the signal",
    "ends by an abort",
    changed((set, name, input, extensions, options) =>
      passed(set, name, input, extensions, { ...options, signal: undefined }),
    ),
  ],
  [
    "a set that leaves an aborted call running",
    "tells the tool of it",
    changed((set, name, input, extensions, { signal, ...options } = {}) => {
      const running = passed(set, name, input, extensions, options);
      const aborted = new Promise<ToolOutcome>((resolve) => {
        const end = () => resolve({ status: "failed", kind: "aborted", error: signal?.reason });
        signal?.addEventListener("abort", end);
      });
      return Promise.race([running, aborted]);
    }),
  ],
];

describe("the kit finds", () => {
  it.each(FAULTS)("%s", async (_fault, found, makeToolSet) => {
    const { titles, failed } = await played(makeToolSet);
    const aimedAt = titles.filter((title) => title.includes(found));
    expect(aimedAt).not.toEqual([]);
    expect(failed).toEqual(expect.arrayContaining(aimedAt));
  });

  const [connector] = connectors;
  const wired = (change: Partial<Parameters<typeof mcpTools>[1]>): MakeToolSet => {
    if (connector === undefined) throw new Error("no connector");
    const mcp: Parameters<typeof overMcp>[0] = {
      serveTools,
      mcpTools: (client, options) => mcpTools(client, { ...options, ...change }),
    };
    return overMcp(mcp, connector);
  };
  it.each<[string, string, MakeToolSet]>([
    [
      "a wire that carries all",
      "forwards what it is told, and nothing else",
      (tools, parts) => new ToolSet(tools, parts),
    ],
    ["a wire that carries nothing", "forwards what it is told, and nothing else", wired({ forward: {} })],
    ["a wire that loses who is calling", "is, with its calls, the parent", wired({ invocation: false })],
  ])("%s", async (_fault, title, makeToolSet) => {
    expect((await played(makeToolSet, true)).failed.join("\n")).toContain(title);
  });

  it("a fault in each of its cases", async () => {
    const { titles, failed } = await played((tools, { middleware }) => new ToolSet(tools, { middleware }));
    expect(failed).toEqual([]);
    const unseeded = titles.filter((title) => !FAULTS.some(([, found]) => title.includes(found)));
    expect(titles.length).toBeGreaterThan(10);
    expect(unseeded).toEqual([]);
  });
});

it("runs under node:test", async () => {
  const program = `
    import { test } from "node:test";
    import { ToolSet } from "tool-call-extensions";
    import { toolSetConformance } from "tool-call-extensions/testing";
    toolSetConformance({ test, makeToolSet: (tools, { middleware }) => new ToolSet(tools, { middleware }) });
  `;
  const args = ["--import", "tsx", "--input-type=module", "--test-reporter=tap", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  expect(stdout).toMatch(/# pass 1\d\n/);
  expect(stdout).toMatch(/# fail 0\n/);
}, 30_000);
