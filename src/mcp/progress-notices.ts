import { outcomeText, type ToolEvent, type ToolInvocationContext } from "../index.ts";

interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Tells the client of what the served tool yields, where it asked to be told. */
export class ProgressNotices {
  readonly #token: unknown;
  readonly #notify: (notification: object) => Promise<void>;
  readonly #sending: Promise<void>[] = [];
  #served: ToolInvocationContext | undefined;
  /** Below what the protocol begins with, which a tool may tell as well. */
  #last = -1;

  constructor(token: unknown, notify: (notification: object) => Promise<void>) {
    this.#token = token;
    this.#notify = notify;
  }

  get isAsked(): boolean {
    return this.#token !== undefined;
  }

  hear(event: ToolEvent): void {
    if (!this.isAsked) return;
    const { toolCallId, parent } = event.invocation;
    this.#served ??= event.invocation;
    const isServed = toolCallId === this.#served.toolCallId && parent === this.#served.parent;
    if (event.type === "tool-progress" && isServed) this.#send(this.#toProgress(event.output));
  }

  /** A result that overtook its progress would end it for the client. */
  async sent(): Promise<void> {
    await Promise.all(this.#sending);
  }

  /** A client that went away hears nothing; that is no failure of the call. */
  #send(progress: Progress): void {
    const params = { progressToken: this.#token, ...progress };
    this.#sending.push(this.#notify({ method: "notifications/progress", params }).catch(() => undefined));
  }

  /** The protocol wants a number that grows; what is yielded in its own form is passed on, all else is counted. */
  #toProgress(output: unknown): Progress {
    const { progress, total, message } = Object(output) as Readonly<Record<string, unknown>>;
    const isProtocols = typeof progress === "number" && progress > this.#last;
    this.#last = isProtocols ? progress : Math.max(this.#last, 0) + 1;
    const text = isProtocols ? message : outcomeText({ status: "completed", output }, "");
    return {
      progress: this.#last,
      ...(isProtocols && typeof total === "number" && { total }),
      ...(typeof text === "string" && { message: text }),
    };
  }
}
