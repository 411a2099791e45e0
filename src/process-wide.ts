/**
 * Gives the one object of this name in the process, making it on first use: what must be shared by several loaded copies
 * of the package (an ESM and a bundled one, say) cannot live in a module variable.
 *
 * The cast is the boundary: only this package writes under its own symbols.
 */
export function processWide<Value>(name: string, make: () => Value): Value {
  const key = Symbol.for(`tool-call-extensions/${name}`);
  const holder = globalThis as { [key: symbol]: Value | undefined };
  holder[key] ??= make();
  return holder[key];
}
