import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// Bytes and no times: what a snapshot allocates is the same on every machine. In a process of its own, because the heap of
// a test's has other work; the least of several rounds, because a compiler thread allocates too.

const root = fileURLToPath(new URL("../../", import.meta.url));
const SIZES: readonly number[] = [0, 1, 4, 16, 64];

const MEASURE = `
import { extensionToken, ToolCallExtensions } from "./dist/index.js";
const kept = new Array(2_000);
function grown(make) {
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < kept.length; i++) kept[i] = make();
  return (process.memoryUsage().heapUsed - before) / kept.length;
}
const leastOf = (make) => {
  for (let i = 0; i < 20; i++) grown(make);
  return Math.min(...Array.from({ length: 20 }, () => grown(make)));
};
const none = leastOf(() => undefined);
const bytes = ${JSON.stringify(SIZES)}.map((size) => {
  const map = new ToolCallExtensions();
  for (let i = 0; i < size; i++) map.insert(extensionToken("value " + i).of(), { i });
  return Math.round(leastOf(() => map.clone()) - none);
});
console.log(JSON.stringify({ bytes }));
`;

test("a snapshot is one small object at any size", { timeout: 30_000 }, async () => {
  const flags = ["--expose-gc", "--max-semi-space-size=64", "--input-type=module", "--eval", MEASURE];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: root });
  const { bytes }: { readonly bytes: readonly number[] } = JSON.parse(stdout);
  console.info(`a snapshot of ${SIZES.join(", ")} entries: ${bytes.join(", ")} bytes`);
  expect(bytes).toHaveLength(SIZES.length);
  for (const each of bytes) expect(each).toBeGreaterThan(16);
  for (const each of bytes) expect(each).toBeLessThanOrEqual(72);
});
