/**
 * Carries an abort down a tree of runs, calls and nested calls.
 *
 * An `AbortSignal` shared by all of them would collect one listener a call: Node warns at the eleventh, and one that is
 * never removed lives as long as the caller's signal. So each node has a signal of its own, made on first read.
 */
export class Cancellation {
  readonly #parent: Cancellation | undefined;
  #children: Set<Cancellation> | undefined;
  #controller: AbortController | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;
  #release: (() => void) | undefined;
  #isAborted = false;
  #reason: unknown;

  constructor(parent?: Cancellation) {
    this.#parent = parent;
    if (parent === undefined) return;
    if (parent.#isAborted) this.abort(parent.#reason);
    parent.#children ??= new Set();
    parent.#children.add(this);
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  child(): Cancellation {
    return new Cancellation(this);
  }

  /** Follows a signal from outside until `dispose`. */
  follow(signal: AbortSignal | undefined): this {
    if (signal === undefined) return this;
    if (signal.aborted) {
      this.abort(signal.reason);
      return this;
    }
    const onAbort = (): void => this.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#release = () => signal.removeEventListener("abort", onAbort);
    return this;
  }

  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    // Children first, so that the calls have ended when whoever waits for this node hears of it.
    for (const child of this.#children ?? []) child.abort(reason);
    this.#controller?.abort(reason);
    this.#onAbort?.(reason);
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  /**
   * Waits for the work, or rejects with the abort's reason as soon as it comes: work that ignores its signal cannot hold
   * the run up, and what it still does afterwards is ignored.
   */
  race<Value>(work: PromiseLike<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      this.#onAbort = reject;
      if (this.#isAborted) reject(this.#reason);
      work.then(resolve, reject);
    });
  }

  /** Cuts this node off: a later abort of its parents no longer reaches it. */
  dispose(): void {
    const siblings = this.#parent === undefined ? undefined : this.#parent.#children;
    siblings?.delete(this);
    this.#release?.();
    this.#onAbort = undefined;
  }
}
