import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";

// The built package in every runtime it is made for (`npm test` builds before it tests). The current Node and an installed
// Chromium are always used, the others where the cache folder has them; RUNTIMES=all installs them there.

interface Checked {
  readonly runtime: string;
  readonly keys: Readonly<Record<string, string>>;
  readonly derivedKeys: readonly string[];
  readonly accessor: Readonly<Record<"own" | "none" | "wrong" | "leaked" | "outcomes", readonly string[]>>;
  readonly run: { readonly output: string; readonly calls: readonly object[]; readonly leaks: number };
}

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const program = fileURLToPath(new URL("check.mjs", import.meta.url));
const library = join(root, "dist/index.js");
const chromium = "/usr/bin/chromium";
const cache = join(tmpdir(), "tool-call-extensions-runtimes");
const folder = mkdtempSync(join(tmpdir(), "runtimes-"));
const ONE_INSTALL = { timeout: 300_000 };

afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

/** Says of each runtime that is not there why it is skipped. */
function isPresent(name: string): boolean {
  if (process.env["RUNTIMES"] === "all" || existsSync(join(cache, name))) return true;
  console.info(`${name} is skipped: it is not in ${cache}, where RUNTIMES=all installs it`);
  return false;
}

/** Gives the package's folder of modules. Installs beside the cache first: one that was cut off must not pass for whole. */
async function install(name: string): Promise<string> {
  const home = join(cache, name);
  if (!existsSync(home)) {
    const partial = mkdtempSync(join(folder, "install-"));
    writeFileSync(join(partial, "package.json"), '{ "private": true }');
    await run("npm", ["install", "--no-audit", "--no-fund", name], { cwd: partial });
    mkdirSync(cache, { recursive: true });
    renameSync(partial, home);
  }
  return join(home, "node_modules");
}

async function checkedBy(command: string, ...flags: readonly string[]): Promise<Checked> {
  const { stdout } = await run(command, [...flags, program, pathToFileURL(library).href]);
  return JSON.parse(stdout);
}

/** Makes one file of the package, the check and the code that tells what came out. */
async function bundle(format: "iife" | "esm", tell: string): Promise<string> {
  const [entry, outfile] = [join(folder, `${format}.mjs`), join(folder, `${format}.bundle.js`)];
  const imports = `import * as library from "${library}"; import { check } from "${program}";`;
  writeFileSync(entry, `${imports}\n${tell}`);
  const flags = ["--bundle", `--format=${format}`, "--target=es2022", `--outfile=${outfile}`];
  await run(join(root, "node_modules/.bin/esbuild"), [entry, ...flags]);
  return outfile;
}

/** Where a tool of the check reads the accessor, as often as it does. */
const PLACES = [
  "after a nested call",
  ...["after a timer", "after a timer", "after a timer"],
  ...["after await", "after await", "after await"],
  ...["at once", "at once", "at once"],
  "before a cancel",
  "before a throw",
  ...["in finally", "in finally"],
  ...["in the first step", "in the first step"],
  ...["in the second step", "in the second step"],
];
const OUTCOMES = ["completed", "error", "completed", "completed", "completed", "completed", "aborted"];
const FOLLOWED = { own: PLACES, none: [], wrong: [], leaked: [], outcomes: OUTCOMES };
/** Without AsyncLocalStorage the accessor has nothing to tell, and everything else works. */
const NOT_FOLLOWED = { own: [], none: PLACES, wrong: [], leaked: [], outcomes: OUTCOMES };

interface Vectors {
  readonly invocationKeys: readonly {
    readonly name: string;
    readonly sessionKey: unknown;
    readonly toolCallId: string;
    readonly key: string;
  }[];
  readonly derivedKeys: readonly { readonly derivedKey: string }[];
}

function expectPinnedKeys({ keys, derivedKeys }: Checked): void {
  const file = new URL("../pins/invocation-key.vectors.json", import.meta.url);
  const vectors: Vectors = JSON.parse(readFileSync(file, "utf8"));
  const possible = vectors.invocationKeys.filter(
    ({ sessionKey, toolCallId }) => sessionKey !== "" && toolCallId !== "",
  );
  expect(possible.length).toBeGreaterThan(20);
  expect(keys).toEqual(Object.fromEntries(possible.map(({ name, key }) => [name, key])));
  expect(derivedKeys).toEqual(vectors.derivedKeys.map(({ derivedKey }) => derivedKey));
}

/** What the current Node makes of the run: ids, keys and parents, which hold wherever it is made. */
const reference: Promise<Checked["run"]> = checkedBy(process.execPath).then((checked) => checked.run);

async function expectSameRun({ run: made }: Checked): Promise<void> {
  expect(made.output).toBe("tenant t-7");
  expect(made.calls).toHaveLength(6);
  expect(made).toEqual(await reference);
}

describe("pins the keys, follows the call and makes the same run", () => {
  it("in the Node that runs the tests", async () => {
    const checked = await checkedBy(process.execPath);
    expect(checked.runtime).toBe(`node ${process.versions.node}`);
    expect(checked.accessor).toEqual(FOLLOWED);
    expect(checked.run.leaks).toBe(0);
    expectPinnedKeys(checked);
    await expectSameRun(checked);
  });

  for (const [name, ...flags] of [
    ["node@22.23.3"],
    ["node@24.21.0"],
    ["bun@1.4.5", "run", "--no-install"],
    ["deno@2.9.6", "run", "--cached-only", "--allow-read"],
  ] as const) {
    it.runIf(isPresent(name))(`in ${name}`, ONE_INSTALL, async () => {
      const [command = "", version] = name.split("@");
      const checked = await checkedBy(join(await install(name), ".bin", command), ...flags);
      expect(checked.runtime).toBe(`${command} ${version}`);
      expect(checked.accessor).toEqual(FOLLOWED);
      expectPinnedKeys(checked);
      await expectSameRun(checked);
    });
  }
});

interface Workers {
  readonly Miniflare: new (
    options: object,
  ) => {
    dispatchFetch(url: string): Promise<{ json(): Promise<unknown> }>;
    dispose(): Promise<void>;
  };
}

describe("pins the keys and makes the same run", () => {
  const miniflare = "miniflare@4.20260420.0";

  it.runIf(isPresent(miniflare)).each([
    ["with Node's modules, and follows the call", ["nodejs_compat"], FOLLOWED],
    ["without Node's modules, where no call can be followed", [], NOT_FOLLOWED],
  ])("in workerd %s", ONE_INSTALL, async (_how, compatibilityFlags, accessor) => {
    const { Miniflare }: Workers = createRequire(join(await install(miniflare), "x.js"))("miniflare");
    const path = await bundle("esm", "export default { fetch: async () => Response.json(await check(library)) };");
    // Listed by hand: Miniflare refuses a file that might import another one, as the check does elsewhere.
    const modules = [{ type: "ESModule", path: "check.js", contents: readFileSync(path, "utf8") }];
    const worker = new Miniflare({ modules, compatibilityDate: "2026-04-01", compatibilityFlags });
    try {
      const checked = (await (await worker.dispatchFetch("http://localhost/")).json()) as Checked;
      expect(checked.runtime).toBe("Cloudflare-Workers");
      expect(checked.accessor).toEqual(accessor);
      expectPinnedKeys(checked);
      await expectSameRun(checked);
    } finally {
      await worker.dispose();
    }
  });

  const hasChromium = existsSync(chromium);
  if (!hasChromium) console.info(`Chromium is skipped: there is no ${chromium}`);

  it.skipIf(!hasChromium)("in headless Chromium, where no call can be followed", async () => {
    const script = await bundle(
      "iife",
      "check(library).then((result) => { document.title = JSON.stringify(result); });",
    );
    expect(readFileSync(script, "utf8")).not.toMatch(/\b(?:require|import)\(?\s*"node:/);
    const page = join(folder, "page.html");
    writeFileSync(page, `<!doctype html><title></title><script src="${pathToFileURL(script).href}"></script>`);
    const offline = [
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--disable-quic",
    ];
    const own = ["--no-first-run", `--user-data-dir=${mkdtempSync(join(folder, "chromium-"))}`];
    const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", ...offline, ...own];
    const { stdout } = await run(chromium, [...flags, "--dump-dom", pathToFileURL(page).href], { timeout: 25_000 });
    const checked: Checked = JSON.parse(/<title>(.*)<\/title>/.exec(stdout)?.[1] ?? "null");
    expect(checked.runtime).toContain("Chrome/");
    expect(checked.accessor).toEqual(NOT_FOLLOWED);
    expectPinnedKeys(checked);
    await expectSameRun(checked);
  });
});
