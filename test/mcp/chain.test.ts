import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Agent, extensionToken, type Tool, ToolCallExtensions } from "tool-call-extensions";
import { mcpTools } from "tool-call-extensions/mcp";
import { scriptedModel } from "tool-call-extensions/testing";
import { afterAll, expect, it } from "vitest";
import { z } from "zod";
import { type Entry, logOf, record, researcher, Tenant } from "./chain.ts";

const folder = mkdtempSync(join(tmpdir(), "chain-"));
afterAll(() => rmSync(folder, { recursive: true }));
const Secret = extensionToken("secret").of(z.string());
const extensions = new ToolCallExtensions().with(Tenant, "t-7").with(Secret, "canary-c4");

/** Runs the outermost agent, whose tool `research` is given, and says what its own process saw. */
async function run(research: Tool<never, unknown, never>): Promise<readonly Entry[]> {
  const toolCalls = [{ toolName: "research", toolCallId: "toolu_researchx", input: { prompt: "look" } }];
  const agent = new Agent({ name: "outer", model: scriptedModel([{ toolCalls }, "done"]), tools: [research] });
  const seen: Entry[] = [];
  const request = agent.prompt("x").session("chat-7", { turnId: "1" }).toolExtensions(extensions);
  await request.on(logOf((entry) => seen.push(entry))).run();
  return seen;
}

/** Runs it with `research` in a second process, whose `record` is in a third. */
async function runOverProcesses(log: string): Promise<readonly Entry[]> {
  const file = fileURLToPath(new URL("./chain-server.ts", import.meta.url));
  const args = ["--import", "tsx", file, log, "1"];
  const client = new Client({ name: "outer", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }));
  try {
    const [research] = await mcpTools(client, { forward: { "com.example/tenant": Tenant }, invocation: true });
    return await run(research ?? expect.fail("the server has no tool"));
  } finally {
    await client.close();
  }
}

it("agent, MCP, server, sub-agent, MCP, server: ids, keys, parents and forwarded values are those of one process", async () => {
  const local = await run(researcher([record]));
  const log = join(folder, "first.log");
  const outer = await runOverProcesses(log);
  const remote = readFileSync(log, "utf8")
    .trim()
    .split("\n")
    .map((line): Entry => JSON.parse(line));

  const identity = ({ toolName, toolCallId, key, parent }: Entry) => ({ toolName, toolCallId, key, parent });
  const byId = (entries: readonly Entry[]) => [...entries].sort((a, b) => a.toolCallId.localeCompare(b.toolCallId));
  const middle = remote.filter(({ links }) => links === "1");
  // The process in the middle saw the whole tree below it; its root is the outer process's call.
  expect(byId(middle).map(identity)).toEqual(byId(local).map(identity));
  expect(outer.map(identity)).toEqual(local.filter(({ toolName }) => toolName === "research").map(identity));
  // The answer is the sub-agent's, and not what a server behind it said.
  expect(outer.map(({ output }) => output)).toEqual(["recorded"]);
  expect(local.map(({ key }) => key)).not.toContain(undefined);
  expect(new Set(local.map(({ key }) => key)).size).toBe(3);

  // The last process saw both calls under the same ids and keys, as its client's word.
  const last = remote.filter(({ links }) => links === "0");
  const records = local.filter(({ toolName }) => toolName === "record");
  expect(byId(last).map(({ toolCallId, key }) => ({ toolCallId, key }))).toEqual(
    byId(records).map(({ toolCallId, key }) => ({ toolCallId, key })),
  );
  expect(last.map(({ isRemote, parent }) => ({ isRemote, parent }))).toEqual([
    { isRemote: true, parent: undefined },
    { isRemote: true, parent: undefined },
  ]);
  expect(byId(last).map(({ output }) => output)).toEqual([
    { note: "n1", tenant: "t-7", secret: "none" },
    { note: "n2", tenant: "t-7", secret: "none" },
  ]);
  expect(readFileSync(log, "utf8")).not.toContain("canary");
}, 60_000);

it("the same turn, sent again through new processes, has the same keys at its end", async () => {
  const keysOf = async (name: string) => {
    const log = join(folder, name);
    await runOverProcesses(log);
    const entries = readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line): Entry => JSON.parse(line));
    return entries.map(({ links, key }) => `${links} ${key}`).sort();
  };
  const [first, second] = [await keysOf("a.log"), await keysOf("b.log")];
  expect(first).toHaveLength(5);
  expect(second).toEqual(first);
}, 60_000);
