import type { RunState } from "./run-state.ts";

/** Saves a run's states one after another, in the order of what happened, so that an older one cannot win. */
export class Checkpoints {
  readonly #onCheckpoint: ((state: RunState) => void | Promise<void>) | undefined;
  readonly #onFailure: (error: unknown) => void;
  #saved: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `onFailure` hears of a save that failed before the run that waits for it does. */
  constructor(
    onCheckpoint: ((state: RunState) => void | Promise<void>) | undefined,
    onFailure: (error: unknown) => void,
  ) {
    this.#onCheckpoint = onCheckpoint;
    this.#onFailure = onFailure;
  }

  /** Waits until the state as it is by then is saved. */
  save(state: () => RunState): Promise<void> {
    const onCheckpoint = this.#onCheckpoint;
    if (onCheckpoint === undefined || this.#isClosed) return Promise.resolve();
    this.#saved = this.#saved
      .then(() => onCheckpoint(state()))
      .catch((error: unknown) => {
        this.#onFailure(error);
        throw error;
      });
    return this.#saved;
  }

  /** Takes no more, and waits for what is under way: a save that came late could undo what a resumed run has saved. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#saved.catch(() => undefined);
  }
}
