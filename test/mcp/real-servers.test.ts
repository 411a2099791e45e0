import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { extensionToken, outcomeText, ToolCallExtensions, type ToolEvent, ToolSet } from "tool-call-extensions";
import { McpResult, type McpToolsOptions, mcpTools } from "tool-call-extensions/mcp";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

const resolve = createRequire(import.meta.url).resolve;
const everything = resolve("@modelcontextprotocol/server-everything/dist/index.js");
const filesystem = resolve("@modelcontextprotocol/server-filesystem/dist/index.js");
const Secret = extensionToken("secret").of<string>();
const extensions = new ToolCallExtensions().with(Secret, "canary-2b8");
const info = { name: "test", version: "1.0.0" };
const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
const elicited = { action: "accept" as const, content: { name: "Ada" } };
const sampled = { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "an answer" } };
const roots = { roots: [{ uri: "file:///project", name: "project" }] };

type Client = Client1 | Client2;

function client1(): Client1 {
  const client = new Client1(info, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => elicited);
  client.setRequestHandler(CreateMessageRequestSchema, () => sampled);
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  return client;
}

function client2(): Client2 {
  const client = new Client2(info, { capabilities, versionNegotiation: { mode: "auto" } });
  client.setRequestHandler("elicitation/create", () => elicited);
  client.setRequestHandler("sampling/createMessage", () => sampled);
  client.setRequestHandler("roots/list", () => roots);
  return client;
}

let open: Client | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

let httpServer: ChildProcess;
let url: URL;
beforeAll(async () => {
  const port = await freePort();
  httpServer = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { ...process.env, PORT: String(port) },
    stdio: "ignore",
  });
  url = new URL(`http://127.0.0.1:${port}/mcp`);
  for (const end = Date.now() + 20_000; !(await isListening()); await sleep(50)) {
    if (Date.now() > end) throw new Error("the server does not listen");
  }
});
afterAll(() => httpServer.kill());

/** Any answer is one: a GET without a session is refused. */
const isListening = () =>
  fetch(url).then(
    () => true,
    () => false,
  );

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((listening) => probe.listen(0, "127.0.0.1", listening));
  const address = probe.address();
  await new Promise((closed) => probe.close(closed));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

const stdio = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [file, ...args],
  stderr: "ignore" as const,
});

async function connected<Some extends Client>(client: Some, connect: (client: Some) => Promise<void>): Promise<Some> {
  open = client;
  await connect(client);
  return client;
}

const ways = [
  {
    version: 1,
    over: "stdio",
    connect: () => connected(client1(), (client) => client.connect(new Stdio1(stdio(everything, "stdio")))),
  },
  { version: 1, over: "HTTP", connect: () => connected(client1(), (client) => client.connect(new Http1(url))) },
  {
    version: 2,
    over: "stdio",
    connect: () => connected(client2(), (client) => client.connect(new Stdio2(stdio(everything, "stdio")))),
  },
  { version: 2, over: "HTTP", connect: () => connected(client2(), (client) => client.connect(new Http2(url))) },
];

const INPUTS: Readonly<Record<string, object>> = {
  echo: { message: "hello" },
  "get-annotated-message": { messageType: "success", includeImage: true },
  "get-env": {},
  "get-resource-links": {},
  "get-resource-reference": { resourceType: "Blob" },
  "get-roots-list": {},
  "get-structured-content": { location: "Chicago" },
  "get-sum": { a: 2, b: 3 },
  "get-tiny-image": {},
  "gzip-file-as-resource": { data: "data:text/plain,hello", outputType: "resource" },
  "simulate-research-query": { topic: "idempotency" },
  "toggle-simulated-logging": {},
  "toggle-subscriber-updates": {},
  "trigger-elicitation-request": {},
  "trigger-long-running-operation": { duration: 0.2, steps: 4 },
  "trigger-sampling-request": { prompt: "hi" },
};

describe.each(ways)("server-everything over $over with version $version", ({ version, over, connect }) => {
  it("has every tool listed and callable, and no value leaves", { timeout: 60_000 }, async () => {
    const client = await connect();
    const tools = new ToolSet(await mcpTools(client));
    expect(tools.definitions.map(({ name }) => name).sort()).toEqual(Object.keys(INPUTS));
    const texts: Record<string, string> = {};
    for (const [name, input] of Object.entries(INPUTS)) {
      const outcome = await tools.callWithExtensions(name, input, extensions);
      texts[name] = outcomeText(outcome, name);
      // Version 2 of the SDK has no tasks, and this tool is called in no other way.
      const needsTask = name === "simulate-research-query" && version === 2;
      expect(`${name} ${outcome.status}`).toBe(`${name} ${needsTask ? "failed" : "completed"}`);
      if (name === "get-tiny-image") expect(outcome).toSatisfy(hasImage);
      expect(inspect(outcome, { depth: 20 })).not.toContain("canary");
    }
    expect(texts).toMatchObject({
      echo: "Echo: hello",
      "get-sum": "The sum of 2 and 3 is 5.",
      "get-tiny-image": expect.stringContaining("[image, image/png, "),
      "get-structured-content": expect.stringContaining('"temperature":'),
      "get-roots-list": expect.stringContaining("file:///project"),
      "trigger-elicitation-request": expect.stringContaining("Ada"),
      "trigger-sampling-request": expect.stringContaining("an answer"),
    });
  });

  it("tells progress; the last notice may be lost over stdio, the call is not", async () => {
    const tools = new ToolSet(await mcpTools(await connect()));
    const events: ToolEvent[] = [];
    const options = { listener: (event: ToolEvent) => events.push(event) };
    const outcome = await tools.callWithExtensions(
      "trigger-long-running-operation",
      { duration: 0.4, steps: 4 },
      extensions,
      options,
    );
    expect(outcome.status).toBe("completed");
    const progress = events.flatMap((event) => (event.type === "tool-progress" ? [event.output] : []));
    expect(progress.slice(0, 3)).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 4 })));
    expect(progress.length).toBeGreaterThanOrEqual(over === "stdio" ? 3 : 4);
  });
});

describe("a tool that must run as a task, with version 1", () => {
  const research = "simulate-research-query";
  const statuses = async (client: Client1) => {
    return (await client.experimental.tasks.listTasks()).tasks.map(({ status }) => status);
  };
  const started = async (options: McpToolsOptions) => {
    const client = await connected(client1(), (made) => made.connect(new Stdio1(stdio(everything, "stdio"))));
    return { client, tools: new ToolSet(await mcpTools(client, options)) };
  };

  it("is cancelled when its call is aborted", async () => {
    const { client, tools } = await started({});
    const controller = new AbortController();
    const call = tools.call(research, { topic: "x" }, { signal: controller.signal });
    await expect.poll(() => statuses(client)).toEqual(["working"]);
    controller.abort();
    expect(await call).toMatchObject({ status: "failed", kind: "aborted" });
    await expect.poll(() => statuses(client)).toEqual(["cancelled"]);
  });

  it("is cancelled when it takes longer than it may, whatever is collected meanwhile", async () => {
    const { client, tools } = await started({ timeoutMs: 1_000 });
    const call = tools.call(research, { topic: "x" });
    await expect.poll(() => statuses(client)).toEqual(["working"]);
    collectGarbage();
    const error = { name: "TimeoutError", message: "no result within 1000 ms" };
    expect(await call).toMatchObject({ status: "failed", kind: "error", error });
    await expect.poll(() => statuses(client)).toEqual(["cancelled"]);
  });
});

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}

function hasImage(outcome: Awaited<ReturnType<ToolSet["callWithExtensions"]>>): boolean {
  const result = outcome.status === "completed" ? outcome.resultExtensions?.get(McpResult) : undefined;
  return result?.content.some(({ type, data }) => type === "image" && typeof data === "string") ?? false;
}

describe.each([1, 2])("server-filesystem over stdio with version %s", (version) => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  it("has every tool listed and callable", { timeout: 30_000 }, async () => {
    const command = stdio(filesystem, folder);
    const client =
      version === 1
        ? await connected(new Client1(info), (made) => made.connect(new Stdio1(command)))
        : await connected(new Client2(info), (made) => made.connect(new Stdio2(command)));
    const tools = new ToolSet(await mcpTools(client));
    writeFileSync(join(folder, "note.txt"), "hello from a file\n");
    writeFileSync(join(folder, "picture.png"), Buffer.from([0, 1, 2]));
    const path = join(folder, "note.txt");
    const inputs: Readonly<Record<string, object>> = {
      create_directory: { path: join(folder, "sub") },
      directory_tree: { path: folder },
      edit_file: { path, edits: [{ oldText: "hello", newText: "greetings" }] },
      get_file_info: { path },
      list_allowed_directories: {},
      list_directory: { path: folder },
      list_directory_with_sizes: { path: folder },
      read_file: { path },
      read_media_file: { path: join(folder, "picture.png") },
      read_multiple_files: { paths: [path] },
      read_text_file: { path },
      search_files: { path: folder, pattern: "*.txt" },
      write_file: { path: join(folder, "new.txt"), content: "new" },
      // Last, because it takes away what the others read.
      move_file: { source: path, destination: join(folder, "sub", "moved.txt") },
    };
    expect(tools.definitions.map(({ name }) => name).sort()).toEqual(Object.keys(inputs).sort());
    for (const [name, input] of Object.entries(inputs)) {
      const outcome = await tools.callWithExtensions(name, input, extensions);
      expect(`${name} ${outcome.status}: ${outcomeText(outcome, name)}`).toContain(`${name} completed`);
    }
    expect(readFileSync(join(folder, "sub", "moved.txt"), "utf8")).toBe("greetings from a file\n");
    const outside = await tools.callWithExtensions("read_text_file", { path: "/etc/hostname" }, extensions);
    expect(outside).toMatchObject({ status: "failed", kind: "error" });
    expect(outcomeText(outside, "")).toContain("Access denied");
  });
});
