import { Agent, defineTool, Runner, type RunState } from "tool-call-extensions";
import { memoryOnceStore, once } from "tool-call-extensions/once";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** One turn of calls of `charge`, each with its own input, and then an answer. */
const charging = (...cents: readonly number[]) =>
  scriptedModel([{ toolCalls: cents.map((each) => ({ toolName: "charge", input: { cents: each } })) }, "Done."]);

describe("once in a run", () => {
  it("runs each call of a run once, over the run's repetition", async () => {
    const runner = new Runner({ middleware: [once({ store: memoryOnceStore() })] });
    const charge = recordingTool({ name: "charge", result: ({ input }) => ({ charged: input }) });
    const repeat = async (): Promise<unknown> => {
      const agent = new Agent({ name: "shop", model: charging(1, 2, 3), tools: [charge] });
      return (await runner.run(agent.prompt("Charge").session("chat-7", { turnId: "m-1" }))).messages;
    };
    const first = await repeat();
    expect(await repeat()).toEqual(first);
    expect(charge.calls).toHaveLength(3);
  });

  it("runs once what several runs of one turn call at the same time", async () => {
    const store = memoryOnceStore();
    const charge = recordingTool({ name: "charge", result: () => sleep(20) });
    const runs = Array.from({ length: 4 }, async () => {
      const agent = new Agent({ name: "shop", model: charging(1), tools: [charge] });
      await new Runner({ middleware: [once({ store })] }).run(agent.prompt("Charge").session("chat-7"));
    });
    await Promise.all(runs);
    expect(charge.calls).toHaveLength(1);
  });

  it("gives a run that goes on after a crash the outcome that was stored before it", async () => {
    const runner = new Runner({ middleware: [once({ store: memoryOnceStore() })] });
    const charge = { ...recordingTool({ name: "charge", result: () => "receipt 1" }), idempotent: true };
    const states: string[] = [];
    const agent = new Agent({ name: "shop", model: charging(1), tools: [charge] });
    const save = (state: RunState) => void states.push(JSON.stringify(state));
    await runner.run(agent.prompt("Charge").session("chat-7").onCheckpoint(save));
    const beforeResult = states.find((state) => state.includes('"started"') && !state.includes("receipt 1"));
    const later = new Agent({ name: "shop", model: scriptedModel(["Done."]), tools: [charge] });
    const resumed = await runner.run(later.resume(JSON.parse(beforeResult ?? "")));
    expect(JSON.stringify(resumed.messages)).toContain("receipt 1");
    expect(charge.calls).toHaveLength(1);
  });

  it("does not keep a sub-agent's call that is paused, and keeps it when it is done", async () => {
    const store = memoryOnceStore();
    const outcomes: string[] = [];
    const runner = new Runner({
      middleware: [
        async (call, next) => {
          const outcome = await next(call);
          outcomes.push(`${call.tool.name} ${outcome.status}`);
          return outcome;
        },
        once({ store }),
      ],
    });
    const charge = defineTool({ name: "charge", input: { type: "object" }, needsApproval: true, call: () => "paid" });
    const inner = new Agent({ name: "cashier", model: charging(1), tools: [charge] });
    const model = scriptedModel([{ toolCalls: [{ toolName: "cashier", input: { prompt: "Charge" } }] }, "Done."]);
    const agent = new Agent({ name: "shop", model, tools: [inner.asTool({ name: "cashier" })] });
    const paused = await runner.run(agent.prompt("Charge").session("chat-7"));
    if (paused.status !== "paused") throw new Error("did not pause");
    const [call] = paused.pending;
    if (call === undefined) throw new Error("nothing to approve");
    const done = await runner.run(agent.resume(JSON.parse(JSON.stringify(paused.state))).approve(call));
    expect(done.status).toBe("completed");
    expect(outcomes).toEqual(["cashier paused", "charge completed", "cashier completed"]);
  });
});
