import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Agent, defineTool, extensionToken, ToolCallExtensions, ToolInvocationContext } from "tool-call-extensions";
import { scriptedModel } from "tool-call-extensions/testing";
import { z } from "zod";

// A command that asks before it does what cannot be undone. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not allowed by the
// user, 130 stopped by Ctrl-C, as shells have it.

const { values, positionals } = parseArgs({
  options: { root: { type: "string", default: "/srv/logs" } },
  allowPositionals: true,
});
const [prompt] = positionals;
if (prompt === undefined) {
  console.error('usage: main.ts [--root <folder>] "<what to do>"');
  process.exit(2);
}

const Root = extensionToken("root").of<string>();

const deleteLogs = defineTool({
  name: "delete_logs",
  description: "Deletes the logs that are older than some days",
  input: z.object({ days: z.number() }),
  requires: [Root],
  needsApproval: true,
  callWithExtensions: async ({ days }, extensions) => {
    const { signal } = extensions.require(ToolInvocationContext);
    console.error("deleting …");
    // Stands for the work: whatever takes long is handed the call's signal, and ends with it.
    await sleep(1_000, undefined, { signal });
    return `logs in ${extensions.require(Root)} older than ${days} days are deleted`;
  },
});

// A script instead of a model, so that this runs without a key.
const model = scriptedModel(({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool" ? last.text : { toolCalls: [{ toolName: "delete_logs", input: { days: 30 } }] };
});
const agent = new Agent({ name: "janitor", model, tools: [deleteLogs] });

const stop = new AbortController();
process.once("SIGINT", () => stop.abort(new Error("stopped by Ctrl-C")));

// Read as lines and not by a question at a time, so that answers can be piped in, and their end counts as no.
const terminal = createInterface({ input: process.stdin });
const lines = terminal[Symbol.asyncIterator]();
const stopped = new Promise<never>((_resolve, reject) => {
  stop.signal.addEventListener("abort", () => reject(stop.signal.reason));
});
// It is waited for only while a question is open; at other times the run itself rejects.
stopped.catch(() => {});

async function isAllowed(question: string): Promise<boolean> {
  process.stderr.write(`${question} [y/N] `);
  const { value } = await Promise.race([lines.next(), stopped]);
  return /^y/i.test(value ?? "");
}

const extensions = new ToolCallExtensions().with(Root, values.root);
try {
  let isRefused = false;
  let result = await agent.prompt(prompt).toolExtensions(extensions).signal(stop.signal).run();
  while (result.status === "paused") {
    let request = agent.resume(result.state).toolExtensions(extensions).signal(stop.signal);
    for (const call of result.pending) {
      const isYes = await isAllowed(`allow ${call.toolName} ${JSON.stringify(call.input)}?`);
      isRefused ||= !isYes;
      request = isYes ? request.approve(call) : request.reject(call, "The user said no.");
    }
    result = await request.run();
  }
  console.log(result.output);
  process.exitCode = isRefused ? 3 : 0;
} catch (error) {
  const reason = stop.signal.aborted ? stop.signal.reason : error;
  console.error(reason instanceof Error ? reason.message : reason);
  process.exitCode = stop.signal.aborted ? 130 : 1;
} finally {
  terminal.close();
}
