import { expect, test } from "vitest";
import { typeCost } from "../../bench/type-cost.ts";

// The figure to hold is of the type prototype's kind: one file with the tools, against a file without any.

test.each([
  { tools: 50, tokens: 20, bound: 6_000 },
  { tools: 200, tokens: 20, bound: 15_000 },
])("$tools tools over $tokens tokens cost at most $bound instantiations", ({ tools, tokens, bound }) => {
  const cost = typeCost(tools, tokens);
  console.info(`${tools} tools over ${tokens} tokens: ${cost} instantiations`);
  expect(cost).toBeGreaterThan(500);
  expect(cost).toBeLessThanOrEqual(bound);
});
