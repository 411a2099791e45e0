import fc from "fast-check";

/** Numbers that are the same for one seed. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 to below the limit; mulberry32. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  pick<Item>(items: readonly [Item, ...Item[]] | readonly Item[], otherwise: Item): Item {
    return items[this.below(items.length)] ?? otherwise;
  }
}

const WORDS = ["__proto__", "constructor", "toString", "", "\ud800", "\u0000", "x".repeat(70_000), "type", "text"];
const values = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...WORDS));

/** Changes a text here and there: its characters, or where it is JSON, its parts. */
export function mutate(text: string, others: readonly string[], random: Random): string {
  let changed = text;
  for (let round = random.below(3); round >= 0; round--) {
    const tree = random.below(4) === 0 ? undefined : parsed(changed);
    if (tree === undefined) changed = mutateCharacters(changed, random.pick(others, ""), random);
    else changed = JSON.stringify(mutateTree(tree.value, parsed(random.pick(others, ""))?.value, random)) ?? "";
  }
  return changed;
}

function mutateCharacters(text: string, other: string, random: Random): string {
  const at = random.below(text.length + 1);
  const end = at + random.below(4);
  switch (random.below(4)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at) + other.slice(random.below(other.length + 1));
    case 2:
      return text.slice(0, at) + text.slice(at, end) + text.slice(at);
    default:
      return text.slice(0, at) + String.fromCharCode(random.below(256)) + text.slice(at + random.below(2));
  }
}

function mutateTree(tree: unknown, other: unknown, random: Random): unknown {
  if (typeof tree !== "object" || tree === null || random.below(6) === 0) return newPart(tree, other, random);
  const entries = Object.entries(tree);
  const at = random.below(entries.length + 1);
  const [key, value] = entries[at] ?? [random.pick(WORDS, ""), undefined];
  switch (random.below(8)) {
    case 0:
      entries.splice(at, 1);
      break;
    case 1:
      entries.splice(at, 0, [random.pick(Object.keys(Object(other)), key), value]);
      break;
    default:
      entries[at] = [key, mutateTree(value, other, random)];
  }
  // `fromEntries` makes a key `__proto__` a key.
  return Array.isArray(tree) ? entries.map(([, item]) => item) : Object.fromEntries(entries);
}

function newPart(tree: unknown, other: unknown, random: Random): unknown {
  if (random.below(3) === 0) return partOf(other, random);
  if (random.below(8) === 0) return [tree];
  return fc.sample(values, { numRuns: 1, seed: random.below(2 ** 31) })[0];
}

function partOf(tree: unknown, random: Random): unknown {
  if (typeof tree !== "object" || tree === null || random.below(4) === 0) return tree;
  return partOf(random.pick<unknown>(Object.values(tree), tree), random);
}

function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // Its characters are changed instead.
    return undefined;
  }
}
