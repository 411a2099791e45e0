import type { Coverage } from "./coverage.ts";
import { mutate, Random } from "./mutate.ts";

// A fuzzer of its own, and a small one. jazzer.js 4.0.0 comes with a binary that needs glibc 2.38, and version 2.1.0 cannot be
// installed. jsfuzz 1.0.15 loads CommonJS as of 2017 only, does not wait for what is asynchronous, and knows bytes alone: in
// 100,000 inputs it got no further into the reader of states than "this is no JSON".

export interface Target {
  readonly name: string;
  /** What the first inputs are made from. */
  readonly seeds: readonly string[];
  /** Throws, or rejects, where the input is a finding. */
  run(input: string): unknown;
}

interface FuzzOptions {
  readonly seed: number;
  /** Without it nothing that was tried is built upon: plain random inputs from the seeds. */
  readonly coverage?: Coverage | undefined;
  isOver(executions: number): boolean;
}

export interface FuzzReport {
  readonly executions: number;
  /** The inputs that came where no other had been. */
  readonly corpus: number;
  readonly finding: { readonly input: string; readonly error: unknown } | undefined;
}

const PATIENCE_MS = 10_000;
const MAX_LENGTH = 200_000;

/** Tries changed inputs, and keeps those that reach a new block to change them further. */
export async function fuzz(target: Target, { seed, coverage, isOver }: FuzzOptions): Promise<FuzzReport> {
  const random = new Random(seed);
  const corpus = [...target.seeds];
  let executions = 0;
  for (; !isOver(executions); executions++) {
    const isSeed = executions < target.seeds.length;
    const input = isSeed ? (corpus[executions] ?? "") : mutate(pickRecent(corpus, random), corpus, random);
    if (input.length > MAX_LENGTH) continue;
    try {
      await inTime(target.run(input));
    } catch (error) {
      return { executions: executions + 1, corpus: corpus.length, finding: { input, error } };
    }
    if (coverage?.hasGrown() && !isSeed) corpus.push(input);
  }
  return { executions, corpus: corpus.length, finding: undefined };
}

/** Every second time one of the last, as the newest are the deepest. */
function pickRecent(corpus: readonly string[], random: Random): string {
  const from = random.below(2) === 0 ? 0 : Math.max(corpus.length - 8, 0);
  return corpus[from + random.below(corpus.length - from)] ?? "";
}

/** What holds the thread up is seen by whoever waits for the fuzzer. */
async function inTime(work: unknown): Promise<void> {
  if (!(work instanceof Promise)) return;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
