import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import {
  Agent,
  defineTool,
  type Tool,
  ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { fromAiSdkTool } from "tool-call-extensions/ai-sdk";
import { scriptedModel } from "tool-call-extensions/testing";
import ts from "typescript";
import { describe, expect, test, vi } from "vitest";
import type { AiHost, HostRun } from "./ai-host.ts";
import { ApiKey, leaky, lookupTool, payTool, type SeenCall } from "./shop.ts";

// The AI SDK's own loops in each major version that is in use, with our tools in them and theirs in ours.

const folderOf = (major: number): string => fileURLToPath(new URL(`ai-${major}/`, import.meta.url));

function installs(major: number): boolean {
  const folder = folderOf(major);
  if (existsSync(`${folder}node_modules/ai/package.json`)) return true;
  try {
    execFileSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"], {
      cwd: folder,
      stdio: "pipe",
      timeout: 120_000,
    });
    return true;
  } catch (error) {
    const lines = String(Object(error).stderr ?? error).split("\n");
    console.info(`ai ${major} is skipped, as it could not be installed: ${lines.find((line) => /error/i.test(line))}`);
    return false;
  }
}

const CANARY = "canary-8c2";
const extensions = new ToolCallExtensions().with(ApiKey, CANARY);
const call = (toolCallId: string, toolName: string, input: object) => ({
  toolCallId,
  toolName,
  input: JSON.stringify(input),
});
const session = { key: "chat-7", turnId: "m-1" };

/** Everything a version keeps, prints or sends of a run, in every way it might. */
function traces({ steps, prompts, spans, errors }: HostRun): string {
  const all = { steps, prompts, spans, errors };
  const stacks = errors.map((error) => (error instanceof Error ? [error.stack, error.cause] : error));
  return [JSON.stringify(all), inspect(all, { depth: 30, showHidden: true, getters: true }), inspect(stacks)].join(
    "\n",
  );
}

function waiting(aborted: unknown[], begun: () => void): Tool<Record<string, unknown>, Promise<never>, never> {
  return defineTool({
    name: "wait",
    input: { type: "object" },
    callWithExtensions: (_input, seen) => {
      const { signal } = seen.require(ToolInvocationContext);
      setTimeout(begun, 5);
      return new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          aborted.push(signal.aborted);
          reject(signal.reason);
        });
      });
    },
  });
}

describe.each([5, 6, 7])("ai %i", (major) => {
  const isInstalled = installs(major);
  const it = test.skipIf(!isInstalled);
  const load = async (): Promise<AiHost> => (await import(`./ai-${major}/host.ts`)).host;

  it("takes the tools with their types", { timeout: 120_000 }, () => {
    const config = ts.getParsedCommandLineOfConfigFile(
      fileURLToPath(new URL("../../tsconfig.json", import.meta.url)),
      {},
      {
        ...ts.sys,
        onUnRecoverableConfigFileDiagnostic: (diagnostic) => expect.fail(String(diagnostic.messageText)),
      },
    );
    const options = { ...config?.options, isolatedDeclarations: false, declaration: false };
    const program = ts.createProgram([`${folderOf(major)}host.ts`], options);
    const faults = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
      const line = file?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0;
      return `${file?.fileName}:${line + 1} ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
    });
    expect(faults).toEqual([]);
  });

  it.each(["generate", "stream"] as const)(
    "%s: parallel calls see the extensions and their own invocation",
    async (mode) => {
      const host = await load();
      const seen: SeenCall[] = [];
      const script = [
        [call("call_abc", "lookup", { order: "42" }), call("call_def", "lookup", { order: "43" })],
        "Lost.",
      ];
      const run = await host[mode]({
        script,
        tools: new ToolSet([lookupTool(seen)]),
        extensions,
        options: { session },
      });
      expect(run.text).toBe("Lost.");
      expect(seen).toHaveLength(2);
      for (const { order, apiKey, invocation, isCurrent } of seen) {
        expect(invocation).toMatchObject({
          toolCallId: order === 42 ? "call_abc" : "call_def",
          toolName: "lookup",
          turn: 1,
        });
        expect([apiKey, isCurrent]).toEqual([CANARY, true]);
        expect(invocation.invocationKey).toMatch(/^ik1_/);
      }
      expect(new Set(seen.map(({ invocation }) => invocation.invocationKey)).size).toBe(2);
      // The model reads what it would read in a run of this library.
      expect(JSON.stringify(run.prompts.at(-1))).toContain('"at":"1970-01-01T00:00:00.000Z"');
      expect(traces(run)).not.toContain(CANARY);
      expect(run.spans.length).toBeGreaterThan(2);
    },
  );

  it.each(["generate", "stream"] as const)("%s: a failure says what the model may know, and no more", async (mode) => {
    const host = await load();
    const script = [[call("call_abc", "leaky", {})], "It failed."];
    const run = await host[mode]({ script, tools: new ToolSet([leaky]), extensions });
    expect(run.text).toBe("It failed.");
    expect(run.errors).toEqual([new ToolError('Tool "leaky" failed.')]);
    expect(JSON.stringify(run.prompts.at(-1))).toContain('Tool \\"leaky\\" failed.');
    expect(traces(run)).not.toContain(CANARY);
  });

  it("tells the model what is wrong with its arguments, and does not enter the tool", async () => {
    const host = await load();
    const seen: SeenCall[] = [];
    const script = [[call("call_abc", "lookup", { order: 42 })], "Sorry."];
    const run = await host.generate({ script, tools: new ToolSet([lookupTool(seen)]), extensions });
    expect(run.text).toBe("Sorry.");
    expect(seen).toEqual([]);
    expect(JSON.stringify(run.prompts.at(-1))).toContain("order: ");
  });

  it("gives ids that begin again every turn ids of their own, the same on a replay", async () => {
    const host = await load();
    const script = [
      [call("lookup:0", "lookup", { order: "42" })],
      [call("lookup:0", "lookup", { order: "43" })],
      "Lost.",
    ];
    const replays = [];
    for (let replay = 0; replay < 2; replay++) {
      const seen: SeenCall[] = [];
      await host.generate({
        script,
        tools: new ToolSet([lookupTool(seen)]),
        extensions,
        options: { session: { key: "chat-7" } },
      });
      replays.push(
        seen.map(({ invocation: { toolCallId, providerToolCallId, turn, runId, invocationKey } }) => ({
          toolCallId,
          providerToolCallId,
          turn,
          runId,
          invocationKey,
        })),
      );
    }
    expect(replays[0]).toEqual(replays[1]);
    expect(replays[0]?.map(({ providerToolCallId, turn }) => [providerToolCallId, turn])).toEqual([
      ["lookup:0", 1],
      ["lookup:0", 2],
    ]);
    expect(new Set(replays[0]?.map(({ toolCallId }) => toolCallId)).size).toBe(2);
    expect(new Set(replays[0]?.map(({ invocationKey }) => invocationKey)).size).toBe(2);
  });

  it.each(["generate", "stream"] as const)(
    "%s: calls of one answer under one id each have an id and a key",
    async (mode) => {
      const host = await load();
      for (const id of ["call_same", "lookup:0"]) {
        const replays = [];
        for (let replay = 0; replay < 2; replay++) {
          const seen: SeenCall[] = [];
          const turn = [call(id, "lookup", { order: "42" }), call(id, "lookup", { order: "43" })];
          const tools = new ToolSet([lookupTool(seen)]);
          await host[mode]({ script: [turn, "Lost."], tools, extensions, options: { session } });
          // Not in the order in which they ended, which is a busy machine's.
          const calls = seen.toSorted((one, other) => one.order - other.order);
          replays.push(calls.map(({ order, invocation }) => [order, invocation.toolCallId, invocation.invocationKey]));
        }
        expect(replays[0]).toEqual(replays[1]);
        expect(new Set(replays[0]?.flat()).size).toBe(6);
      }
    },
  );

  it("an approval is for the call that waited, and not for a later one under its id", async () => {
    const host = await load();
    if (host.approve === undefined) return;
    for (const id of ["pay:0", "call_abc"]) {
      const paid: ToolInvocationContext[] = [];
      const tools = new ToolSet([payTool(paid)]);
      const script = [[call(id, "pay", { cents: 500 })], [call(id, "pay", { cents: 5 })], "Done."];
      const request = { script, tools, extensions: new ToolCallExtensions(), options: { session } };
      await host.approve(request, true);
      expect(paid.map(({ turn }) => turn)).toEqual([1, 2]);
      expect(new Set(paid.map(({ invocationKey }) => invocationKey)).size).toBe(2);
    }
  });

  it("two loops inside one call, asked the same, are two runs, the same ones on a replay", async () => {
    const host = await load();
    const replays = [];
    for (let replay = 0; replay < 2; replay++) {
      const seen: SeenCall[] = [];
      const inner = [[call("lookup:0", "lookup", { order: "42" })], "Lost."];
      const ask = host.subAgent("ask", inner, new ToolSet([lookupTool(seen)]), [ApiKey]);
      const fan = defineTool({
        name: "fan",
        input: { type: "object" },
        requires: [ApiKey],
        callWithExtensions: async (_input, given) => {
          const question = { prompt: "Where?" };
          for (let loop = 0; loop < 2; loop++) await ask.callWithExtensions(question as never, given as never);
        },
      });
      const script = [[call("call_outer", "fan", {})], "Lost."];
      await host.generate({ script, tools: new ToolSet([fan]), extensions, options: { session } });
      replays.push(
        seen.map(({ invocation: { runId, toolCallId, invocationKey } }) => [runId, toolCallId, invocationKey]),
      );
    }
    expect(replays[0]).toEqual(replays[1]);
    expect(new Set(replays[0]?.flat()).size).toBe(6);
  });

  it("an agent that outlives its requests reads each request's own extensions", async () => {
    const host = await load();
    const seen: SeenCall[] = [];
    const script = [[call("call_abc", "lookup", { order: "42" })], "Lost."];
    const tools = new ToolSet([lookupTool(seen)]);
    const options = { session: () => ({ key: "chat-7" }) };
    const second = new ToolCallExtensions().with(ApiKey, "canary-other");
    const run = await host.agent({ script, tools, extensions, options }, second);
    expect(seen.map(({ apiKey }) => apiKey)).toEqual([CANARY, "canary-other"]);
    expect(seen[0]?.invocation.sessionKey).toBe("chat-7");
    expect(traces(run)).not.toContain("canary");
    expect(run.spans.length).toBeGreaterThan(2);
  });

  it("a sub-agent inside a tool reads the same values, and its calls have the tool's call as their parent", async () => {
    const host = await load();
    const seen: SeenCall[] = [];
    const inner = [[call("call_inner", "lookup", { order: "42" })], "Lost, says the inner one."];
    const ask = host.subAgent("ask", inner, new ToolSet([lookupTool(seen)]), [ApiKey]);
    const script = [[call("call_outer", "ask", { prompt: "Where?" })], "Lost."];
    const run = await host.generate({ script, tools: new ToolSet([ask]), extensions, options: { session } });
    expect(JSON.stringify(run.prompts.at(-1))).toContain("Lost, says the inner one.");
    const [{ apiKey, invocation } = {}] = seen;
    expect(apiKey).toBe(CANARY);
    expect(invocation?.parent).toMatchObject({ toolCallId: "call_outer", toolName: "ask" });
    expect(invocation?.sessionKey).toBe(invocation?.parent?.invocationKey);
    expect(invocation?.runId).not.toBe(invocation?.parent?.runId);
    expect(traces(run)).not.toContain(CANARY);
  });

  it("an abort reaches the tool", async () => {
    const host = await load();
    const controller = new AbortController();
    const aborted: unknown[] = [];
    const tools = new ToolSet([waiting(aborted, () => controller.abort(new Error("enough")))]);
    await host
      .generate({
        script: [[call("call_abc", "wait", {})], "?"],
        tools,
        extensions: new ToolCallExtensions(),
        signal: controller.signal,
      })
      .catch(() => undefined);
    expect(aborted).toEqual([true]);
  });

  it("an abort ends a sub-agent's loop, which asks its model no more", async () => {
    const host = await load();
    const controller = new AbortController();
    const aborted: unknown[] = [];
    const prompts: object[] = [];
    const inner = new ToolSet([waiting(aborted, () => controller.abort(new Error("enough")))]);
    const ask = host.subAgent("ask", [[call("call_inner", "wait", {})], "Lost."], inner, [], prompts);
    await host
      .generate({
        script: [[call("call_outer", "ask", { prompt: "Where?" })], "?"],
        tools: new ToolSet([ask]),
        extensions: new ToolCallExtensions(),
        signal: controller.signal,
      })
      .catch(() => undefined);
    await vi.waitFor(() => expect(prompts).toHaveLength(1));
    expect(aborted).toEqual([true]);
  });

  it("what needs approval runs once it is approved, under the call's own id, and not before", async () => {
    const host = await load();
    const paid: ToolInvocationContext[] = [];
    const script = [[call("call_abc", "pay", { cents: 500 })], "Done."];
    const request = {
      script,
      tools: new ToolSet([payTool(paid)]),
      extensions: new ToolCallExtensions(),
      options: { session },
    };
    if (host.approve === undefined) {
      const run = await host.generate(request);
      const text = 'Tool "pay" needs approval, and the conversation holds none for this call.';
      expect(run.errors).toEqual([new ToolError(text)]);
      expect(paid).toEqual([]);
      return;
    }
    await host.approve(request, false);
    expect(paid).toEqual([]);
    await host.approve(request, true);
    expect(paid.map(({ toolCallId, turn }) => [toolCallId, turn])).toEqual([["call_abc", 1]]);
    await host.generate({ ...request, script: [[call("call_small", "pay", { cents: 5 })], "Done."] });
    expect(paid.map(({ toolCallId }) => toolCallId)).toEqual(["call_abc", "call_small"]);
  });

  it("its own tools run in an agent of ours, with a context made of the extensions", async () => {
    const { theirTool } = await load();
    const echo = fromAiSdkTool("echo", theirTool, {
      requires: [ApiKey],
      context: (seen) => ({ length: seen.require(ApiKey).length }),
    });
    const model = scriptedModel([
      { toolCalls: [{ toolName: "echo", toolCallId: "call_abc", input: { n: "41" } }] },
      "Done.",
    ]);
    const agent = new Agent({ name: "a", model, tools: [echo] });
    const progress: unknown[] = [];
    await agent
      .prompt("Go")
      .toolExtensions(extensions)
      .on((event) => {
        if (event.type === "tool-progress") progress.push(event.output);
      })
      .run();
    expect(model.requests[0]?.tools).toMatchObject([
      { name: "echo", description: "Echoes", inputSchema: { properties: { n: { type: "string" } } } },
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain('42 call_abc false {\\"length\\":10}');
    expect(progress[0]).toBe("working");
  });
});
