import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly publishConfig: Readonly<Record<string, unknown>>;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly dependencies?: object; readonly hasInstallScript?: boolean }>>;
}

const read = (name: string): string => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
const manifest: Manifest = JSON.parse(read("package.json"));
const lock: Lock = JSON.parse(read("package-lock.json"));
const dependencies = Object.entries(manifest.dependencies ?? {});

test("a user installs at most one other package", () => {
  expect(dependencies.length).toBeLessThanOrEqual(1);
  for (const [name] of dependencies) expect(lock.packages[`node_modules/${name}`]?.dependencies ?? {}).toEqual({});
});

test("every dependency is of one exact version", () => {
  for (const [, range] of dependencies) expect(range).toMatch(/^\d+\.\d+\.\d+$/);
});

test("nothing runs when a user installs", () => {
  const onInstall = ["preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare", "dependencies"];
  expect(Object.keys(manifest.scripts).filter((name) => onInstall.includes(name))).toEqual([]);
  for (const [name] of dependencies) {
    const locked = lock.packages[`node_modules/${name}`];
    expect(locked).toBeDefined();
    expect(locked?.hasInstallScript ?? false).toBe(false);
  }
});

test("nothing is published without an audit, the tests and a provenance", () => {
  expect(manifest.scripts["prepublishOnly"]).toBe("npm audit --omit=dev && npm test");
  expect(manifest.publishConfig).toEqual({ access: "public", provenance: true });
});
