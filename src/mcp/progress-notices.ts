import { outcomeText, type ToolEvent, type ToolInvocationContext } from "../index.ts";

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Knows the served call among those made inside it, and tells the client of what it yields, where that asked to be told. */
export class ProgressNotices {
  readonly #token: unknown;
  readonly #notify: (notification: object) => Promise<void>;
  readonly #sending = new Set<Promise<void>>();
  #call: ToolInvocationContext | undefined;
  #last = Number.NEGATIVE_INFINITY;

  constructor(token: unknown, notify: (notification: object) => Promise<void>) {
    this.#token = token;
    this.#notify = notify;
  }

  get call(): ToolInvocationContext | undefined {
    return this.#call;
  }

  hear(event: ToolEvent): void {
    const { toolCallId, parent } = event.invocation;
    this.#call ??= event.invocation;
    if (this.#token === undefined || event.type !== "tool-progress") return;
    if (toolCallId === this.#call.toolCallId && parent === this.#call.parent)
      this.#send(this.#toProgress(event.output));
  }

  /** A result that overtook its progress would end it for the client. A client that went away is not waited for. */
  async sent(signal: AbortSignal): Promise<void> {
    if (this.#sending.size === 0 || signal.aborted) return;
    const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await Promise.race([Promise.all(this.#sending), aborted]);
  }

  #send(progress: Progress): void {
    const params = { progressToken: this.#token, ...progress };
    // A notice that cannot be sent is no failure of the call.
    const sending = this.#notify({ method: "notifications/progress", params }).catch(() => undefined);
    this.#sending.add(sending);
    sending.then(() => this.#sending.delete(sending));
  }

  /** What is yielded in the protocol's own form is passed on; all else is counted, with its text as the message. */
  #toProgress(output: unknown): Progress {
    const own = ownForm(output);
    // The protocol wants a number that grows, also where a tool says the same one again.
    const next = own === undefined ? Math.max(this.#last, 0) + 1 : Math.max(own.progress, increased(this.#last));
    this.#last = next;
    return own === undefined
      ? { progress: next, message: outcomeText({ status: "completed", output }, "") }
      : { ...own, progress: next };
  }
}

function increased(value: number): number {
  return Number.isFinite(value) ? value + Math.max(Math.abs(value), 1) * 1e-9 : value;
}

function ownForm(output: unknown): Progress | undefined {
  try {
    const { progress, total, message } = Object(output) as Readonly<Record<string, unknown>>;
    if (!isNumber(progress)) return undefined;
    return { progress, ...(isNumber(total) && { total }), ...(typeof message === "string" && { message }) };
  } catch {
    // A getter of the tool's own threw; what else it yielded is told as text.
    return undefined;
  }
}

function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
