import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ToolCallExtensions, wrapTool } from "tool-call-extensions";
import { recordingTool, toolConformance } from "tool-call-extensions/testing";
import { describe, expect, it, test } from "vitest";
import { type AnyTool, enter, type MakeTool, ToolClass } from "./kinds.ts";

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

/** Runs the kit against a kind of tool and gives the titles of the cases that it fails. */
async function failedBy(makeTool: MakeTool): Promise<readonly string[]> {
  const cases: Promise<string | undefined>[] = [];
  const record = (title: string, run: () => Promise<void>): unknown =>
    cases.push(
      run().then(
        () => undefined,
        () => title,
      ),
    );
  toolConformance({ test: record, makeTool });
  return (await Promise.all(cases)).filter((title) => title !== undefined);
}

const changed = (
  inner: AnyTool,
  change: (input: unknown, extensions: ToolCallExtensions<"tool-invocation">) => unknown,
): AnyTool => ({
  ...inner,
  callWithExtensions: change,
});

describe("the kit finds", () => {
  it.each<[string, string, MakeTool]>([
    [
      "a wrapper that implements call alone",
      "hands the extensions on",
      (inner) => {
        const { callWithExtensions, ...rest } = inner;
        return { ...rest, call: (input) => enter(inner, input, new ToolCallExtensions<string>().snapshot()) };
      },
    ],
    [
      "one that enters by call",
      "never enters by call",
      (inner) => changed(inner, (input) => inner.call(input as never)),
    ],
    [
      "one that copies values",
      "by identity",
      (inner) =>
        changed(inner, (input, extensions) => {
          const copy = new ToolCallExtensions<string>();
          for (const token of extensions.tokens()) {
            const value: unknown = extensions.get(token as never);
            if (token.id.startsWith("conformance/")) copy.insert(token as never, structuredClone(value) as never);
          }
          copy.extend(extensions);
          for (const token of extensions.tokens()) {
            if (token.id === "conformance/session")
              copy.insert(token as never, structuredClone(extensions.get(token as never)) as never);
          }
          return enter(inner, input, copy as ToolCallExtensions<string>);
        }),
    ],
    [
      "one that drops the input",
      "hands the input on",
      (inner) => changed(inner, (_input, extensions) => enter(inner, {}, extensions)),
    ],
    [
      "one that remembers a map",
      "keeps parallel calls apart",
      (inner) => {
        let first: ToolCallExtensions<"tool-invocation"> | undefined;
        return changed(inner, (input, extensions) => {
          first ??= extensions;
          return enter(inner, input, first);
        });
      },
    ],
    [
      "one that makes undefined a text",
      "gives undefined back",
      (inner) => changed(inner, async (input, extensions) => (await enter(inner, input, extensions)) ?? "none"),
    ],
    [
      "one that unwraps results",
      "passes result extensions on",
      (inner) =>
        changed(inner, async (input, extensions) => {
          const result = await enter(inner, input, extensions);
          return typeof result === "object" && result !== null && "extensions" in result && "output" in result
            ? result.output
            : result;
        }),
    ],
    [
      "one that drains generators",
      "tells a generator's progress",
      (inner) =>
        changed(inner, async (input, extensions) => {
          const result = await enter(inner, input, extensions);
          if (typeof result !== "object" || result === null || !(Symbol.asyncIterator in result)) return result;
          const iterator = (result as AsyncGenerator<unknown, unknown>)[Symbol.asyncIterator]();
          for (;;) {
            const step = await iterator.next();
            if (step.done) return step.value;
          }
        }),
    ],
    [
      "one that wraps errors",
      "fails with the tool's own error when it rejects",
      (inner) =>
        changed(inner, async (input, extensions) => {
          try {
            return await enter(inner, input, extensions);
          } catch (cause) {
            throw new Error("wrapped", { cause });
          }
        }),
    ],
    [
      "one that swallows errors",
      "fails with the tool's own error when it throws",
      (inner) =>
        changed(inner, async (input, extensions) => {
          try {
            return await enter(inner, input, extensions);
          } catch {
            return "failed";
          }
        }),
    ],
    [
      "one that tries again by itself",
      "fails with the tool's own error when it throws",
      (inner) =>
        changed(inner, async (input, extensions) => {
          try {
            return await enter(inner, input, extensions);
          } catch {
            return await enter(inner, input, extensions);
          }
        }),
    ],
    [
      "one that adds to the input",
      "hands the input on",
      (inner) => changed(inner, (input, extensions) => enter(inner, { ...Object(input), more: 1 }, extensions)),
    ],
    [
      "one that enters the tool once more after the call",
      "leaves nothing that runs on",
      (inner) =>
        changed(inner, async (input, extensions) => {
          const result = await enter(inner, input, extensions);
          setTimeout(() => void Promise.resolve(enter(inner, input, extensions)).catch(() => undefined), 5);
          return result;
        }),
    ],
    ["one that never ends", "gives null back", (inner) => changed(inner, () => new Promise(() => undefined))],
    ["one that needs no approval", "keeps what the tool declares", (inner) => ({ ...inner, needsApproval: false })],
    [
      "one with retries of its own",
      "keeps what the tool declares",
      (inner) => ({ ...inner, retries: { max: 3, minDelayMs: 1 } }),
    ],
    [
      "one that drops what the tool declares",
      "keeps what the tool declares",
      ({ name, input, call, callWithExtensions }) => ({ name, input, call, callWithExtensions }),
    ],
    ["one that never enters the tool", "is the parent of the calls made inside it", () => recordingTool()],
  ])(
    "%s",
    async (_fault, title, makeTool) => {
      expect((await failedBy(makeTool)).join("\n")).toContain(title);
    },
    20_000,
  );

  it("nothing in a tool that does as it should", async () => {
    expect(await failedBy((inner) => inner)).toEqual([]);
  });
});

it("runs under node:test", async () => {
  const program = `
    import { test } from "node:test";
    import { toolConformance } from "tool-call-extensions/testing";
    toolConformance({ test, makeTool: (inner) => inner });
  `;
  const args = ["--import", "tsx", "--input-type=module", "--test-reporter=tap", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: new URL("../..", import.meta.url) });
  expect(stdout).toMatch(/# pass 1\d\n/);
  expect(stdout).toMatch(/# fail 0\n/);
}, 30_000);
