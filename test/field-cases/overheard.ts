import { format } from "node:util";
import type { Hunt } from "./leak-hunt.ts";

const BEAT = "the hunt listens";
const METHODS = ["debug", "error", "info", "log", "trace", "warn"] as const;
const STREAMS = ["stderr", "stdout"] as const;

/** Searches what is said to the console, to the process's streams and as a warning while the work is done, and lets none of it through. */
export async function overhear(hunt: Hunt, work: () => Promise<void>): Promise<void> {
  const undo: (() => void)[] = [];
  const swap = (owner: object, key: string, heard: (...parts: readonly unknown[]) => unknown): void => {
    const kept: unknown = Reflect.get(owner, key);
    Reflect.set(owner, key, heard);
    undo.push(() => Reflect.set(owner, key, kept));
  };
  for (const method of METHODS) swap(console, method, (...parts) => hear(hunt, "console", parts));
  for (const stream of STREAMS) swap(process[stream], "write", (part) => hear(hunt, stream, [part]));
  // The listener that Node has of its own writes each warning past the streams.
  const kept = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", (warning) => hunt.look("warnings", warning));
  undo.push(() => {
    process.removeAllListeners("warning");
    for (const listener of kept) process.on("warning", listener);
  });
  try {
    beat();
    await work();
    // A warning is told of in a later tick.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    for (const restore of undo) restore();
  }
}

/** Something is to be heard on each of these channels; where one is deaf, nothing was searched in it. */
function beat(): void {
  console.warn(BEAT);
  for (const stream of STREAMS) process[stream].write(BEAT);
  process.emitWarning(BEAT);
}

function hear(hunt: Hunt, channel: string, parts: readonly unknown[]): boolean {
  hunt.note(
    channel,
    format(...parts.map((part) => (part instanceof Uint8Array ? Buffer.from(part).toString() : part))),
  );
  for (const part of parts) if (typeof part === "object") hunt.look(channel, part);
  return true;
}

/** The channels that are overheard. */
export const OVERHEARD: readonly string[] = ["console", ...STREAMS, "warnings"];
