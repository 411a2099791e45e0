import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { wrapTool } from "tool-call-extensions";
import { toolConformance } from "tool-call-extensions/testing";
import { describe, expect, it, test } from "vitest";
import { FAULTS, WIDE_FAULTS } from "./faulty-tools.ts";
import { type MakeTool, ToolClass } from "./kinds.ts";

// No sub-agent, which takes a prompt and gives its model's answer: it calls tools, and the kit of tool sets is for that.
const kinds: Readonly<Record<string, MakeTool>> = {
  defineTool: (inner) => inner,
  "defineTool, by hand": (inner) => ({ ...inner }),
  "a class": (inner) => new ToolClass(inner),
  "a tool that is tried again": (inner) => ({ retries: { max: 1, minDelayMs: 1 }, ...inner }),
  wrapTool: (inner) => wrapTool(inner, { callWithExtensions: (input, extensions, next) => next(input, extensions) }),
  "wrapTool, renamed": (inner) =>
    wrapTool(inner, { name: "other", callWithExtensions: (input, extensions, next) => next(input, extensions) }),
};

describe.each(Object.entries(kinds))("%s", (_name, makeTool) => {
  toolConformance({ test, makeTool });
});

/** Runs the kit against a kind of tool and gives the titles of its cases, and of those that it fails. */
async function played(makeTool: MakeTool) {
  const titles: string[] = [];
  const failed: string[] = [];
  const cases: Promise<void>[] = [];
  const record = (title: string, run: () => Promise<void>): void => {
    titles.push(title);
    cases.push(run().catch(() => void failed.push(title)));
  };
  toolConformance({ test: record, makeTool });
  await Promise.all(cases);
  return { titles, failed };
}

describe("the kit finds", () => {
  it.each(FAULTS)("%s, and says nothing else of it", { timeout: 20_000 }, async (_fault, title, makeTool) => {
    expect((await played(makeTool)).failed).toEqual([title]);
  });

  it.each(WIDE_FAULTS)("%s", { timeout: 20_000 }, async (_fault, title, makeTool) => {
    expect((await played(makeTool)).failed).toContain(title);
  });

  it("a fault in each of its cases, and none in a tool that does as it should", async () => {
    const { titles, failed } = await played((inner) => inner);
    expect(failed).toEqual([]);
    expect(titles.length).toBeGreaterThan(20);
    expect(titles.filter((title) => !FAULTS.some(([, found]) => found === title))).toEqual([]);
  });
});

it("runs under node:test", async () => {
  const { titles } = await played((inner) => inner);
  const program = `
    import { test } from "node:test";
    import { toolConformance } from "tool-call-extensions/testing";
    toolConformance({ test, makeTool: (inner) => inner });
  `;
  const args = ["--import", "tsx", "--input-type=module", "--test-reporter=tap", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  expect(stdout).toContain(`# pass ${titles.length}\n`);
  expect(stdout).toContain("# fail 0\n");
}, 30_000);
