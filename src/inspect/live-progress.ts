import { invalidArgument, type RunEvent, type RunListener } from "../index.ts";
import { runText, statusText, totalsOf } from "./node-text.ts";
import { toDuration, toPlainText } from "./plain-text.ts";
import { EventReader } from "./read-events.ts";
import { fitTo } from "./terminal-width.ts";
import { type CallNode, durationOf, type NodeStatus, placedNodes, type RunNode, type TreeNode } from "./tree-node.ts";

/** Where progress is written: `process.stderr` and any stream of Node's fits. */
export interface ProgressStream {
  write(text: string): unknown;
  /** Lines are redrawn on a terminal only. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
}

/** The part of Node's `process` that is read, where there is one. */
interface HostProcess {
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly stderr?: ProgressStream | undefined;
}

const FRAME_MS = 80;
const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const MARKS: Readonly<Record<NodeStatus, readonly [mark: string, color: number]>> = {
  completed: ["✓", 32],
  failed: ["✗", 31],
  paused: ["‖", 33],
  open: ["▸", 36],
};
const MAX_INDENT = 10;

/**
 * Makes a listener that shows a run while it goes on: on a terminal a line with a spinner for each open call and question, and
 * one that stays for each end; elsewhere, and under `NO_COLOR` or `CI`, a plain line for each beginning and end. Writes to
 * `process.stderr` by default. Shows names, times and kinds of failure, nothing else.
 *
 * Hears the events of runs and of a `ToolSet`'s calls alike, of several at once too; never keeps the process alive.
 *
 * @throws ToolCallExtensionsError `invalid-argument` without a stream where there is no `process.stderr`.
 * @example
 * ```ts
 * import { Agent } from "tool-call-extensions";
 * import { liveProgress } from "tool-call-extensions/inspect";
 * import { scriptedModel } from "tool-call-extensions/testing";
 *
 * let written = "";
 * const stream = { write: (text: string) => (written += text) };
 * const agent = new Agent({ name: "greeter", model: scriptedModel(["Hello!"]) });
 * await agent.prompt("Hi").on(liveProgress(stream)).run();
 * if (!written.startsWith("▸ greeter\n")) throw new Error(written);
 * if (!/\n✓ greeter completed in .*\n$/.test(written)) throw new Error(written);
 * ```
 */
export function liveProgress(stream: ProgressStream | undefined = host().stderr): RunListener {
  if (typeof stream?.write !== "function") throw invalidArgument("the stream of liveProgress()", stream, "a stream");
  const { NO_COLOR, CI, TERM } = host().env ?? {};
  const isPlain = stream.isTTY !== true || isSet(NO_COLOR) || (isSet(CI) && CI !== "false") || TERM === "dumb";
  const progress = isPlain ? new PlainProgress(stream) : new DrawnProgress(stream);
  return (event) => progress.hear(event);
}

/** The cast is the boundary: the package is made for runtimes without `process`, too. */
function host(): HostProcess {
  return (globalThis as { readonly process?: HostProcess }).process ?? {};
}

function isSet(variable: string | undefined): boolean {
  return variable !== undefined && variable !== "";
}

/** Remembers the tree for as long as anything in it is open. */
class OpenTree {
  #reader = new EventReader();

  take(event: RunEvent): RunNode | CallNode {
    if (!this.isOpen) this.#reader = new EventReader();
    return this.#reader.take(event);
  }

  get isOpen(): boolean {
    return !this.#openNodes().next().done;
  }

  get nodes(): readonly TreeNode[] {
    return [...this.#openNodes()];
  }

  /** Of a call around an inner request that alone is listened to, no end would ever be heard. */
  *#openNodes(): Generator<TreeNode> {
    for (const { node } of placedNodes(this.#reader.roots, isOpen)) {
      if (node.kind !== "call" || !node.isInferred) yield node;
    }
  }
}

class PlainProgress {
  readonly #tree = new OpenTree();
  readonly #stream: ProgressStream;

  constructor(stream: ProgressStream) {
    this.#stream = stream;
  }

  hear(event: RunEvent): void {
    const node = this.#tree.take(event);
    const { type } = event;
    if (type === "turn-started") this.#stream.write(`${indentOf(node)}  ▸ turn ${event.turn}\n`);
    if (type === "run-started" || type === "tool-requested")
      this.#stream.write(`${indentOf(node)}▸ ${toPlainText(node.name)}\n`);
    if (type === "tool-retried")
      this.#stream.write(`${indentOf(node)}▸ ${toPlainText(node.name)}, attempt ${event.invocation.attempt}\n`);
    if (isEnd(event)) this.#stream.write(`${indentOf(node)}${MARKS[node.status][0]} ${endText(node)}\n`);
  }
}

class DrawnProgress {
  readonly #tree = new OpenTree();
  readonly #stream: ProgressStream;
  #timer: ReturnType<typeof setInterval> | undefined;
  /** Lines that stay, not yet written. */
  #ended: string[] = [];
  /** The lines below those, which the next frame takes back. */
  #drawn = 0;
  #frame = 0;

  constructor(stream: ProgressStream) {
    this.#stream = stream;
  }

  hear(event: RunEvent): void {
    const node = this.#tree.take(event);
    if (isEnd(event)) this.#ended.push(this.#line(node, MARKS[node.status], endText(node)));
    if (this.#tree.isOpen) this.#start();
    else {
      this.#stop();
      this.#draw();
    }
  }

  #start(): void {
    this.#timer ??= unref(setInterval(() => this.#tick(), FRAME_MS));
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    try {
      this.#draw();
    } catch {
      // A terminal that is gone is no reason to end the program, as an error thrown by a timer would.
      this.#stop();
    }
  }

  /** The cursor stays below what is drawn and is never hidden, so there is nothing to restore, however the program ends. */
  #draw(): void {
    const back = this.#drawn === 0 ? "" : `\u001b[${this.#drawn}A\r\u001b[0J`;
    const open = this.#openLines();
    const lines = [...this.#ended, ...open].map((line) => `${line}\n`).join("");
    this.#ended = [];
    this.#drawn = open.length;
    if (back + lines !== "") this.#stream.write(back + lines);
  }

  #openLines(): readonly string[] {
    const spinner = FRAMES[this.#frame++ % FRAMES.length] ?? "";
    // What has left the screen at its top could not be taken back.
    const room = Math.max(1, (this.#stream.rows || 24) - 2);
    const nodes = this.#tree.nodes;
    const shown = nodes.slice(0, room).map((node) => {
      const since = toDuration(Math.max(0, Date.now() - (node.spans.at(-1)?.start ?? Date.now())));
      return this.#line(node, [spinner, 36], `${openText(node)} ${since}`);
    });
    return nodes.length > room ? [...shown, `  and ${nodes.length - room} more`] : shown;
  }

  #line(node: TreeNode, [mark, color]: readonly [string, number], text: string): string {
    const room = (this.#stream.columns || 80) - 3;
    return `\u001b[${color}m${mark}\u001b[39m ${fitTo(room, indentOf(node) + text)}`;
  }
}

function unref(timer: ReturnType<typeof setInterval>): ReturnType<typeof setInterval> {
  // A number in browsers.
  if (typeof timer === "object") timer.unref?.();
  return timer;
}

function isOpen({ status }: TreeNode): boolean {
  return status === "open";
}

function isEnd({ type }: RunEvent): boolean {
  return type !== "turn-completed" && /-(completed|failed|paused)$/.test(type);
}

function indentOf({ depth }: TreeNode): string {
  return "  ".repeat(Math.min(depth, MAX_INDENT));
}

function openText(node: TreeNode): string {
  const name = toPlainText(node.name);
  if (node.kind === "model") return `${name}, model`;
  if (node.kind === "run") return name;
  const attempt = node.attempts > 1 ? `, attempt ${node.attempts}` : "";
  const step = node.progress > 0 ? `, step ${node.progress}` : "";
  return `${name}${attempt}${step}${attempt + step === "" ? "" : ","}`;
}

function endText(node: RunNode | CallNode): string {
  const end = node.spans.at(-1)?.end ?? 0;
  const name = `${toPlainText(node.name)} ${statusText(node)}`;
  if (node.kind === "run") return `${name} ${runText(node, totalsOf([node], end).get(node), end)}`;
  return `${name} in ${toDuration(durationOf(node, end))}${node.attempts > 1 ? `, attempt ${node.attempts}` : ""}`;
}
