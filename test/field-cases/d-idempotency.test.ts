import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Agent, defineTool, ToolCallExtensionsError, ToolInvocationContext } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

/** Keeps one charge a key, as the payment services do; a request may be told to lose its answer. */
const charges = new Map<string, { readonly amount: number; posts: number }>();
let onCommit: (key: string) => "answer" | "hang up" | "hold" = () => "answer";
let server: Server;
let url = "";

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const key = String(request.headers["idempotency-key"]);
    const charge = charges.get(key) ?? { amount: Number(JSON.parse(Buffer.concat(parts).toString()).amount), posts: 0 };
    charge.posts += 1;
    charges.set(key, charge);
    const next = onCommit(key);
    if (next === "hang up") request.socket.destroy();
    if (next === "answer") response.end(JSON.stringify({ charged: charge.amount }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  charges.clear();
  onCommit = () => "answer";
});

const call = (toolCallId: string, amount: number) => ({ toolName: "charge", toolCallId, input: { amount } });

/** Posts the charge under the key of its invocation. */
const charge = (attempts: (string | undefined)[] = []) =>
  defineTool({
    name: "charge",
    input: { type: "object" },
    idempotent: true,
    retries: { max: 2, minDelayMs: 0 },
    callWithExtensions: async ({ amount }, extensions) => {
      const { invocationKey = "", signal } = extensions.require(ToolInvocationContext);
      attempts.push(invocationKey);
      const headers = { "idempotency-key": invocationKey };
      const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ amount }), signal });
      return answer.json();
    },
  });

describe("H10 strands-agents/harness-sdk #2884: a call that was tried again, or resumed, had nothing stable to send along, and charged twice", () => {
  it("(a) holds one charge where the first attempt committed and then lost its connection", async () => {
    const attempts: (string | undefined)[] = [];
    const model = scriptedModel([{ toolCalls: [call("call_a", 42)] }, { toolCalls: [call("call_b", 42)] }, "Done."]);
    onCommit = (key) => (charges.get(key)?.posts === 1 && charges.size === 1 ? "hang up" : "answer");
    const agent = new Agent({ name: "a", model, tools: [charge(attempts)] });
    const result = await agent.prompt("Charge 42.").session("chat-7").run();
    expect(attempts).toHaveLength(3);
    expect(attempts[0]).toMatch(/^ik1_[a-v0-9]{32}$/);
    expect(attempts[1]).toBe(attempts[0]);
    // A second call that the model makes is a second charge.
    expect(attempts[2]).not.toBe(attempts[0]);
    expect([...charges]).toEqual([
      [attempts[0], { amount: 42, posts: 2 }],
      [attempts[2], { amount: 42, posts: 1 }],
    ]);
    expect(result.messages.flatMap((message) => (message.role === "tool" ? message.text : []))).toEqual([
      '{"charged":42}',
      '{"charged":42}',
    ]);
    expect(JSON.stringify(model.requests)).not.toContain("ik1_");
  });

  const source = (path: string) => pathToFileURL(fileURLToPath(new URL(`../../src/${path}`, import.meta.url))).href;
  /** One process: runs from the start, or from the state in the file; every checkpoint goes to the file. */
  const PROGRAM = `
    import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
    import { Agent, defineTool, ToolInvocationContext } from "${source("index.ts")}";
    import { scriptedModel } from "${source("testing/index.ts")}";

    const [url, file, idempotent] = process.argv.slice(2);
    const charge = defineTool({
      name: "charge",
      input: { type: "object" },
      idempotent: idempotent === "true",
      callWithExtensions: async ({ amount }, extensions) => {
        const headers = { "idempotency-key": extensions.require(ToolInvocationContext).invocationKey };
        return (await fetch(url, { method: "POST", headers, body: JSON.stringify({ amount }) })).json();
      },
    });
    const model = scriptedModel(({ messages }) =>
      messages.at(-1).role === "user"
        ? { toolCalls: [{ toolName: "charge", toolCallId: "call_a", input: { amount: 42 } }] }
        : "Told: " + messages.at(-1).text,
    );
    const agent = new Agent({ name: "a", model, tools: [charge] });
    const request = existsSync(file)
      ? agent.resume(JSON.parse(readFileSync(file, "utf8")))
      : agent.prompt("Charge 42.").session("chat-7");
    const save = (state) => {
      writeFileSync(file + ".part", JSON.stringify(state));
      renameSync(file + ".part", file);
    };
    console.log((await request.onCheckpoint(save).run()).output);
  `;

  describe("(b) where the process is killed after the charge was committed", () => {
    const folder = mkdtempSync(join(tmpdir(), "resume-"));
    const program = join(folder, "program.mjs");
    writeFileSync(program, PROGRAM);
    const children: ChildProcess[] = [];
    afterAll(() => {
      for (const child of children) child.kill("SIGKILL");
      rmSync(folder, { recursive: true });
    });

    function start(file: string, idempotent: boolean) {
      const root = fileURLToPath(new URL("../..", import.meta.url));
      const child = spawn(process.execPath, ["--import", "tsx", program, url, file, String(idempotent)], { cwd: root });
      children.push(child);
      let output = "";
      child.stdout.on("data", (data) => {
        output += data;
      });
      child.stderr.on("data", (data) => {
        output += data;
      });
      const ended = once(child, "close").then(([code, signal]) => ({ code, signal, output: output.trim() }));
      return { child, ended };
    }

    it.each([true, false])(
      "holds one charge, and a new process goes on from the file (idempotent: %s)",
      async (idempotent) => {
        const file = join(folder, `state-${idempotent}.json`);
        const committed = new Promise<void>((resolve) => {
          onCommit = () => {
            resolve();
            return "hold";
          };
        });
        const first = start(file, idempotent);
        await Promise.race([committed, first.ended.then(({ output }) => Promise.reject(new Error(output)))]);
        first.child.kill("SIGKILL");
        expect(await first.ended).toMatchObject({ signal: "SIGKILL", output: "" });
        const [[key, held] = ["", undefined]] = [...charges];
        expect(held).toMatchObject({ amount: 42, posts: 1 });
        expect(existsSync(file) && JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
          calls: [{ toolCallId: "call_a", status: "started" }],
        });

        onCommit = () => "answer";
        const told = idempotent ? /^Told: \{"charged":42\}$/ : /^Told: .*may or may not have happened/;
        expect(await start(file, idempotent).ended).toMatchObject({ code: 0, output: expect.stringMatching(told) });
        expect([...charges]).toEqual([[key, { amount: 42, posts: idempotent ? 2 : 1 }]]);
        expect(key).toMatch(/^ik1_[a-v0-9]{32}$/);
      },
    );
  });
});

describe("H11 agno-agi/agno #10366: when the model failed after a tool had succeeded, the run was replayed and the tool ran again", () => {
  const charging = (toolCallId: string) => ({ toolCalls: [call(toolCallId, 42)] });

  /** Charges once, and then its provider is down. */
  async function failedRun() {
    const tool = recordingTool({ name: "charge" });
    const down = scriptedModel([charging("call_a"), new Error("HTTP 500")]);
    const error: unknown = await new Agent({ name: "a", model: down, tools: [tool] })
      .prompt("Charge 42.")
      .session("chat-7", { turnId: "m-1" })
      .run()
      .catch((e) => e);
    if (!ToolCallExtensionsError.is(error) || error.code !== "model-failed") throw error;
    return { tool, state: JSON.parse(JSON.stringify(error.details.state)) as unknown };
  }

  it.each([
    ["A: the id it sent before", "call_a"],
    ["B: a fresh id", "call_z"],
  ])("goes on from the recorded result, so that the model is not asked to call again (%s)", async (_variant, id) => {
    const { tool, state } = await failedRun();
    // What a replay would ask first gets a call, what follows on the result gets the answer.
    const model = scriptedModel(({ messages }) => (messages.at(-1)?.role === "user" ? charging(id) : "Charged."));
    const agent = new Agent({ name: "a", model, tools: [tool] });
    expect(await agent.resume(state).run()).toMatchObject({ output: "Charged.", turns: 2 });
    expect(tool.calls).toHaveLength(1);
    expect(model.requests).toHaveLength(1);
  });

  it("gives another key where the caller begins the run anew and the model sends a fresh id, and the same where it does not", async () => {
    const { tool } = await failedRun();
    for (const id of ["call_a", "call_z"]) {
      const model = scriptedModel([charging(id), "Charged."]);
      const agent = new Agent({ name: "a", model, tools: [tool] });
      await agent.prompt("Charge 42.").session("chat-7", { turnId: "m-1" }).run();
    }
    const [first, same, fresh] = tool.calls.map(({ invocation }) => invocation.invocationKey);
    expect(same).toBe(first);
    expect(fresh).not.toBe(first);
  });
});
