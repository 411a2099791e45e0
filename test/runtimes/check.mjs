// Works the built package in whatever runtime loads this file, and tells what came out as one line of JSON.
// `node check.mjs <the package's name, path or URL>`; where there is no command line, a bundle calls `check`.
import vectors from "../pins/invocation-key.vectors.json" with { type: "json" };

/** @param library what the package's root entry exports */
export async function check(library) {
  return {
    runtime: runtimeName(),
    keys: await invocationKeys(library),
    derivedKeys: vectors.derivedKeys.map(({ key, label }) => library.deriveInvocationKey(key, textOf(label))),
    accessor: await checkAccessor(library),
    run: await runWithSubAgent(library),
  };
}

function runtimeName() {
  const { Bun, Deno, navigator, process } = globalThis;
  if (Bun !== undefined) return `bun ${Bun.version}`;
  if (Deno !== undefined) return `deno ${Deno.version.deno}`;
  // Workerd has a process too where it is told to be compatible with Node.
  if (navigator?.userAgent !== undefined && !navigator.userAgent.startsWith("Node.js")) return navigator.userAgent;
  return `node ${process.versions.node}`;
}

const textOf = (text) => (typeof text === "string" ? text : text.repeat.repeat(text.times));

/** The keys of the vectors that a caller can reach: a session key and a call id are never empty. */
async function invocationKeys({ defineTool, ToolInvocationContext, ToolSet }) {
  const readKey = defineTool({
    name: "read_key",
    input: { type: "object" },
    callWithExtensions: (_input, extensions) => extensions.require(ToolInvocationContext).invocationKey,
  });
  const tools = new ToolSet([readKey]);
  const keys = {};
  for (const { name, sessionKey, toolCallId } of vectors.invocationKeys) {
    if (sessionKey === "" || toolCallId === "") continue;
    const { output } = await tools.call("read_key", {}, { sessionKey: textOf(sessionKey), toolCallId });
    keys[name] = output;
  }
  return keys;
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 1));

/** Tools that call `read` wherever a tool can be. */
function readingTools({ defineTool, ToolSet }, read) {
  const tool = (name, callWithExtensions) => defineTool({ name, input: { type: "object" }, callWithExtensions });
  const awaiting = tool("awaiting", async (_input, extensions) => {
    read("at once", extensions);
    await null;
    read("after await", extensions);
    await pause();
    read("after a timer", extensions);
  });
  const throwing = tool("throwing", async (_input, extensions) => {
    await pause();
    read("before a throw", extensions);
    throw new Error("on purpose");
  });
  const generating = tool("generating", async function* (_input, extensions) {
    try {
      read("in the first step", extensions);
      yield 1;
      await pause();
      read("in the second step", extensions);
      yield 2;
    } finally {
      read("in finally", extensions);
    }
  });
  const leaves = new ToolSet([awaiting]);
  const nesting = tool("nesting", async (_input, extensions) => {
    await leaves.callWithExtensions("awaiting", {}, extensions);
    read("after a nested call", extensions);
  });
  const hanging = tool("hanging", (_input, extensions) => {
    read("before a cancel", extensions);
    return new Promise(() => {});
  });
  return new ToolSet([awaiting, throwing, generating, nesting, hanging]);
}

/** Calls several tools at once and lists at which places the accessor gave the call's own, none or another's. */
async function checkAccessor(library) {
  const { currentToolInvocation, ToolInvocationContext } = library;
  const places = { own: [], none: [], wrong: [], leaked: [] };
  const inside = (place, extensions) => {
    const current = currentToolInvocation();
    const isOwn = current === extensions.require(ToolInvocationContext);
    places[isOwn ? "own" : current === undefined ? "none" : "wrong"].push(place);
  };
  const outside = (place) => {
    if (currentToolInvocation() !== undefined) places.leaked.push(place);
  };
  const tools = readingTools(library, inside);
  const controller = new AbortController();
  outside("before the calls");
  const names = ["awaiting", "throwing", "generating", "nesting", "awaiting", "generating"];
  const pending = names.map((name) => tools.call(name, {}));
  pending.push(tools.call("hanging", {}, { signal: controller.signal }));
  outside("while they run");
  await pause();
  controller.abort();
  const outcomes = await Promise.all(pending);
  outside("after them");
  // Timers of one moment may fire in any order.
  for (const list of Object.values(places)) list.sort();
  return { ...places, outcomes: outcomes.map(({ status, kind }) => kind ?? status) };
}

/** Asks a sub-agent; the providers send no id and one that begins again every turn. */
async function runWithSubAgent({ Agent, currentToolInvocation, defineTool, extensionToken, ToolCallExtensions }) {
  const Tenant = extensionToken("tenant").of();
  const calling = (toolName, toolCallId) => ({
    generate: async ({ messages }) => {
      const turn = messages.filter(({ role }) => role === "assistant").length;
      if (turn > 1) return { content: [{ type: "text", text: messages.at(-1).text }] };
      return { content: [{ type: "tool-call", toolName, toolCallId, input: { prompt: "x" } }] };
    },
  });
  const whose = defineTool({
    name: "whose",
    input: { type: "object" },
    requires: [Tenant],
    callWithExtensions: (_input, extensions) => `tenant ${extensions.require(Tenant)}`,
  });
  const inner = new Agent({ name: "inner", model: calling("whose", "whose:0"), tools: [whose] });
  const outer = new Agent({ name: "outer", model: calling("ask", undefined), tools: [inner.asTool({ name: "ask" })] });
  const request = outer.prompt("x").session("chat-7").toolExtensions(new ToolCallExtensions().with(Tenant, "t-7"));
  const calls = [];
  let leaks = 0;
  let output;
  for await (const event of request.stream()) if (event.type === "tool-requested") break;
  if (currentToolInvocation() !== undefined) leaks += 1;
  for await (const event of request.stream()) {
    if (currentToolInvocation() !== undefined) leaks += 1;
    if (event.type === "run-completed") output = event.result.output;
    if (event.type !== "tool-requested") continue;
    const { toolName, toolCallId, invocationKey, runId, turn, parent } = event.invocation;
    calls.push({ toolName, toolCallId, invocationKey, runId, turn, parent: parent?.toolCallId });
  }
  return { output, calls, leaks };
}

const entry = globalThis.process?.argv?.[2];
if (entry !== undefined) import(entry).then(check).then((result) => console.log(JSON.stringify(result)));
