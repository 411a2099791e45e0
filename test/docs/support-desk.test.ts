import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { startProvider } from "../ai-sdk/provider-server.ts";
import { WIRE_FORMATS } from "../ai-sdk/wire-formats.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What `npm start` runs, with nothing of the environment but what is given. */
function start(args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
  const command = ["--import", "tsx", "docs/examples/support-desk/main.ts", ...args];
  const options = { cwd: root, env: { PATH: process.env["PATH"], ...env } };
  return new Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resolve) => {
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

test("plays its script over HTTP, and everything it claims holds", async () => {
  const { code, stdout } = await start();
  expect(stdout).toContain("asked for by the embedded script, over HTTP");
  expect(stdout).toContain("8 requests to models over HTTP");
  expect(stdout.match(/✓/g)).toHaveLength(12);
  expect(stdout).not.toContain("✗");
  expect(code).toBe(0);
});

describe("a real provider", () => {
  test.each([
    [["--model", "openai:gpt-5"], "needs a key in the environment variable OPENAI_API_KEY"],
    [["--model", "compatible:some"], "needs --base-url <url>"],
    [["--model", "toString:x"], "takes one of openai:<name>, anthropic:<name>"],
    [["--model", "gpt-5"], "takes one of openai:<name>, anthropic:<name>"],
  ])("%s says what is missing", async (args, message) => {
    const { code, stdout, stderr } = await start(args);
    expect(stderr).toContain(message);
    expect(stdout).toBe("");
    expect(code).toBe(1);
  });

  test("one that does not answer is named, without a stack", async () => {
    const { code, stderr } = await start(["--model", "compatible:some", "--base-url", "http://127.0.0.1:9"]);
    expect(stderr).toMatch(/^\[model-failed\] the model of agent "support-desk" failed in turn 1: .*\n$/);
    expect(code).toBe(1);
  });

  test.each([
    ["openai", "OPENAI_API_KEY", "openai responses"],
    ["anthropic", "ANTHROPIC_API_KEY", "anthropic"],
    ["google", "GOOGLE_GENERATIVE_AI_API_KEY", "google"],
    ["mistral", "MISTRAL_API_KEY", "mistral"],
    ["compatible", "API_KEY", "openai-compatible"],
  ])("%s is asked with its key, in its own format", async (provider, variable, name) => {
    const format = WIRE_FORMATS.find((candidate) => candidate.name === name);
    const call = { id: "abcdefgh1", name: "lookup_order", input: { order: 42 } };
    const answers = [format?.answer("streaming", "", [call]), format?.answer("streaming", "It is damaged.", [])];
    const server = await startProvider(answers.flatMap((answer) => answer ?? []));
    const { code, stdout } = await start(["--model", `${provider}:some-model`, "--base-url", server.url], {
      [variable]: "key-5",
    });
    expect(stdout).toContain(`asked for by ${provider}:some-model`);
    expect(stdout).toContain("lookup_order completed");
    expect(stdout).toContain("It is damaged.");
    expect(code).toBe(0);
    const [first, second] = server.requests;
    expect(JSON.stringify(first?.headers)).toContain("key-5");
    expect(JSON.stringify([first?.body, first?.path])).toContain("some-model");
    expect(JSON.stringify(second?.body)).toContain("delivered damaged");
  });
});
