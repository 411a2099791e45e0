/** Compares JSON values; the order of an object's keys does not count, as databases change it. */
export function isSameJson(one: unknown, two: unknown): boolean {
  if (one === two) return true;
  if (typeof one !== "object" || typeof two !== "object" || one === null || two === null) return false;
  if (Array.isArray(one) !== Array.isArray(two)) return false;
  const [left, right] = [entriesOf(one), new Map(entriesOf(two))];
  return left.length === right.size && left.every(([key, value]) => isSameJson(value, right.get(key)));
}

/** Without the `undefined` ones, which do not survive being stored. */
function entriesOf(value: object): readonly [string, unknown][] {
  return Object.entries(value).filter(([, entry]) => entry !== undefined);
}
