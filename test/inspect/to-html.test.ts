import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import type { RunEvent } from "tool-call-extensions";
import { toHtml } from "tool-call-extensions/inspect";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { recordRun } from "../../docs/examples/run-view/example-run.ts";
import { call, callsBeside, completed, failed, nestedCalls, requested, retried, WrittenRun } from "./written-events.ts";

const executablePath = "/usr/bin/chromium";
const hasChromium = existsSync(executablePath);
if (!hasChromium) console.info(`The page is not opened in a browser: there is no ${executablePath}`);

interface Opened {
  readonly page: Page;
  /** What the page asked for besides itself, wrote to the console, or threw. */
  readonly noise: readonly string[];
}

interface View {
  readonly width?: number;
  readonly colorScheme?: "light" | "dark";
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A desk whose librarian reads two pages at once, with a pause of an hour after it. */
function deskEvents(): readonly RunEvent[] {
  const run = new WrittenRun();
  const ask = call({ toolCallId: "ask", toolName: "ask_librarian", batchSize: 2 });
  const look = call({
    toolCallId: "look",
    toolName: "lookup_order",
    index: 1,
    batchSize: 2,
    invocationKey: "ik1_look",
  });
  const librarian = new WrittenRun("run_2", "librarian", ask);
  const page = (toolCallId: string, index: number) =>
    call({
      toolCallId,
      toolName: "read_page",
      runId: "run_2",
      agentName: "librarian",
      index,
      batchSize: 2,
      parent: ask,
    });
  const [one, two] = [page("one", 0), page("two", 1)];
  const pay = call({ toolCallId: "pay", toolName: "pay", turn: 2 });
  const HOUR = 3_600_000;
  return [
    ...[
      run.started(0),
      run.asked(0, 1),
      requested(200, ask, ["tenant"]),
      requested(200, look, ["tenant", "auth-token"]),
    ],
    ...[librarian.started(210), librarian.asked(210, 1), requested(300, one), requested(300, two)],
    ...[failed(400, two, "error"), retried(450, { ...one, attempt: 2 }), completed(500, look)],
    ...[retried(525, { ...one, attempt: 3 }), completed(600, { ...one, attempt: 3 })],
    ...[librarian.completed(700), completed(710, ask), run.answered(710, 1), run.asked(710, 2)],
    ...[run.paused(800, ["pay"]), run.started(HOUR), requested(HOUR, pay), completed(HOUR + 100, pay)],
    run.completed(HOUR + 200),
  ];
}

describe.skipIf(!hasChromium)("the page in Chromium", () => {
  const folder = mkdtempSync(join(tmpdir(), "run-view-"));
  let browser: Browser;

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Opens it as a user does, from a file and with scripts allowed. */
  async function open(
    events: readonly RunEvent[],
    { width = 1440, colorScheme = "light" }: View = {},
  ): Promise<Opened> {
    const file = join(mkdtempSync(join(folder, "page-")), "run.html");
    writeFileSync(file, toHtml(events));
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    onTestFinished(() => page.close());
    const noise: string[] = [];
    page.on("console", (message) => noise.push(message.text()));
    page.on("pageerror", (error) => noise.push(error.message));
    page.on("dialog", (dialog) => noise.push(dialog.message()));
    page.on("request", (request) => {
      if (request.url() !== pathToFileURL(file).href && !request.url().startsWith("data:")) noise.push(request.url());
    });
    await page.goto(pathToFileURL(file).href);
    return { page, noise };
  }

  async function openAll(page: Page): Promise<void> {
    await page.$$eval("details", (all) => {
      for (const row of all) row.open = true;
    });
  }

  /** The words of a text, however they are laid out. */
  async function wordsOf(page: Page, selector: string): Promise<string | undefined> {
    return (await page.locator(selector).textContent())?.replaceAll(/\s+/g, " ");
  }

  /** The bars of each row, by the id of its call or else by its name. */
  async function barsOf(page: Page): Promise<ReadonlyMap<string, readonly Box[]>> {
    const rows = await page.$$eval("details", (all) =>
      all.map((row): [string, { left: number; right: number; top: number; bottom: number }[]] => {
        const facts = [...row.querySelectorAll("dt")].map((term) => [
          term.textContent,
          term.nextElementSibling?.textContent,
        ]);
        const id = facts.find(([term]) => term === "Id")?.[1];
        const bars = [...row.querySelectorAll(".bar")].map((bar) => {
          const { left, right, top, bottom } = bar.getBoundingClientRect();
          return { left, right, top, bottom };
        });
        return [id ?? row.querySelector("b")?.textContent ?? "", bars];
      }),
    );
    return new Map(rows.reverse());
  }

  const WIDTHS = [390, 1440];
  const SCHEMES = ["light", "dark"] as const;
  const views = WIDTHS.flatMap((width) => SCHEMES.map((colorScheme) => ({ width, colorScheme })));

  describe.each(views)("at $width pixels, $colorScheme", (view) => {
    it("asks for nothing, says nothing, and is no wider than the screen, with all details open", async () => {
      const { page, noise } = await open(await recordRun(2), view);
      await openAll(page);
      const { scroll, client } = await page.evaluate(() => {
        const { scrollWidth: scroll, clientWidth: client } = document.documentElement;
        return { scroll, client };
      });
      expect(scroll).toBe(client);
      expect(noise).toEqual([]);
    });

    it("has text of a contrast of 4.5 and bars of 3 to what is behind them", async () => {
      const { page } = await open(deskEvents(), view);
      await openAll(page);
      const contrasts = await page.evaluate(() => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        const rgb = (color: string): readonly number[] => {
          if (canvas === null) return [];
          canvas.clearRect(0, 0, 1, 1);
          canvas.fillStyle = color;
          canvas.fillRect(0, 0, 1, 1);
          return [...canvas.getImageData(0, 0, 1, 1).data];
        };
        const luminance = (channels: readonly number[]): number => {
          const [r = 0, g = 0, b = 0] = channels.map((c) => {
            const share = c / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
          });
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const behind = (element: Element | null): readonly number[] => {
          for (let at = element; at !== null; at = at.parentElement) {
            const color = rgb(getComputedStyle(at).backgroundColor);
            if (color[3] === 255) return color;
          }
          return [255, 255, 255];
        };
        const contrast = (a: readonly number[], b: readonly number[]): number => {
          const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
          return (light + 0.05) / (dark + 0.05);
        };
        const isText = (element: Element): boolean =>
          [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== "");
        const texts = [...document.querySelectorAll("main *")].filter((element) => isText(element));
        const bars = [...document.querySelectorAll(".bar")];
        const colored = bars.filter((bar) => rgb(getComputedStyle(bar).backgroundColor)[3] === 255);
        return {
          texts: texts.map((element): [string, number] => [
            `${element.className} ${element.textContent}`,
            contrast(rgb(getComputedStyle(element).color), behind(element)),
          ]),
          bars: colored.map((bar): [string, number] => [
            bar.className,
            contrast(rgb(getComputedStyle(bar).backgroundColor), behind(bar.parentElement)),
          ]),
        };
      });
      expect(contrasts.texts.length).toBeGreaterThan(60);
      expect(contrasts.bars.length).toBeGreaterThan(7);
      expect(contrasts.texts.filter(([, contrast]) => contrast < 4.5)).toEqual([]);
      expect(contrasts.bars.filter(([, contrast]) => contrast < 3)).toEqual([]);
    });

    it("has each bar inside its parent's and parallel calls beside each other, in rows of their own", async () => {
      const { page } = await open(deskEvents(), view);
      const bars = await barsOf(page);
      const barOf = (name: string): Box => bars.get(name)?.[0] ?? expect.fail(`${name} has no bar`);
      const [desk, ask, librarian] = [barOf("desk"), barOf("ask"), barOf("librarian")];
      const isInside = (inner: Box, outer: Box) => inner.left >= outer.left - 1 && inner.right <= outer.right + 1;
      expect(isInside(ask, desk) && isInside(barOf("look"), desk) && isInside(librarian, ask)).toBe(true);
      expect(isInside(barOf("one"), librarian) && isInside(barOf("two"), librarian)).toBe(true);
      for (const [a, b] of [
        [ask, barOf("look")],
        [barOf("one"), barOf("two")],
      ] as const) {
        expect(Math.abs(a.left - b.left)).toBeLessThan(1);
        expect(a.bottom <= b.top || b.bottom <= a.top).toBe(true);
      }
      // 300 ms of 400 ms, on one axis.
      const widthOf = ({ left, right }: Box) => right - left;
      expect(widthOf(barOf("one")) / widthOf(librarian)).toBeCloseTo(300 / 490, 1);
      expect(widthOf(barOf("two")) / widthOf(barOf("one"))).toBeCloseTo(1 / 3, 1);
    });

    it("draws an hour's pause short, with the run on both sides of it", async () => {
      const { page } = await open(deskEvents(), view);
      const bars = await barsOf(page);
      const [before, after] = bars.get("desk") ?? [];
      const [, paid] = bars.get("pay") ?? [];
      if (before === undefined || after === undefined || paid === undefined) return expect.fail("a bar is missing");
      expect(before.right).toBeLessThan(after.left);
      expect(after.left - before.right).toBeLessThan((before.right - before.left) / 4);
      expect(Math.abs(paid.left - after.left)).toBeLessThan(1);
      expect((after.right - after.left) / (before.right - before.left)).toBeCloseTo(200 / 800, 1);
      expect(await page.locator(".axis .gap").getAttribute("title")).toBe("nothing ran for 59 min 59 s");
    });
  });

  it("tells of a call all that is known when its row is opened, by keyboard", async () => {
    const { page } = await open(deskEvents());
    const row = page.locator("details", { has: page.getByText("ik1_look") });
    expect(await row.locator("dl").isVisible()).toBe(false);
    const summaries = await page.locator("summary").count();
    for (let tabs = 0; tabs < summaries + 2; tabs++) {
      await page.keyboard.press("Tab");
      if (await row.locator("summary").evaluate((summary) => summary === document.activeElement)) break;
    }
    await page.keyboard.press("Enter");
    expect(await row.locator("dl").isVisible()).toBe(true);
    const facts = await row.locator("dt, dd").allTextContents();
    expect(facts).toEqual([
      ...["Status", "completed", "Id", "look", "Key", "ik1_look", "Parent", "none", "Run", "run_1"],
      ...["Place", "desk turn 1, call 2 of 2", "Attempts", "1", "Sees", "tenant, auth-token"],
      ...["Began", "200 ms after the first", "Took", "300 ms"],
    ]);
  });

  it("marks on a call's bar where each further attempt began, and tells it", async () => {
    const { page } = await open(deskEvents());
    await openAll(page);
    const row = page.locator("details", { hasText: "3 attempts" });
    const places = await row.evaluate((element) =>
      [...element.querySelectorAll(".bar, .retry")].map((mark) => {
        const { left, width } = mark.getBoundingClientRect();
        return { left, width };
      }),
    );
    const [bar = { left: 0, width: 0 }, ...marks] = places;
    expect(bar.width).toBeGreaterThan(20);
    // From 300 ms to 600 ms.
    const shares = marks.map(({ left }) => (left - bar.left) / bar.width);
    expect(shares.map((share) => share.toFixed(1))).toEqual([(150 / 300).toFixed(1), (225 / 300).toFixed(1)]);
    expect(await row.locator("dd", { hasText: "again" }).textContent()).toBe("3, again after 150 ms and 225 ms");
  });

  it("sums the run up, marks retries and failures in words, and shows the failures alone on request", async () => {
    const { page } = await open(deskEvents());
    expect(await page.title()).toBe("desk: completed");
    expect(await wordsOf(page, "h1")).toBe("desk completed");
    const totals = await page
      .locator(".totals > div")
      .evaluateAll((all) =>
        all.map((figure) => [figure.querySelector("dt")?.textContent, figure.querySelector("dd")?.textContent]),
      );
    expect(totals).toEqual([
      ["Time", "1.00 s"],
      ["Paused", "59 min 59 s"],
      ["Model", "380 ms"],
      ["Turns", "3"],
      ["Calls, 1 failed", "5"],
      ["Tokens", "30 in, 12 out"],
    ]);
    expect(await page.locator(".again").allTextContents()).toEqual(["3 attempts"]);
    expect(await page.locator("em").allTextContents()).toEqual(["failed (error)"]);
    expect(await page.locator("details:visible").count()).toBe(10);
    await page.getByLabel("failed only").check();
    expect(await page.locator("details:visible").count()).toBe(1);
  });

  it("runs nothing that a name brings along", async () => {
    const hostile = [
      "</script><script>alert(1)</script>",
      "</style><img src=http://127.0.0.1:9/x onerror=alert(1)>",
      `"onmouseover="alert(1)" x="`,
      "'><svg onload=alert(1)>",
      "</title></summary></details><iframe srcdoc='<script>alert(1)</script>'>",
      "javascript:alert(1)",
      "&lt;b&gt;",
      "\u202egnp.exe\u0000\u001b[31m",
    ];
    const events = hostile.flatMap((text, index) => {
      const fields = {
        toolCallId: text,
        toolName: text,
        runId: `${text}${index}`,
        agentName: text,
        invocationKey: text,
      };
      const run = new WrittenRun(`${text}${index}`, text);
      return [
        run.started(0),
        requested(1, call(fields), [text]),
        failed(2, call(fields), "error"),
        run.paused(3, [text]),
      ];
    });
    const { page, noise } = await open(events);
    await page.locator("summary").first().hover();
    const tags = await page.evaluate(() => [
      ...new Set([...document.body.querySelectorAll("*")].map((e) => e.localName)),
    ]);
    const known = [
      "main",
      "header",
      "h1",
      "span",
      "dl",
      "div",
      "dt",
      "dd",
      "p",
      "label",
      "input",
      "details",
      "summary",
    ];
    expect(tags.filter((tag) => ![...known, "i", "b", "em", "small", "footer"].includes(tag))).toEqual([]);
    expect(await page.evaluate(() => document.scripts.length)).toBe(0);
    const names = await page.locator(".call b").allTextContents();
    expect(names.slice(0, 1)).toEqual([hostile[0]]);
    expect(names).toContain("&lt;b&gt;");
    expect(names).toContain("\\u{202e}gnp.exe\\u{0}\\u{1b}[31m");
    expect(noise).toEqual([]);
  });

  it.each([
    ["10,000 calls side by side", callsBeside(10_000)],
    ["5,000 agents inside each other", nestedCalls(5_000, true)],
  ])("of %s is there within seconds, and a row opens", { timeout: 60_000 }, async (_what, events) => {
    const started = performance.now();
    const { page } = await open(events, { width: 390 });
    await page.locator("summary").nth(1).click();
    expect(await page.locator("details[open]").count()).toBe(1);
    console.info(`opened after ${Math.round(performance.now() - started)} ms`);
    expect(await page.locator("details").count()).toBeGreaterThanOrEqual(10_000);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(performance.now() - started).toBeLessThan(30_000);
  });

  it.each([
    ["nothing", [], "No events"],
    [
      "calls of a tool set",
      [requested(0, call({ toolCallId: "a" })), requested(0, call({ toolCallId: "b" }))],
      "lookup and 1 more",
    ],
    ["a run that is open", [new WrittenRun().started(0), requested(0, call({ toolCallId: "a" }))], "desk open"],
  ])("is whole for %s", async (_what, events, heading) => {
    const { page, noise } = await open(events);
    expect(await wordsOf(page, "h1")).toBe(heading);
    expect(await page.content()).not.toMatch(/NaN|undefined|Infinity/);
    expect(noise).toEqual([]);
  });
});
