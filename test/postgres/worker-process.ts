import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { WorkOrder, WorkReport } from "./claim-worker.ts";

type Started = Extract<WorkReport, { readonly type: "started" }>;
type Ended = Extract<WorkReport, { readonly type: "ended" }>;

/** One process that runs `claim-worker.ts`, and what it has said so far. */
export class WorkerProcess {
  /** Since the last order. */
  readonly started: Started[] = [];
  readonly ended: Ended[] = [];
  readonly isReady: Promise<WorkReport>;
  readonly #process: ChildProcess;
  readonly #listeners = new Set<(line: WorkReport | "exit") => void>();
  #log = "";

  constructor(url: string) {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const file = fileURLToPath(new URL("./claim-worker.ts", import.meta.url));
    this.#process = spawn(process.execPath, ["--import", "tsx", file], {
      cwd: root,
      env: { ...process.env, ONCE_POSTGRES_URL: url, NODE_OPTIONS: "" },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#process.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text;
    });
    if (this.#process.stdout) createInterface({ input: this.#process.stdout }).on("line", (line) => this.#hear(line));
    this.#process.once("close", () => this.#tell("exit"));
    this.isReady = this.next((line) => line.type === "ready");
    // Whoever needs the process waits for it; when it is ended before, nobody does.
    this.isReady.catch(() => {});
  }

  /** Gives work, and waits until it is done. */
  async work(order: WorkOrder): Promise<void> {
    this.give(order);
    await this.next((line) => line.type === "done");
  }

  give(order: WorkOrder): void {
    this.started.length = 0;
    this.ended.length = 0;
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  /** Waits for a line; rejects with what the process complained of when it ends without one. */
  next(isAwaited: (line: WorkReport) => boolean): Promise<WorkReport> {
    return new Promise((resolve, reject) => {
      const listener = (line: WorkReport | "exit"): void => {
        if (line !== "exit" && !isAwaited(line)) return;
        this.#listeners.delete(listener);
        if (line === "exit") reject(new Error(`the worker ended: ${this.#log}`));
        else resolve(line);
      };
      this.#listeners.add(listener);
    });
  }

  signal(signal: "SIGKILL" | "SIGSTOP" | "SIGCONT"): void {
    this.#process.kill(signal);
  }

  /** Ends the process, if it has not ended, and waits until all it said has been heard. */
  async end(): Promise<void> {
    const closed = new Promise((resolve) => this.#process.once("close", resolve));
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.signal("SIGKILL");
    await closed;
  }

  #hear(text: string): void {
    // A kill may cut the last line short.
    if (!text.endsWith("}")) return;
    // The worker's own line.
    const line = JSON.parse(text) as WorkReport;
    if (line.type === "started") this.started.push(line);
    if (line.type === "ended") this.ended.push(line);
    this.#tell(line);
  }

  #tell(line: WorkReport | "exit"): void {
    for (const listener of this.#listeners) listener(line);
  }
}
