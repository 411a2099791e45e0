import { setTimeout as sleep } from "node:timers/promises";
import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolCallExtensionsError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { renderTree } from "tool-call-extensions/inspect";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { recordRun } from "../../docs/examples/run-view/example-run.ts";
import { call, completed, failed, requested, WrittenRun } from "./written-events.ts";

/** The tree without the lines of ids, keys and token ids. */
function headsOf(events: readonly RunEvent[]): readonly string[] {
  return renderTree(events)
    .split("\n")
    .filter((line) => !/^[│ ]* (id|key|sees) /.test(line));
}

const run = new WrittenRun();
const [first, second] = [call({ toolCallId: "a" }), call({ toolCallId: "b", index: 1 })];

describe("the tree", () => {
  it("has the runs, questions and calls, with the time of each", () => {
    const other = call({ toolCallId: "b", index: 1, batchSize: 2 });
    const events = [
      run.started(0),
      run.asked(0, 1),
      requested(100, call({ toolCallId: "a", batchSize: 2, invocationKey: "ik1_a" }), ["tenant", "auth-token"]),
      requested(100, other),
      failed(150, other, "invalid-input"),
      completed(1_400, call({ toolCallId: "a", batchSize: 2, attempt: 3 })),
      run.answered(1_400, 1),
      run.asked(1_400, 2),
      run.answered(62_000, 2),
      run.completed(62_000),
    ];
    expect(renderTree(events)).toBe(
      [
        "desk completed in 1 min 2 s · 2 turns · 2 calls, 1 failed · tokens 30 in, 12 out",
        "├─ turn 1, model 100 ms",
        "├─ lookup completed, attempt 3, in 1.30 s",
        "│    id a, parent none, desk turn 1, call 1 of 2",
        "│    key ik1_a",
        "│    sees tenant, auth-token",
        "├─ lookup failed (invalid-input) in 50 ms",
        "│    id b, parent none, desk turn 1, call 2 of 2",
        "│    key none",
        "└─ turn 2, model 1 min 1 s",
      ].join("\n"),
    );
  });

  it("puts a sub-agent's run into its call, and the calls that a tool makes into the tool's", () => {
    const inner = new WrittenRun("run_2", "librarian", first);
    const read = call({ toolCallId: "r", toolName: "read", runId: "run_2", agentName: "librarian", parent: first });
    const nested = call({ toolCallId: "n", toolName: "nested", runId: "run_2", agentName: "librarian", parent: read });
    const events = [
      run.started(0),
      requested(0, first),
      inner.started(0),
      requested(0, read),
      requested(1, nested),
      completed(2, nested),
      completed(3, read),
      inner.completed(4),
      completed(5, first),
      requested(5, second),
      completed(6, second),
      run.completed(7),
    ];
    expect(headsOf(events)).toEqual([
      "desk completed in 7 ms · 0 turns · 4 calls · tokens 30 in, 12 out",
      "├─ lookup completed in 5 ms",
      "│  └─ librarian completed in 4 ms · 0 turns · 2 calls · tokens 30 in, 12 out",
      "│     └─ read completed in 3 ms",
      "│        └─ nested completed in 1 ms",
      "└─ lookup completed in 1 ms",
    ]);
  });

  it("is in colour on request, and the same text", () => {
    const events = [run.started(0), requested(0, first), failed(1, first, "error"), run.completed(2)];
    const colored = renderTree(events, { color: true });
    expect(colored).toContain("\u001b[31mfailed (error)\u001b[39m");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is taken out.
    expect(colored.replaceAll(/\u001b\[\d+m/g, "")).toBe(renderTree(events));
    expect(renderTree(events)).not.toContain("\u001b");
  });

  it("is the same of events that were saved as JSON, but for keys", async () => {
    const events = await recordRun(1);
    const saved: readonly RunEvent[] = JSON.parse(JSON.stringify(events));
    const withoutKeys = (tree: string) => tree.replaceAll(/key ik1_\w+/g, "key none");
    expect(renderTree(events)).toMatch(/key ik1_\w+/);
    expect(renderTree(saved)).toBe(withoutKeys(renderTree(events)));
  });
});

describe("a run that is not whole", () => {
  it("without an event is empty", () => {
    expect(renderTree([])).toBe("");
  });

  it("that goes on is open up to the last event", () => {
    const events = [run.started(0), run.asked(0, 1), requested(10, first), requested(10, second), completed(30, first)];
    expect(headsOf(events)).toEqual([
      "desk open in 30 ms · 1 turn · 2 calls",
      "├─ turn 1, model 10 ms",
      "├─ lookup completed in 20 ms",
      "└─ lookup open in 20 ms",
    ]);
  });

  it("whose beginning is missing shows ends without requests, and the calls around a call that were not seen", () => {
    const [outer, middle] = [
      call({ toolCallId: "o", toolName: "outer" }),
      call({ toolCallId: "m", toolName: "middle" }),
    ];
    const inner = call({ toolCallId: "i", toolName: "inner", parent: { ...middle, parent: outer } });
    expect(headsOf([failed(5, inner, "error"), run.completed(9)])).toEqual([
      "├─ outer open in 4 ms",
      "│  └─ middle open in 4 ms",
      "│     └─ inner failed (error) in 0 ms",
      "desk completed in 0 ms · 0 turns · 0 calls · tokens 30 in, 12 out",
    ]);
  });

  it("that was paused shows what waits, and when it goes on, how long it waited", () => {
    const pay = call({ toolCallId: "p", toolName: "pay" });
    const before = [run.started(0), run.asked(0, 1), run.paused(10, ["p"])];
    expect(headsOf(before)).toEqual([
      "desk paused in 10 ms · 1 turn · 1 call · waits for approval of pay",
      "├─ turn 1, model 10 ms",
      "└─ pay waiting for approval",
    ]);
    const after = [
      run.started(3_600_010),
      requested(3_600_010, pay),
      completed(3_600_015, pay),
      run.completed(3_600_020),
    ];
    expect(headsOf([...before, ...after])).toEqual([
      "desk completed in 20 ms · paused for 1 h 0 min · 1 turn · 1 call · tokens 30 in, 12 out",
      "├─ turn 1, model 10 ms",
      "└─ pay completed in 5 ms",
    ]);
  });

  it("that crashed and was resumed has one line for the call that was open", () => {
    const events = [
      ...[run.started(0), requested(10, first)],
      ...[run.started(5_000), requested(5_001, first), completed(5_002, first), run.completed(5_003)],
    ];
    expect(headsOf(events)).toEqual([
      "desk completed in 13 ms · paused for 4.99 s · 0 turns · 1 call · tokens 30 in, 12 out",
      "└─ lookup completed in 1 ms",
    ]);
  });

  it("that failed says its code, or that it was aborted, and no message", () => {
    const error = new ToolCallExtensionsError("max-turns", "hidden", { maxTurns: 1, state: {} });
    const endOf = (reason: unknown) => headsOf([run.started(0), run.failed(1, reason)])[0]?.split(" in ")[0];
    expect(endOf(error)).toBe("desk failed (max-turns)");
    expect(endOf(new DOMException("hidden", "AbortError"))).toBe("desk failed (aborted)");
    expect(endOf(new Error("hidden"))).toBe("desk failed");
    expect(endOf(undefined)).toBe("desk failed");
  });

  it("of which the clock was set back has no negative time", () => {
    const events = [run.started(1_000), requested(1_000, first), completed(400, first), run.completed(300)];
    expect(headsOf(events)).toEqual([
      "desk completed in 0 ms · 0 turns · 1 call · tokens 30 in, 12 out",
      "└─ lookup completed in 0 ms",
    ]);
  });

  it("whose ids come again after it ended is a run of its own", () => {
    const once = [run.started(0), requested(0, first), completed(1, first), run.completed(2)];
    const heads = headsOf([...once, ...once]);
    expect(heads).toHaveLength(4);
    expect(heads.slice(2)).toEqual(heads.slice(0, 2));
  });

  it("that begins anew after a pause, under the same ids, is a run of its own, too", () => {
    const again = call({ toolCallId: "p", toolName: "look" });
    const events = [
      ...[run.started(0), run.asked(0, 1), run.paused(10, ["p"])],
      ...[run.started(20), run.asked(20, 1), requested(25, again), completed(30, again), run.completed(40)],
    ];
    expect(headsOf(events)).toEqual([
      "desk paused in 10 ms · 1 turn · 1 call · waits for approval of pay",
      "├─ turn 1, model 10 ms",
      "└─ pay waiting for approval",
      "desk completed in 20 ms · 1 turn · 1 call · tokens 30 in, 12 out",
      "├─ turn 1, model 5 ms",
      "└─ look completed in 5 ms",
    ]);
  });

  it("that asks a question again which was not answered goes on", () => {
    const error = new ToolCallExtensionsError("model-failed", "", { agentName: "desk", turn: 1, state: {} });
    const events = [run.started(0), run.asked(0, 1), run.failed(5, error), run.started(10), run.asked(10, 1)];
    expect(headsOf([...events, run.answered(12, 1), run.completed(12)])).toEqual([
      "desk completed in 7 ms · paused for 5 ms · 2 turns · 0 calls · tokens 30 in, 12 out",
      "├─ turn 1, model failed 5 ms",
      "└─ turn 1, model 2 ms",
    ]);
  });

  it("beside others keeps its own calls", () => {
    const other = new WrittenRun("run_2", "mail");
    const send = call({ toolCallId: "a", toolName: "send", runId: "run_2", agentName: "mail" });
    const events = [run.started(0), other.started(0), requested(1, send), requested(2, first), other.completed(3)];
    expect(headsOf(events).map((line) => line.split(" in ")[0])).toEqual([
      "desk open",
      "└─ lookup open",
      "mail completed",
      "└─ send open",
    ]);
  });
});

describe("what a run really tells", () => {
  it("when it is aborted: every call ends, and the run", async () => {
    const events: RunEvent[] = [];
    const controller = new AbortController();
    const slow = recordingTool({ name: "slow", result: () => sleep(10_000, undefined, { ref: false }) });
    const model = scriptedModel([{ toolCalls: [{ toolName: "slow", input: {} }] }]);
    const request = new Agent({ name: "desk", model, tools: [slow] }).prompt("x").signal(controller.signal);
    const running = request.on((event) => void events.push(event)).run();
    setTimeout(() => controller.abort(), 20);
    await expect(running).rejects.toThrow();
    const heads = headsOf(events);
    expect(heads[0]).toMatch(/^desk failed \(aborted\)/);
    expect(heads.at(-1)).toMatch(/^└─ slow failed \(aborted\)/);
  });

  it("when its stream is left: up to where it was read", async () => {
    const events: RunEvent[] = [];
    const model = scriptedModel([{ toolCalls: [{ toolName: "recording", input: {} }] }, "Done."]);
    const request = new Agent({ name: "desk", model, tools: [recordingTool()] }).prompt("x");
    for await (const event of request.stream()) {
      events.push(event);
      if (event.type === "tool-requested") break;
    }
    expect(headsOf(events).map((line) => line.split(/ in |, /)[0])).toEqual([
      "desk open",
      "├─ turn 1",
      "└─ recording open",
    ]);
  });

  it("of a ToolSet's call: nested calls and the calls of sub-agents, without their runs", async () => {
    const Tenant = extensionToken("tenant").of<string>();
    const leaf = recordingTool({ name: "leaf", requires: [Tenant] });
    const model = scriptedModel([{ toolCalls: [{ toolName: "leaf", input: {} }] }, "Done."]);
    const helper = new Agent({ name: "helper", model, tools: [leaf] }).asTool({ name: "ask_helper" });
    const inside = new ToolSet([leaf, helper]);
    const outer = defineTool({
      name: "outer",
      input: { type: "object" },
      requires: [Tenant],
      callWithExtensions: async (_input, extensions) => {
        await inside.callWithExtensions("leaf", {}, extensions);
        await inside.callWithExtensions("ask_helper", { prompt: "x" }, extensions);
        return extensions.require(ToolInvocationContext).toolCallId;
      },
    });
    const events: RunEvent[] = [];
    const extensions = new ToolCallExtensions().with(Tenant, "t-7");
    await new ToolSet([outer]).callWithExtensions("outer", {}, extensions, {
      listener: (event) => void events.push(event),
    });
    expect(headsOf(events).map((line) => line.split(" in ")[0])).toEqual([
      "└─ outer completed",
      "   ├─ leaf completed",
      "   └─ ask_helper completed",
      "      └─ leaf completed",
    ]);
  });

  it("of calls that are tried again: one line for the call, and one for what each attempt called", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const inside = new ToolSet([leaf]);
    const flaky = defineTool({
      name: "flaky",
      input: { type: "object" },
      retries: { max: 1, minDelayMs: 0 },
      callWithExtensions: async (_input, extensions) => {
        await inside.callWithExtensions("leaf", {}, extensions);
        if (extensions.require(ToolInvocationContext).attempt === 1) throw new Error("again");
        return "done";
      },
    });
    const events: RunEvent[] = [];
    await new ToolSet([flaky]).call("flaky", {}, { listener: (event) => void events.push(event) });
    expect(headsOf(events).map((line) => line.split(" in ")[0])).toEqual([
      "└─ flaky completed, attempt 2,",
      "   ├─ leaf completed",
      "   └─ leaf completed",
    ]);
  });
});
