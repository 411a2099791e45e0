import { do_not_optimize } from "mitata";
import type { Contender } from "./contenders.ts";

export type Run = () => void;

/** What is measured of one contender; each gives a function to be called many times, for parents of these sizes. */
export interface Scenarios {
  /** {@link CALLS_PER_RUN} times the per-call path: a child of a long-lived parent with the invocation added, and three reads. */
  readonly call: (sizes: readonly number[]) => Run;
  /** The same on a parent that is itself a child of a moment ago, as in a call inside a run. */
  readonly nested: (sizes: readonly number[]) => Run;
  /** The same on a parent that is filled every time. */
  readonly filled: (sizes: readonly number[]) => Run;
  /** {@link READS_PER_RUN} reads of what a child has from its long-lived parent. */
  readonly read: (sizes: readonly number[]) => Run;
  /** The same on the first child a parent has ever had. */
  readonly readFirstChild: (sizes: readonly number[]) => Run;
  readonly bind: (sizes: readonly number[]) => Run;
  readonly empty: () => Run;
}

interface Case<Key, Instance> {
  readonly keys: readonly Key[];
  readonly parent: Instance;
  readonly firstKey: Key;
  readonly secondKey: Key;
}

const PARENTS = 16;
const KEYS_READ = 4;
export const CALLS_PER_RUN: number = PARENTS;
export const READS_PER_RUN: number = KEYS_READ * PARENTS;

/** A field for each result: of two writes to one field the compiler drops the first, and the work behind it. */
const sink: Record<"made" | "invocation" | "first" | "second", unknown> = {
  made: undefined,
  invocation: undefined,
  first: undefined,
  second: undefined,
};
do_not_optimize(sink);

/**
 * Gives the scenarios for one contender.
 *
 * The module is imported under a query of its own for each cell of a table: the compiler collects types per function,
 * and functions that serve several contenders would be slow for each.
 */
export function createScenarios<Key, Instance>(contender: Contender<Key, Instance>): Scenarios {
  const { createKey, build, bind } = contender;
  const [invocation, first, second] = contender.reads;
  const callKey = createKey("call");
  const runKey = createKey("run");

  function createCase(size: number, group: number): Case<Key, Instance> {
    const keys = Array.from({ length: size }, (_, index) => createKey(`com.example/${size}-${group}-${index}`));
    const firstKey = keys[size >> 1] ?? callKey;
    return { keys, parent: build(keys), firstKey, secondKey: keys.at(-1) ?? callKey };
  }

  /** Several parents, each with keys of its own, because one pair of hashes may collide. */
  function createCases(sizes: readonly number[]): readonly Case<Key, Instance>[] {
    return Array.from({ length: PARENTS }, (_, index) => createCase(sizes[index % sizes.length] ?? 0, index));
  }

  /**
   * Reads what was made a lap ago, as a tool reads after an await: a child which the compiler has just seen being made
   * costs nothing to read, and one that nobody keeps costs nothing to make.
   */
  function lap(sizes: readonly number[], make: (chosen: Case<Key, Instance>) => Instance): Run {
    const cases = createCases(sizes);
    const held = cases.map(make);
    return () => {
      for (let index = 0; index < PARENTS; index++) {
        const chosen = cases[index];
        const child = held[index];
        if (chosen === undefined || child === undefined) throw new RangeError(`no case ${index}`);
        held[index] = make(chosen);
        sink.invocation = invocation(child, callKey);
        sink.first = first(child, chosen.firstKey);
        sink.second = second(child, chosen.secondKey);
      }
    };
  }

  function readFrom(sizes: readonly number[], makeChild: (parent: Instance) => Instance): Run {
    const cases = createCases(sizes).map(({ keys, parent }) => ({ keys, child: makeChild(parent) }));
    return () => {
      for (const { child, keys } of cases) {
        for (let index = 0; index < KEYS_READ; index++) sink.second = second(child, keys[index] ?? callKey);
      }
    };
  }

  return {
    call: (sizes) => lap(sizes, ({ parent }) => bind(parent, callKey)),
    nested: (sizes) => lap(sizes, ({ parent }) => bind(bind(parent, runKey), callKey)),
    filled: (sizes) => lap(sizes, ({ keys }) => bind(build(keys), callKey)),
    read: (sizes) =>
      readFrom(sizes, (parent) => {
        bind(parent, callKey);
        return bind(parent, callKey);
      }),
    readFirstChild: (sizes) => readFrom(sizes, (parent) => bind(parent, callKey)),
    bind: ([size = 0]) => {
      const { parent } = createCase(size, 0);
      return () => {
        sink.made = bind(parent, callKey);
      };
    },
    empty: () => () => {
      sink.made = contender.empty();
    },
  };
}
