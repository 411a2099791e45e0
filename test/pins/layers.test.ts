import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const src = fileURLToPath(new URL("../../src/", import.meta.url));
const LAYERS = ["extensions", "invocation", "tool", "agent"];
const ADAPTERS = ["testing", "mcp", "once", "postgres", "ai-sdk", "inspect"];
/** Files beside the layers that every layer may use. */
const GROUND = ["errors.ts", "process-wide.ts"];

const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
const imports = files.flatMap((file) => {
  const text = readFileSync(src + file, "utf8").replaceAll(/\/\*[\s\S]*?\*\//g, "");
  return [...text.matchAll(/\bfrom "(\.[^"]+)"/g)].map(([, to = ""]) => {
    return { from: file, to: posix.join(posix.dirname(file), to) };
  });
});
const folderOf = (file: string): string => file.split("/")[0] ?? "";

test("the import graph is read", () => {
  expect(imports.length).toBeGreaterThan(60);
  for (const layer of LAYERS) expect(imports.map(({ from }) => folderOf(from))).toContain(layer);
});

test("layers import downwards only", () => {
  const faults = imports.filter(({ from, to }) => {
    const layer = LAYERS.indexOf(folderOf(from));
    return layer >= 0 && !GROUND.includes(to) && LAYERS.indexOf(folderOf(to)) > layer;
  });
  expect(faults).toEqual([]);
  const upwards = imports.filter(({ from, to }) => LAYERS.includes(folderOf(from)) && to === "index.ts");
  expect(upwards).toEqual([]);
});

test("the ground imports nothing of the layers", () => {
  expect(imports.filter(({ from, to }) => GROUND.includes(from) && !GROUND.includes(to))).toEqual([]);
});

test("adapters import only what public entries export", () => {
  const faults = imports.filter(({ from, to }) => {
    return ADAPTERS.includes(folderOf(from)) && folderOf(to) !== folderOf(from) && !/^(\w+\/)?index\.ts$/.test(to);
  });
  expect(faults).toEqual([]);
});

test("every folder of src is a layer or an adapter", () => {
  const folders = new Set(files.filter((file) => file.includes("/")).map(folderOf));
  expect([...folders].sort()).toEqual([...LAYERS, ...ADAPTERS].sort());
});

test("no file of src has over 300 lines, and none imports a node module at run time", () => {
  for (const file of files) {
    const text = readFileSync(src + file, "utf8");
    expect(text.split("\n").length, file).toBeLessThanOrEqual(301);
    expect(text.match(/^import (?!type )[^;]*"node:/gm), file).toBeNull();
  }
});
