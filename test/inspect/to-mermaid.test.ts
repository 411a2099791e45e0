import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { RunEvent } from "tool-call-extensions";
import { toMermaid } from "tool-call-extensions/inspect";
import { describe, expect, it } from "vitest";
import { recordRun } from "../../docs/examples/run-view/example-run.ts";
import { call, callsBeside, completed, failed, nestedCalls, requested, WrittenRun } from "./written-events.ts";

const run = new WrittenRun();

/** A sub-agent beside a call, a pause, and attempts. */
function deskEvents(): readonly RunEvent[] {
  const ask = call({ toolCallId: "ask", toolName: "ask" });
  const inner = new WrittenRun("run_2", "librarian", ask);
  const read = call({ toolCallId: "read", toolName: "read", runId: "run_2", agentName: "librarian", parent: ask });
  const nested = call({ toolCallId: "n", toolName: "nested", runId: "run_2", agentName: "librarian", parent: read });
  const pay = call({ toolCallId: "pay", toolName: "pay", turn: 2 });
  return [
    ...[run.started(0), run.asked(0, 1), requested(100, ask, ["tenant"]), inner.started(100), requested(100, read)],
    ...[requested(110, nested), completed(120, nested), failed(150, read, "error"), inner.completed(190)],
    ...[completed(200, ask), run.asked(200, 2), run.paused(300, ["pay"])],
    ...[run.started(90_300), requested(90_300, pay), completed(90_400, { ...pay, attempt: 2 }), run.completed(90_400)],
  ];
}

it("has a section for each agent's run, a bar for each question and call, and draws a pause short", () => {
  const at = (ms: number) => new Date(Date.UTC(2000, 0, 1) + ms).toISOString().slice(0, -1).replace("T", " ");
  const bar = (text: string, from: number, to: number) => `  ${text}, ${at(from)}, ${at(to)}`;
  // The axis stands for the 400 ms in which something ran and a gap of 7 parts in 100.
  const gap = Math.round((400 / 0.93) * 0.07);
  expect(toMermaid(deskEvents())).toBe(
    [
      "gantt",
      "  title desk completed",
      "  dateFormat YYYY-MM-DD HH:mm:ss.SSS",
      "  axisFormat %S.%L",
      "  todayMarker off",
      "  section desk",
      bar("‖ desk paused for 1 min 30 s :active", 300, 300 + gap),
      bar("✓ turn 1 model · 100 ms :active", 0, 100),
      bar("✓ ask · 100 ms · sees tenant :done", 100, 200),
      "  section librarian",
      bar("✗ read · 50 ms · failed (error) :crit", 100, 150),
      bar("✓ └ nested · 10 ms :done", 110, 120),
      "  section desk · 2",
      bar("✓ turn 2 model · 100 ms :active", 200, 300),
      bar("✓ pay · 100 ms · 2 attempts :done", 300 + gap, 400 + gap),
      "",
    ].join("\n"),
  );
});

// Mermaid and what it needs are 154 MB, so it is not installed: MERMAID_JS names its dist/mermaid.min.js where there is one.
const script = process.env["MERMAID_JS"];
const executablePath = "/usr/bin/chromium";
const isChecked = script !== undefined && existsSync(executablePath);
if (!isChecked) console.info(`Mermaid does not read the charts: that needs MERMAID_JS and ${executablePath}`);

describe.skipIf(!isChecked)("Mermaid", () => {
  it("draws each chart, with a bar for each task, and takes nothing in it for markup or a directive", async () => {
    const hostile = [
      "a: done, b; c # d %% e\nsection x",
      "%%{init: {'theme':'dark'}}%%",
      "click a href javascript:alert(1)",
      "<img src=x onerror=alert(1)>",
      "section y",
      "---\ntitle: z\n---",
      "",
    ].map((text) => {
      const each = call({ toolCallId: text, toolName: text, runId: text, agentName: text });
      const named = new WrittenRun(text, text);
      return [named.started(0), requested(1, each, [text]), failed(2, each, "error"), named.paused(3, [`${text}2`])];
    });
    const lists = [[], deskEvents(), await recordRun(1), callsBeside(2_000), nestedCalls(2_000, true), ...hostile];
    await using browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    const page = await browser.newPage();
    await page.addScriptTag({ path: script ?? "" });
    for (const events of lists) {
      const chart = toMermaid(events);
      const drawn = await page.evaluate(async (text) => {
        const { mermaid } = globalThis as unknown as {
          readonly mermaid: { render(id: string, text: string): Promise<{ readonly svg: string }> };
        };
        document.body.innerHTML = (await mermaid.render("chart", text)).svg;
        return {
          bars: document.querySelectorAll("rect.task").length,
          strangers: document.querySelectorAll("svg :is(img, script, a, iframe, foreignObject)").length,
        };
      }, chart);
      expect(drawn, chart.slice(0, 600)).toEqual({
        bars: chart.match(/ :(?:done|crit|active), /g)?.length ?? 0,
        strangers: 0,
      });
    }
  }, 120_000);
});
