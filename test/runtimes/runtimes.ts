import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import type { Report } from "./inside/run-files.ts";
import { installRuntime } from "./installed.ts";
import { bundleSuite, type Selection } from "./suite.ts";

export interface Runtime {
  readonly name: string;
  /** Gets the runtime ready; what it throws is the reason why it cannot be had. */
  find(): Promise<string>;
  /** Runs the suite on the package that is installed in `home`. */
  run(found: string, home: string, selection: Selection): Promise<Report>;
}

const run = promisify(execFile);
const LIMITS = { timeout: 300_000, maxBuffer: 64 * 1024 * 1024 };
// Without the interval a program ends by itself in a test that waits for a timer that holds none, as a time limit is.
const PRINT = `setInterval(() => {}, 1_000);
runFiles(files).then((report) => process.stdout.write("\\n" + JSON.stringify(report), () => process.exit()));`;

function lastReport(stdout: string): Report {
  const line = stdout.slice(stdout.lastIndexOf("\n") + 1);
  if (!line.startsWith("{"))
    throw new Error(`the program ended without a report; it printed ${JSON.stringify(stdout)}`);
  return JSON.parse(line);
}

/** A program that runs a file, and resolves the package from the folder where it is installed. */
function program(name: string, find: () => Promise<string>, flags: readonly string[] = []): Runtime {
  return {
    name,
    find,
    run: async (command, home, selection) => {
      const target = { resolves: true, followsCalls: true, isLikeNode: true };
      const path = await bundleSuite(home, selection, { ...target, format: "esm", name: "program.mjs", tell: PRINT });
      const { stdout } = await run(command, [...flags, path], { ...LIMITS, cwd: home });
      return lastReport(stdout);
    },
  };
}

const fromNpm = (spec: string) => async () => {
  const [command = ""] = spec.split("@");
  return join(await installRuntime(spec), ".bin", command);
};

interface Workers {
  readonly Miniflare: new (
    options: object,
  ) => {
    dispatchFetch(url: string): Promise<{ json(): Promise<unknown> }>;
    dispose(): Promise<void>;
  };
}

/** The boundary where what a runtime sent becomes a report: both sides are of this folder. */
const asReport = (value: unknown) => value as Report;

function workerd(name: string, followsCalls: boolean): Runtime {
  return {
    name,
    find: () => installRuntime("miniflare@4.20260420.0"),
    run: async (modules, home, selection) => {
      const { Miniflare }: Workers = createRequire(join(modules, "x.js"))("miniflare");
      const tell = "export default { fetch: async () => Response.json(await runFiles(files)) };";
      const target = { resolves: false, followsCalls, isLikeNode: false };
      const path = await bundleSuite(home, selection, { ...target, format: "esm", name: `${name}.mjs`, tell });
      const worker = new Miniflare({
        // Listed by hand: Miniflare refuses a file that might import another one.
        modules: [{ type: "ESModule", path: "worker.mjs", contents: readFileSync(path, "utf8") }],
        compatibilityDate: "2026-04-01",
        compatibilityFlags: followsCalls ? ["nodejs_compat"] : [],
      });
      try {
        return asReport(await (await worker.dispatchFetch("http://localhost/")).json());
      } finally {
        await worker.dispose();
      }
    },
  };
}

const OFFLINE = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"];

const browser: Runtime = {
  name: "headless Chromium",
  find: async () => {
    const path = "/usr/bin/chromium";
    if (!existsSync(path)) throw new Error(`there is no ${path}`);
    return path;
  },
  run: async (executablePath, home, selection) => {
    const tell = "globalThis.report = runFiles(files);";
    const target = { resolves: false, followsCalls: false, isLikeNode: false };
    const path = await bundleSuite(home, selection, { ...target, format: "iife", name: "page.js", tell });
    const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", ...OFFLINE];
    const profile = mkdtempSync(join(home, "chromium-"));
    const context = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args });
    try {
      const page = await context.newPage();
      await page.addScriptTag({ path });
      return asReport(await page.evaluate("report"));
    } finally {
      await context.close();
    }
  },
};

/** What the package is made for. */
export const runtimes: readonly Runtime[] = [
  program("the Node at hand", async () => process.execPath),
  program("node@22.23.3", fromNpm("node@22.23.3")),
  program("node@24.21.0", fromNpm("node@24.21.0")),
  program("node@24.21.0 without the async-context frame", fromNpm("node@24.21.0"), ["--no-async-context-frame"]),
  program("node@26.10.0", fromNpm("node@26.10.0")),
  program("bun@1.4.5", fromNpm("bun@1.4.5"), ["run", "--no-install"]),
  program("deno@2.9.6", fromNpm("deno@2.9.6"), ["run", "--cached-only", "--no-prompt", "--allow-read", "--allow-env"]),
  workerd("workerd with Node's modules", true),
  workerd("workerd without Node's modules", false),
  browser,
];
