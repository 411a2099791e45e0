/**
 * Gives every call of a run an id of its own: the provider's where it is usable, else one made from the call's place,
 * which is the same on every replay.
 */
export class ToolCallIds {
  readonly #seen = new Set<string>();

  /** Takes the ids of an earlier conversation as used. */
  seed(ids: Iterable<string>): void {
    for (const id of ids) this.#seen.add(id);
  }

  /** `turn` counts from 1, `index` from 0. */
  assign(providerId: string | undefined, turn: number, index: number): string {
    const id =
      providerId === undefined || providerId === "" || this.#seen.has(providerId)
        ? this.#make(turn, index)
        : providerId;
    this.#seen.add(id);
    return id;
  }

  #make(turn: number, index: number): string {
    for (let salt = 0; ; salt++) {
      const id = placeId(turn + salt * 46_656, index);
      if (!this.#seen.has(id)) return id;
    }
  }
}

/** Nine letters and digits, the strictest format a provider documents (Mistral's). */
function placeId(turn: number, index: number): string {
  return `c${turn.toString(36).padStart(4, "0")}${index.toString(36).padStart(4, "0")}`;
}

/** Makes the id of a run that nothing else identifies. */
export function randomRunId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `run_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
