import fc from "fast-check";
import type { RunEvent, ToolFailureKind } from "tool-call-extensions";
import { liveProgress, renderTree, toMermaid } from "tool-call-extensions/inspect";
import { afterEach, describe, expect, it, vi } from "vitest";
import { call, completed, failed, requested, WrittenRun } from "./written-events.ts";

/** What steers a terminal, reorders or hides text, or is half a character. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const attacks = [
  "\u001b]8;;http://evil.example\u0007click\u001b]8;;\u0007",
  "\u001b[2J\u001b[1;1Hgone",
  "\u009b31mred",
  "safe\u202egnp.exe",
  "a\u2066b\u2069\u200b\u{e0041}",
  "line\r\nsection x\n  ✓ fake :done, 2000-01-01, 2000-01-01",
  "half \ud800 character",
  "a: done, b; c # d %% e",
  "%%{init: {'theme':'dark'}}%%",
  "click a href javascript:alert(1)",
  "<img src=x onerror=alert(1)>",
  "title: x\nsection y",
  "__proto__",
  "",
  "x".repeat(100_000),
];

/** The text in every place where one of a model, a provider or a server is shown. */
function eventsNaming(text: string): readonly RunEvent[] {
  const run = new WrittenRun(text, text);
  const fields = { toolCallId: text, toolName: text, runId: text, agentName: text, invocationKey: text };
  const outer = call(fields);
  const inner = call({ ...fields, toolCallId: `${text}2`, parent: outer });
  const events = [run.started(0), run.asked(0, 1), requested(1, outer, [text]), requested(2, inner, [text])];
  // Kinds are the library's own, but events may have been read from a file.
  const kind: ToolFailureKind = JSON.parse(JSON.stringify(text));
  return [...events, failed(3, inner, kind), completed(4, outer), run.paused(5, [`${text}3`])];
}

const linesOf = (text: string) => text.split("\n");
const texts = fc.oneof(fc.constantFrom(...attacks), fc.string({ unit: "binary", maxLength: 40 }));

afterEach(() => vi.unstubAllEnvs());

describe("hostile names and ids", () => {
  it("neither steer a terminal nor add a line to the tree", () => {
    const harmless = linesOf(renderTree(eventsNaming("name"))).length;
    fc.assert(
      fc.property(texts, (text) => {
        const lines = linesOf(renderTree(eventsNaming(text)));
        expect(lines).toHaveLength(harmless);
        for (const line of lines) expect(line).not.toMatch(UNSEEN);
      }),
    );
  });

  it("nor to live progress, whose own codes are all there are", () => {
    vi.stubEnv("CI", "");
    vi.stubEnv("NO_COLOR", "");
    vi.stubEnv("TERM", "xterm");
    fc.assert(
      fc.property(texts, (text) => {
        let written = "";
        const hear = liveProgress({ write: (piece) => (written += piece), isTTY: true, columns: 70 });
        for (const event of eventsNaming(text)) hear(event);
        // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is taken out.
        const rest = written.replaceAll(/\u001b\[(?:3[1-6]m|39m|\d+A|0J)/g, "").replaceAll("\r", "");
        expect(linesOf(rest)).toHaveLength(4);
        for (const line of linesOf(rest)) expect(line).not.toMatch(UNSEEN);
      }),
    );
  });

  it("and in a chart every line is of a kind that was meant", () => {
    const harmless = linesOf(toMermaid(eventsNaming("name"))).length;
    const date = "2000-01-0\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3}";
    const task = new RegExp(`^  [✓✗‖…] [^:;#%<>"'&{}\`]* :(?:done|crit|active), ${date}, ${date}$`, "u");
    const head =
      /^(?:gantt| {2}(?:title|section) [^:;#%<>"'&{}`]*| {2}dateFormat [\w :.-]+| {2}axisFormat [%\w.:]+| {2}todayMarker off|)$/u;
    fc.assert(
      fc.property(texts, (text) => {
        const lines = linesOf(toMermaid(eventsNaming(text)));
        expect(lines).toHaveLength(harmless);
        expect(lines.filter((line) => !task.test(line) && !head.test(line))).toEqual([]);
        for (const line of lines) expect(line).not.toMatch(UNSEEN);
      }),
    );
  });
});
