/** Maps with at most `limit` items at work at once; the results are in the order of the items. */
export function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  if (items.length <= limit) return Promise.all(items.map(work));
  return drainQueue(items, limit, work);
}

async function drainQueue<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const queue = items.entries();
  const drain = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item, index);
  };
  await Promise.all(Array.from({ length: limit }, drain));
  return results;
}
