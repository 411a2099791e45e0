import { expect, test } from "vitest";
import { bundledSize, IMPORTS } from "../../bench/bundle-size.ts";

// Of what is built: `npm test` builds before it tests. A bundler that keeps what an import does not use fails it, too.

test.each(IMPORTS)("$name is at most $budget bytes, minified and compressed", async (imported) => {
  const size = await bundledSize(imported);
  console.info(`${imported.name}: ${size} bytes`);
  expect(size).toBeGreaterThan(500);
  expect(size).toBeLessThanOrEqual(imported.budget);
});
