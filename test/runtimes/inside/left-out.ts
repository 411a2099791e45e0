import type { File, Test } from "@vitest/runner";

// Where a runtime lacks what a test is about, the test is left out by what it reaches for, and not by its name.

let current: File | Test | undefined;
const reasons = new Map<string, string>();

/** What is reached for from here on is reached for by this file, while it is read, or by this test, while it runs. */
export function enter(task: File | Test | undefined): void {
  current = task;
}

export function reasonOf({ id }: { readonly id: string }): string | undefined {
  return reasons.get(id);
}

/** Counts what is being read or run as left out, however it ends: a tool's outcome may take in what is thrown. */
export function noteLeftOut(reason: string): void {
  if (current !== undefined) reasons.set(current.id, reason);
}

/** Stands in for something that the runtime does not have: any use of any member leaves the test out. */
export function lacking(what: string, members: object = {}): object {
  const refuse = () => {
    noteLeftOut(`needs ${what}`);
    throw new Error(`left out: needs ${what}`);
  };
  return new Proxy({}, { get: (_target, name) => Reflect.get(members, name) ?? refuse });
}
