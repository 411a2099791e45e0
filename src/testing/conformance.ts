/** `test` of vitest, node:test or jest: a title and a function that throws where the fact does not hold. */
export type TestFunction = (title: string, run: () => Promise<void>) => unknown;

/** Throws with both values: texts are the kit's own, objects may be anybody's and are named by their kind. */
export function same(actual: unknown, expected: unknown, what: string): void {
  if (Object.is(actual, expected)) return;
  throw new Error(`${what}: expected ${shown(expected)}, received ${shown(actual)}`);
}

export function holds(condition: boolean, what: string): void {
  if (!condition) throw new Error(what);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.slice(0, 200));
  return typeof value === "object" && value !== null ? `another ${value.constructor?.name ?? "object"}` : String(value);
}

/** Gives what `work` throws synchronously, or `undefined`. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

const LIMIT_MS = 2_000;

/** A host that never settles would hold up the whole test file, or be told by the test runner's time-out alone. */
export async function within<Value>(work: Promise<Value>, fault: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${fault} within ${LIMIT_MS} ms`)), LIMIT_MS);
  });
  return await Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
