import { renderTree, toHtml, toMermaid } from "tool-call-extensions/inspect";
import { describe, expect, it } from "vitest";
import { callsBeside, nestedCalls } from "./written-events.ts";

const SHAPES = {
  "calls side by side": callsBeside,
  "nested calls": (count: number) => nestedCalls(count, false),
  "nested sub-agents": (count: number) => nestedCalls(count, true),
};
const VIEWS = { renderTree, toMermaid, toHtml };

function secondsFor(work: () => void): number {
  const times = Array.from({ length: 3 }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return Math.min(...times);
}

describe.each(Object.entries(SHAPES))("of %s", (_shape, make) => {
  it.each(Object.entries(VIEWS))(
    "%s shows 10,000, in time that grows with their number",
    { timeout: 60_000 },
    (name, view) => {
      const [few, many] = [make(1_250), make(10_000)];
      const text = view(many);
      if (name !== "toMermaid") expect(text).toContain("call_9999");
      // Eight times as many take eight times as long, and 64 times where each looks at all the others.
      expect(secondsFor(() => view(many)) / secondsFor(() => view(few))).toBeLessThan(28);
    },
  );
});

it("a chart that Mermaid would refuse for its length is cut, and says how much is left out", () => {
  const chart = toMermaid(callsBeside(2_000));
  expect(chart.length).toBeLessThan(50_000);
  const shown = chart.match(/ :done, /g)?.length ?? 0;
  expect(shown).toBeGreaterThan(300);
  expect(chart).toContain(`  section … and ${2_000 - shown} more, for which Mermaid has no room`);
});
