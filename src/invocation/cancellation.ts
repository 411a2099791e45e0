/**
 * Carries an abort down a tree of runs, calls and nested calls.
 *
 * An `AbortSignal` shared by all of them would collect one listener a call: Node warns at the eleventh, and one that is
 * never removed lives as long as the caller's signal. So each node has a signal of its own, made on first read, and all
 * nodes that follow one signal from outside share one listener.
 */
export class Cancellation {
  #parent: Cancellation | undefined;
  /** Made with the first child: most calls make none, and a set is half of what a node allocates. */
  #children: Set<Cancellation> | undefined;
  #controller: AbortController | undefined;
  #onAbort: ((reason: unknown) => void) | undefined;
  #followed: AbortSignal | undefined;
  #isAborted = false;
  #reason: unknown;

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

  /** Made by the parent, because the parent may be of another copy of the package. */
  child(): Cancellation {
    const child = new Cancellation();
    this.#adopt(child);
    if (this.#isAborted) child.abort(this.#reason);
    return child;
  }

  /** Follows a signal from outside until `dispose`. */
  follow(signal: AbortSignal | undefined): this {
    if (signal === undefined) return this;
    if (signal.aborted) {
      this.abort(signal.reason);
      return this;
    }
    this.#followed = signal;
    relayOf(signal).add(this);
    return this;
  }

  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    // Children first, so that the calls have ended when whoever waits for this node hears of it.
    this.abortChildren(() => reason);
    this.#controller?.abort(reason);
    if (this.#onAbort !== undefined) later(this.#onAbort, reason);
  }

  /** Aborts what is still open below this node, and not the node itself. An error that nobody needs is not made. */
  abortChildren(makeReason: () => unknown): void {
    if (this.#children === undefined || this.#children.size === 0) return;
    const reason = makeReason();
    for (const child of this.#children) child.abort(reason);
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  /**
   * Waits for the work, or rejects with the abort's reason as soon as it comes: work that ignores its signal cannot hold
   * the run up, and what it still does afterwards is ignored.
   */
  race<Value>(work: Value | PromiseLike<Value>): Promise<Value> {
    return this.raceTo(work, { done: (value) => value, failed: rethrow });
  }

  /**
   * Races in the same way, and resolves with what is made of the first to come, or rejects where that throws. For what
   * every call does: an async function that awaits {@link race} costs a promise and two turns of the queue more.
   */
  raceTo<Value, Result>(work: Value | PromiseLike<Value>, end: RaceEnd<Value, Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (makeResult: () => Result): void => {
        if (isOver) return;
        isOver = true;
        try {
          resolve(this.#isAborted ? end.failed(this.#reason) : makeResult());
        } catch (error) {
          reject(error);
        }
      };
      const fail = (error: unknown): void => settle(() => end.failed(error));
      this.#onAbort = fail;
      if (this.#isAborted) later(fail, this.#reason);
      Promise.resolve(work).then((value) => settle(() => end.done(value)), fail);
    });
  }

  /** Takes this node out of the tree. What is still open below it, such as a call nobody waited for, moves up. */
  dispose(): void {
    for (const child of this.#children ?? []) {
      child.#parent = undefined;
      if (this.#parent !== undefined) this.#parent.#adopt(child);
    }
    this.#children = undefined;
    if (this.#parent !== undefined) this.#parent.#children?.delete(this);
    if (this.#followed !== undefined) relays.get(this.#followed)?.remove(this);
    this.#onAbort = undefined;
  }

  #adopt(child: Cancellation): void {
    child.#parent = this;
    this.#children ??= new Set();
    this.#children.add(child);
  }
}

interface RaceEnd<Value, Result> {
  readonly done: (value: Value) => Result;
  readonly failed: (error: unknown) => Result;
}

/** So that whoever aborts does not find the end of a race, and all who hear of it, inside `abort()`. */
function later(onAbort: (reason: unknown) => void, reason: unknown): void {
  Promise.resolve().then(() => onAbort(reason));
}

function rethrow(error: unknown): never {
  throw error;
}

const relays = new WeakMap<AbortSignal, SignalRelay>();

function relayOf(signal: AbortSignal): SignalRelay {
  const relay = relays.get(signal) ?? new SignalRelay(signal);
  relays.set(signal, relay);
  return relay;
}

/** Is the one listener on a signal from outside, there while somebody follows it. */
class SignalRelay {
  readonly #signal: AbortSignal;
  readonly #followers = new Set<Cancellation>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(follower: Cancellation): void {
    if (this.#followers.size === 0) this.#signal.addEventListener("abort", this, { once: true });
    this.#followers.add(follower);
  }

  remove(follower: Cancellation): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.#signal.removeEventListener("abort", this);
  }

  handleEvent(): void {
    for (const follower of this.#followers) follower.abort(this.#signal.reason);
  }
}
