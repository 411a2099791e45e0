import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

// Each example as the one command that its README names, with nothing of the environment.

const root = fileURLToPath(new URL("../..", import.meta.url));
const examples = join(root, "docs/examples");
const readme = readFileSync(join(examples, "README.md"), "utf8");
const options = { cwd: root, env: { PATH: process.env["PATH"] } };

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function run(name: string, args: readonly string[] = [], input = ""): Promise<Ended> {
  const command = ["--import", "tsx", `docs/examples/${name}/main.ts`, ...args];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    child.stdin?.end(input);
  });
}

/** What each example prints when it is right, line by line. */
const PRINTED: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "chat-server": [
    'Ada, at the same time: You have ["a lamp"].',
    'Bob, at the same time: You have ["a chair","a rug"].',
    "A stranger: 401",
    "A client that leaves aborts its tool: Ada",
  ],
  "route-handler": [
    'two tenants at once: The plan: {"seats":3}. The plan: {"seats":6}.',
    /^one answer came in (?:[2-9]|\d\d) pieces$/,
    "refused: 401, 400, 400",
    "aborted: Error: the client has gone",
  ],
  team: [
    "answer: The contract ends in May.",
    "way of the lowest call: ask_researcher > ask_archivist > find_document, for t-7, payment key seen: false",
    "sources: contract-12.pdf",
    "tokens of all three levels: 60 in, 30 out",
  ],
  payments: [
    'first worker: ended by SIGKILL, printed ""',
    'second worker: Charged: {"charge":"ch_1","cents":500}',
    "requests: 2, keys: 1",
    "charges: 1",
  ],
  "custom-adapter": [
    ...["blocking", "streaming"].flatMap((way) =>
      [
        "gives the text as it is, and in pieces that come to it",
        "gives calls their ids and inputs, in order",
        "refuses a request that is aborted already",
        "ends a request that is aborted after it was made",
        "sends the instructions, and every message in its order",
        "sends each tool's name, description and schema",
        "sends the schema of the answer",
        "sends nothing for a request that is aborted already",
      ].map((title) => `✓ ${way}: ${title}`),
    ),
    "✓ makes the same conversation blocking and streaming",
    "answer: Done.",
    /Acme answered HTTP 401$/,
  ],
};

/** Examples with tests of their own below. */
const OTHERS: readonly string[] = ["cli", "run-view"];

const folders = readdirSync(examples, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

test("every example is tested, here or in a file of its own, and has its command in the README", () => {
  const tested = folders.filter(
    (name) => name in PRINTED || OTHERS.includes(name) || existsSync(join(root, `test/docs/${name}.test.ts`)),
  );
  expect(tested).toEqual(folders);
  for (const name of folders) {
    const command = name === "support-desk" ? "npm start" : `npx tsx docs/examples/${name}/main.ts`;
    expect(readme.split("\n").filter((line) => line.includes(`](${name}/)`) && line.includes(command))).toHaveLength(1);
  }
});

test.each(Object.entries(PRINTED))("%s prints what came of it", { timeout: 60_000 }, async (name, expected) => {
  const { code, stdout, stderr } = await run(name);
  expect(stderr).toBe("");
  const lines = stdout.trimEnd().split("\n");
  expect(lines).toEqual(expected.map((line) => (typeof line === "string" ? line : expect.stringMatching(line))));
  expect(code).toBe(0);
});

test("the custom adapter's model is of 40 lines at most", () => {
  const lines = readFileSync(join(examples, "custom-adapter/acme-model.ts"), "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(40);
});

describe("run-view", { timeout: 60_000 }, () => {
  test("prints the tree of its run", async () => {
    const { code, stdout, stderr } = await run("run-view");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(
      /^support-desk completed in \d+ ms · paused for .* · 8 turns · 9 calls, 1 failed · tokens 3296 in/,
    );
    const calls = [...stdout.matchAll(/^[│ ]*[├└]─ (\w+) (completed|failed)/gm)].map(
      ([, name, end]) => `${name} ${end}`,
    );
    expect(calls.filter((call) => call.startsWith("read_page"))).toEqual([
      "read_page completed",
      "read_page completed",
    ]);
    expect(calls.at(-1)).toBe("notify_customer completed");
  });

  test("writes its run as a page", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "run-view-")), "run.html");
    const { code, stdout } = await run("run-view", [file]);
    expect([code, stdout]).toEqual([0, `The run is in ${file}\n`]);
    expect(readFileSync(file, "utf8")).toMatch(/^<!doctype html>.*ask_librarian/is);
  });
});

describe("cli", { timeout: 60_000 }, () => {
  test("does what the user allows", async () => {
    const { code, stdout, stderr } = await run("cli", ["--root", "/data", "Delete the old logs"], "y\n");
    expect(stderr).toBe('allow delete_logs {"days":30}? [y/N] deleting …\n');
    expect(stdout).toBe("logs in /data older than 30 days are deleted\n");
    expect(code).toBe(0);
  });

  test.each([
    ["no", "n\n"],
    ["nothing", ""],
  ])("does not do it for an answer of %s", async (_what, input) => {
    const { code, stdout, stderr } = await run("cli", ["Delete the old logs"], input);
    expect(stderr).not.toContain("deleting");
    expect(stdout).toBe("The user said no.\n");
    expect(code).toBe(3);
  });

  test("says how it is used", async () => {
    const { code, stdout, stderr } = await run("cli");
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^usage: /);
  });

  test.each([
    ["asks", "[y/N]", ""],
    ["works", "deleting", "y\n"],
  ])("is stopped by Ctrl-C while it %s", async (_when, sign, input) => {
    const command = ["--import", "tsx", "docs/examples/cli/main.ts", "Delete the old logs"];
    const child = spawn(process.execPath, command, options);
    child.stdin.write(input);
    let [stdout, stderr] = ["", ""];
    let isSent = false;
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
      if (isSent || !stderr.includes(sign)) return;
      isSent = true;
      child.kill("SIGINT");
    });
    const [code] = await once(child, "close");
    expect(stderr).toMatch(/stopped by Ctrl-C\n$/);
    expect([code, stdout]).toEqual([130, ""]);
  });
});
