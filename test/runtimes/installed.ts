import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(tmpdir(), "tool-call-extensions-runtimes");
const INSTALL = ["install", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];

/** Makes an empty folder and installs into it. */
async function installInto(folder: string, what: string): Promise<void> {
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  await run("npm", [...INSTALL, what], { cwd: folder, timeout: 300_000 });
}

/** Packs what is built and gives the folder where a program would have it installed. */
export async function installPackage(folder: string): Promise<string> {
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: root });
  const [{ filename }] = JSON.parse(stdout);
  await installInto(folder, join(folder, filename));
  return folder;
}

/** Gives the modules of a runtime that npm has, from a cache. Installs beside it: what was cut off must not pass for whole. */
export async function installRuntime(name: string): Promise<string> {
  const home = join(cache, name);
  if (!existsSync(home)) {
    mkdirSync(cache, { recursive: true });
    const partial = mkdtempSync(join(cache, "partial-"));
    await installInto(partial, name);
    renameSync(partial, home);
  }
  return join(home, "node_modules");
}
