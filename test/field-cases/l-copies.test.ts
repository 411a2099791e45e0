import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Agent, Model, RunEvent, Tool, ToolSet } from "tool-call-extensions";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// Three installed copies of the built package in one process, the third by require(). `npm test` builds before it tests.

type Library = typeof import("tool-call-extensions");

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "copies-"));

/** Installs a copy of the package, with what it depends on, and gives the path of its entry. */
function install(name: string): string {
  const home = join(folder, name, "node_modules");
  const options = { recursive: true, dereference: true };
  cpSync(join(root, "dist"), join(home, "tool-call-extensions/dist"), options);
  cpSync(join(root, "package.json"), join(home, "tool-call-extensions/package.json"), options);
  cpSync(join(root, "node_modules/@noble/hashes"), join(home, "@noble/hashes"), options);
  return join(home, "tool-call-extensions/dist/index.js");
}

const load = (path: string): Promise<Library> => import(pathToFileURL(path).href);

let one: Library;
let two: Library;
let three: Library;

beforeAll(async () => {
  one = await load(install("one"));
  two = await load(install("two"));
  three = createRequire(install("three"))("./index.js");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Makes an agent of the copy, whose model calls the tools at once and then says the last result. */
function agentOf<Needs extends string = never>(
  copy: Library,
  name: string,
  tools: readonly Tool<never, unknown, Needs>[] | ToolSet<Needs>,
): Agent<Needs> {
  const named = "definitions" in tools ? tools.definitions : tools;
  const model: Model = {
    generate: async ({ messages }) => {
      const last = messages.at(-1);
      if (last?.role === "tool") return { content: [{ type: "text", text: last.text }] };
      const calls = named.map(({ name: toolName }) => ({ toolName, toolCallId: "toolu_01A", input: { prompt: "x" } }));
      return { content: calls.map((call) => ({ type: "tool-call", ...call })) };
    },
  };
  return new copy.Agent({ name, model, tools });
}

describe("H23 openai/openai-agents-js #709: with two copies loaded, what one set was invisible to the other", () => {
  it("has three copies to tell of", () => {
    expect(new Set([one, two, three].map(({ ToolSet }) => ToolSet)).size).toBe(3);
    expect(new Set([one, two, three].map(({ currentToolInvocation }) => currentToolInvocation)).size).toBe(3);
  });

  it("lets a tool of copy 2 in a run of copy 1 find its invocation and a value under copy 3's shared token", async () => {
    const tenant = (copy: Library) => copy.extensionToken.shared("com.example/tenant").of<string>();
    const tool = two.defineTool({
      name: "whose",
      input: {},
      requires: [tenant(two)],
      callWithExtensions: async (_input, extensions) => {
        await null;
        const own = extensions.require(two.ToolInvocationContext);
        const seen = [one, two, three].map((copy) => copy.currentToolInvocation() === own);
        return `${seen} ${own.toolCallId} ${extensions.require(tenant(three))}`;
      },
    });
    const request = agentOf(one, "a", [tool]).prompt("x");
    const given = request.toolExtensions(new one.ToolCallExtensions().with(tenant(one), "t-7"));
    expect((await new one.Runner().run(given)).output).toBe("true,true,true toolu_01A t-7");
    expect([one, two, three].map((copy) => copy.currentToolInvocation())).toEqual([undefined, undefined, undefined]);
  });

  it.each<[string, () => readonly [Library, Library]]>([
    ["imported", () => [two, one]],
    ["required", () => [three, one]],
    ["imported, by one that was required", () => [one, three]],
  ])("lets a Runner run the request of a copy that was %s, and its map", async (_how, copies) => {
    const [made, running] = copies();
    const Tenant = made.extensionToken("tenant").of<string>();
    const tool = made.defineTool({
      name: "whose",
      input: {},
      requires: [Tenant],
      callWithExtensions: (_input, extensions) => extensions.require(Tenant),
    });
    const extensions = new running.ToolCallExtensions().with(Tenant, "t-7");
    const request = agentOf(made, "a", [tool]).prompt("x").toolExtensions(extensions).session("chat-7");
    expect((await new running.Runner().run(request)).output).toBe("t-7");
    const types: string[] = [];
    for await (const { type } of new running.Runner().stream(request)) types.push(type);
    expect(types.at(-1)).toBe("run-completed");
  });

  it("takes the tool set of another copy for an agent's", async () => {
    const tools = new two.ToolSet([two.defineTool({ name: "ping", input: {}, call: () => "pong" })]);
    expect((await agentOf(one, "a", tools).prompt("x").run()).output).toBe("pong");
  });

  it("parents, keys and tells of the calls inside a call, whichever copy made them", async () => {
    const leaf = three.defineTool({ name: "leaf", input: {}, call: () => three.currentToolInvocation()?.sessionKey });
    const leaves = new three.ToolSet([leaf]);
    const middle = two.defineTool({
      name: "middle",
      input: {},
      callWithExtensions: async (_input, extensions) => {
        const outcome = await leaves.callWithExtensions("leaf", {}, extensions);
        const { invocationKey } = extensions.require(two.ToolInvocationContext);
        return outcome.status === "completed" && invocationKey !== undefined && outcome.output === invocationKey;
      },
    });
    const ask = agentOf(two, "inner", [middle]).asTool({ name: "ask" });
    const events: RunEvent[] = [];
    const request = agentOf(one, "outer", [ask]).prompt("x").session("chat-7");
    expect((await request.on((event) => events.push(event)).run()).output).toBe("true");
    const calls = events.filter((event) => event.type === "tool-requested").map(({ invocation }) => invocation);
    expect(calls.map(({ toolName, parent }) => [toolName, parent?.toolName])).toEqual([
      ["ask", undefined],
      ["middle", "ask"],
      ["leaf", "middle"],
    ]);
    expect(new Set(calls.map(({ invocationKey }) => invocationKey)).size).toBe(3);
  });

  it("tries the call of a tool of another copy again under its key", async () => {
    const seen: unknown[] = [];
    const flaky = two.defineTool({
      name: "flaky",
      input: {},
      retries: { max: 1, minDelayMs: 0 },
      callWithExtensions: (_input, extensions) => {
        const { attempt, invocationKey } = extensions.require(two.ToolInvocationContext);
        seen.push([attempt, invocationKey]);
        if (attempt === 1) throw new Error("socket closed");
        return "ok";
      },
    });
    await agentOf(one, "a", [flaky]).prompt("x").session("chat-7").run();
    const key = expect.stringMatching(/^ik1_/);
    expect(seen).toEqual([
      [1, key],
      [2, key],
    ]);
  });

  it("unwraps another copy's toolResult and brings its extensions back", async () => {
    const Cost = two.extensionToken("cost").of<number>();
    const call = () => two.toolResult("paid", new two.ToolCallExtensions().with(Cost, 7));
    const result = await agentOf(one, "a", [two.defineTool({ name: "pay", input: {}, call })])
      .prompt("x")
      .run();
    expect(result.output).toBe("paid");
    expect(result.resultExtensions.get(Cost)).toBe(7);
  });

  it("keeps the invocation out of a caller's hands, also by way of another copy's token", () => {
    expect(new Set([one, two, three].map(({ ToolInvocationContext }) => ToolInvocationContext)).size).toBe(1);
    expect(() => new one.ToolCallExtensions<string>().insert(two.ToolInvocationContext, {} as never)).toThrow(
      expect.objectContaining({ code: "reserved-token" }),
    );
  });

  it("recognises the errors of every copy, by is() and by instanceof", () => {
    for (const copy of [one, two, three]) {
      const error = new copy.ToolCallExtensionsError("read-only", "no", { operation: "insert" });
      for (const other of [one, two, three]) {
        expect(other.ToolCallExtensionsError.is(error)).toBe(true);
        expect(error).toBeInstanceOf(other.ToolCallExtensionsError);
        expect(new copy.ToolError("no")).toBeInstanceOf(other.ToolError);
        expect(other.ToolError.is(error)).toBe(false);
      }
    }
  });

  it("shows the model another copy's ToolError, and rejects with another copy's missing extension", async () => {
    const Tenant = three.extensionToken("tenant").of<string>();
    const refuse = two.defineTool({
      name: "refuse",
      input: {},
      call: () => {
        throw new three.ToolError("Order 42 does not exist.");
      },
    });
    const forget = two.defineTool({
      name: "forget",
      input: {},
      callWithExtensions: (_input, extensions) => extensions.expect(Tenant),
    });
    expect((await agentOf(one, "a", [refuse]).prompt("x").run()).output).toBe("Order 42 does not exist.");
    const error = await agentOf(one, "a", [forget])
      .prompt("x")
      .run()
      .catch((reason: unknown) => reason);
    expect(three.ToolCallExtensionsError.is(error) && error.code).toBe("missing-extension");
  });

  it("aborts what another copy has open", async () => {
    const controller = new AbortController();
    const hang = three.defineTool({
      name: "hang",
      input: {},
      callWithExtensions: (_input, extensions) => {
        const { signal } = extensions.require(three.ToolInvocationContext);
        setTimeout(() => controller.abort("enough"), 1);
        return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const ask = agentOf(two, "inner", [hang]).asTool({ name: "ask" });
    const events: RunEvent[] = [];
    const request = agentOf(one, "outer", [ask]).prompt("x").signal(controller.signal);
    await expect(request.on((event) => events.push(event)).run()).rejects.toBe("enough");
    const failed = events.flatMap((event) => (event.type === "tool-failed" ? [event.kind] : []));
    expect(failed).toEqual(["aborted", "aborted"]);
  });
});
