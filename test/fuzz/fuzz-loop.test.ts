import { expect, test } from "vitest";
import { Coverage } from "./coverage.ts";
import { fuzz } from "./fuzz-loop.ts";
import { mutate, Random } from "./mutate.ts";
import type * as Planted from "./planted-bug.ts";

const LIMIT = 60_000;

test("a bug behind five branches is found, which random inputs do not find in as many executions", {
  timeout: 240_000,
}, async () => {
  const coverage = new Coverage();
  const { readPlanted } = (await coverage.import(new URL("./planted-bug.ts", import.meta.url))) as typeof Planted;
  const target = { name: "planted", seeds: ["zzzzzz"], run: readPlanted };
  const guided = await fuzz(target, { seed: 7, coverage, isOver: (executions) => executions >= LIMIT });
  const random = await fuzz(target, { seed: 7, isOver: (executions) => executions >= LIMIT });
  console.log(
    `guided: ${guided.executions} executions; random: ${random.executions}, ${random.finding?.input ?? "nothing"}`,
  );
  expect(guided.finding).toMatchObject({ input: expect.stringMatching(/^branc/), error: new Error("planted") });
  expect(random.finding).toBeUndefined();
});

test("what never ends is a finding", { timeout: 60_000 }, async () => {
  const target = { name: "never", seeds: ["x"], run: () => new Promise(() => {}) };
  const { finding } = await fuzz(target, { seed: 1, isOver: () => false });
  expect(finding).toMatchObject({ input: "x", error: new Error("not done after 10000 ms") });
});

test("one seed makes the same inputs", () => {
  const inputs = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 200 }, () => mutate('{"a":[1,{"b":"c"}]}', ['{"d":2}'], random));
  };
  expect(inputs(3)).toEqual(inputs(3));
  expect(inputs(3)).not.toEqual(inputs(4));
});
