import { execFile } from "node:child_process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { Agent, type RunEvent } from "tool-call-extensions";
import { liveProgress } from "tool-call-extensions/inspect";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { call, completed, failed, requested, retried, WrittenRun } from "./written-events.ts";

/** A terminal as far as progress uses one: lines, colours, a step up and an erasure of what is below. */
class Screen {
  readonly isTTY = true;
  columns = 60;
  rows = 24;
  writes = 0;
  #lines: string[] = [""];
  #row = 0;

  write(text: string): void {
    this.writes += 1;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it reads what was written for a terminal.
    for (const [piece] of text.matchAll(/\u001b\[\d+[a-zA-Z]|\r|\n|[^\u001b\r\n]+/g)) this.#take(piece);
  }

  #take(piece: string): void {
    if (piece === "\n") {
      this.#row += 1;
      this.#lines[this.#row] ??= "";
    } else if (piece.endsWith("A") && piece.startsWith("\u001b")) this.#row -= Number(piece.slice(2, -1));
    else if (piece === "\u001b[0J") this.#lines = [...this.#lines.slice(0, this.#row), ""];
    else if (!piece.startsWith("\u001b") && piece !== "\r") {
      expect(columnsOf(piece), `"${piece}" wraps`).toBeLessThan(this.columns - 1);
      this.#lines[this.#row] += piece;
    }
  }

  get lines(): readonly string[] {
    return this.#lines.slice(0, -1);
  }

  get cursorIsBelow(): boolean {
    return this.#row === this.#lines.length - 1 && this.#lines.at(-1) === "";
  }
}

/** Chinese letters take two. */
function columnsOf(text: string): number {
  return [...text].reduce((sum, character) => sum + ((character.codePointAt(0) ?? 0) < 0x2e80 ? 1 : 2), 0);
}

const run = new WrittenRun();
const pay = call({ toolCallId: "p", toolName: "pay" });
const look = call({ toolCallId: "l", toolName: "look" });

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  vi.stubEnv("CI", "");
  vi.stubEnv("NO_COLOR", "");
  vi.stubEnv("TERM", "xterm");
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

/** Hears events at their times, and gives what the screen then shows. */
function play(screen: Screen, ...events: readonly RunEvent[]): readonly string[] {
  const hear = liveProgress(screen);
  for (const event of events) {
    vi.advanceTimersByTime(Math.max(0, event.at - Date.now()));
    hear(event);
  }
  return screen.lines;
}

describe("on a terminal", () => {
  it("each open call has a line with its time, inside its parent's, and each end one that stays", () => {
    const screen = new Screen();
    const nested = call({ toolCallId: "n", toolName: "nested", parent: look });
    play(screen, run.started(0), run.asked(0, 1), requested(100, look), requested(100, nested), requested(110, pay));
    vi.advanceTimersByTime(60);
    expect(screen.lines).toEqual(["⠙ desk 160 ms", "⠙   look 60 ms", "⠙     nested 60 ms", "⠙   pay 50 ms"]);
    expect(screen.cursorIsBelow).toBe(true);
  });

  it("the question that the model works on has one, too", () => {
    const screen = new Screen();
    play(screen, run.started(0), run.asked(0, 1));
    vi.advanceTimersByTime(80);
    expect(screen.lines).toEqual(["⠋ desk 80 ms", "⠋   turn 1, model 80 ms"]);
  });

  it("an end is all that is left of a run", () => {
    const screen = new Screen();
    const lines = play(
      screen,
      ...[run.started(0), requested(100, look), requested(100, pay), failed(300, pay, "error")],
      ...[completed(500, look), run.completed(600)],
    );
    expect(lines).toEqual([
      "✗   pay failed (error) in 200 ms",
      "✓   look completed in 400 ms",
      "✓ desk completed in 600 ms · 0 turns · 2 calls, 1 failed …",
    ]);
    expect(screen.cursorIsBelow).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["paused", run.paused(200, ["q"]), "‖ desk paused in 200 ms · 0 turns · 2 calls · waits for a…"],
    [
      "aborted",
      run.failed(200, new DOMException("", "AbortError")),
      "✗ desk failed (aborted) in 200 ms · 0 turns · 1 call",
    ],
  ])("a run that is %s takes its open lines along and stops the timer", (_word, end, line) => {
    const screen = new Screen();
    expect(play(screen, run.started(0), requested(100, look), end)).toEqual([line]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("lines are cut to the width, wide letters counted as two columns, so that none wraps", () => {
    const screen = new Screen();
    screen.columns = 24;
    const wide = call({ toolCallId: "w", toolName: "漢字漢字漢字漢字漢字漢字" });
    play(screen, run.started(0), requested(0, wide), requested(0, call({ toolCallId: "x", toolName: "n".repeat(90) })));
    vi.advanceTimersByTime(80);
    expect(screen.lines).toEqual(["⠋ desk 80 ms", "⠋   漢字漢字漢字漢字…", "⠋   nnnnnnnnnnnnnnnnn…"]);
  });

  it("a request inside a call that nobody listens to ends with its own end", () => {
    const screen = new Screen();
    const inner = new WrittenRun("run_2", "librarian", call({ toolCallId: "ask", toolName: "ask" }));
    const hear = liveProgress(screen);
    hear(inner.started(0));
    vi.advanceTimersByTime(80);
    expect(screen.lines).toEqual(["⠋   librarian 80 ms"]);
    hear(inner.completed(100));
    expect(vi.getTimerCount()).toBe(0);
    expect(screen.lines).toHaveLength(1);
  });

  it("a terminal that does not know its size has the usual one", () => {
    let written = "";
    const hear = liveProgress({ isTTY: true, columns: 0, rows: 0, write: (text) => (written += text) });
    for (const event of [run.started(0), requested(0, look), requested(0, pay)]) hear(event);
    vi.advanceTimersByTime(80);
    expect(written).toContain(" desk 80 ms\n");
    expect(written).toContain("   pay 80 ms\n");
    hear(run.completed(100));
  });

  it("more open calls than the screen has rows are counted", () => {
    const screen = new Screen();
    screen.rows = 8;
    const calls = Array.from({ length: 50 }, (_, index) => requested(0, call({ toolCallId: `c${index}` })));
    play(screen, run.started(0), ...calls);
    vi.advanceTimersByTime(80);
    expect(screen.lines).toHaveLength(7);
    expect(screen.lines.at(-1)).toBe("  and 45 more");
  });

  it("it is redrawn by the clock and not by the event", () => {
    const screen = new Screen();
    const calls = Array.from({ length: 1_000 }, (_, index) => call({ toolCallId: `c${index}` }));
    const events = calls.flatMap((each, index) => [requested(index / 10, each), completed(index / 10, each)]);
    play(screen, run.started(0), ...events, run.completed(100));
    expect(screen.lines).toHaveLength(1_001);
    expect(screen.writes).toBe(2);
  });

  it("runs at the same time, and one after another, each have their lines", () => {
    const screen = new Screen();
    const other = new WrittenRun("run_2", "mail");
    play(screen, run.started(0), other.started(0), run.completed(50));
    vi.advanceTimersByTime(50);
    expect(screen.lines.map((line) => line.split(" in ")[0])).toEqual(["✓ desk completed", "⠋ mail 80 ms"]);
    const lines = play(screen, other.completed(120));
    expect(lines.length).toBeGreaterThan(1);
  });

  it("a terminal that is gone stops it, and harms nobody", () => {
    const screen = new Screen();
    screen.write = () => {
      throw new Error("EIO");
    };
    play(screen, run.started(0));
    expect(() => vi.advanceTimersByTime(200)).not.toThrow();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("elsewhere", () => {
  const events = [
    ...[run.started(0), run.asked(0, 1), requested(100, look)],
    ...[retried(103, { ...look, attempt: 2 }), completed(105, { ...look, attempt: 2 })],
    ...[run.answered(105, 1), run.completed(110)],
  ];
  const PLAIN = [
    "▸ desk",
    "  ▸ turn 1",
    "  ▸ look",
    "  ▸ look, attempt 2",
    "  ✓ look completed in 5 ms, attempt 2",
    "✓ desk completed in 110 ms · 1 turn · 1 call · tokens 30 in, 12 out",
    "",
  ].join("\n");

  function plainly(isTTY: boolean): string {
    let written = "";
    const hear = liveProgress({ write: (text) => (written += text), isTTY });
    for (const event of events) hear(event);
    expect(vi.getTimerCount()).toBe(0);
    return written;
  }

  it("it is one plain line for each beginning, further attempt and end", () => {
    expect(plainly(false)).toBe(PLAIN);
  });

  it.each([
    ["NO_COLOR", "1"],
    ["CI", "true"],
    ["TERM", "dumb"],
  ])("under %s=%s a terminal gets the same", (name, value) => {
    vi.stubEnv(name, value);
    expect(plainly(true)).toBe(PLAIN);
  });

  it("without a stream and without process.stderr it says what it needs", () => {
    vi.stubGlobal("process", undefined);
    try {
      expect(() => liveProgress()).toThrow(
        "[invalid-argument] the stream of liveProgress() must be a stream; received undefined",
      );
    } finally {
      vi.unstubAllGlobals();
    }
  });
});

it("never keeps a process alive, nor one that waits for ever from ending", async () => {
  const entry = (path: string) => JSON.stringify(pathToFileURL(fileURLToPath(new URL(path, import.meta.url))).href);
  const program = `
    import { liveProgress } from ${entry("../../src/inspect/index.ts")};
    const hear = liveProgress({ isTTY: true, write: (text) => process.stdout.write(text) });
    hear({ type: "run-started", at: Date.now(), runId: "r", agentName: "desk", parent: undefined });
    setTimeout(() => console.log("ends by itself"), 200);
  `;
  const args = ["--import", "tsx", "--input-type=module", "-e", program];
  const env = { PATH: process.env["PATH"], TERM: "xterm" };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 20_000 });
  expect(stdout).toContain("desk");
  expect(stdout).toContain("ends by itself");
});

it("a stream that throws does not end the run", async () => {
  vi.useRealTimers();
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  const model = scriptedModel([{ toolCalls: [{ toolName: "recording", input: {} }] }, "Done."]);
  const broken = liveProgress({
    write: () => {
      throw new Error("EPIPE");
    },
  });
  const result = await new Agent({ name: "desk", model, tools: [recordingTool()] }).prompt("x").on(broken).run();
  expect(result.output).toBe("Done.");
  expect(error).toHaveBeenCalled();
  error.mockRestore();
});
