const FIRST_DELAY_MS = 10;
const LONGEST_DELAY_MS = 500;

/** Waits longer each time, by a random part of the delay, so that those who wait for one key do not ask together. */
export class GrowingPause {
  #delayMs: number = FIRST_DELAY_MS;

  /** Rejects with the signal's reason as soon as it aborts. */
  next(signal?: AbortSignal): Promise<void> {
    const delayMs = this.#delayMs * (0.5 + Math.random() / 2);
    this.#delayMs = Math.min(LONGEST_DELAY_MS, this.#delayMs * 1.5);
    return pause(delayMs, signal);
  }
}

function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, delayMs);
    signal?.addEventListener("abort", stop, { once: true });
    if (signal?.aborted) stop();
  });
}
