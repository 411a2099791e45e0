import { runInNewContext } from "node:vm";
import {
  Agent,
  currentToolInvocation,
  defineTool,
  extensionToken,
  outcomeText,
  type RunEvent,
  ToolCallExtensions,
  ToolError,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { type RecordedCall, recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

// "Code mode": the model is given one tool that runs code, and the code calls the capabilities.

const Tenant = extensionToken("tenant").of<string>();

const SCRIPT = `
  const orders = await find_orders({ customer: "c-1" });
  const refunds = await Promise.all(orders.map((id) => refund({ id }).catch((error) => error.message)));
  return await notify({ text: refunds.join(", ") });
`;

/** An agent whose model runs the scripts in one turn; `refund` refuses the second order. */
function coder(...scripts: readonly string[]) {
  const seen: { readonly current: ToolInvocationContext | undefined; readonly call: RecordedCall }[] = [];
  const capability = (name: string, result: (input: Record<string, string>) => unknown) =>
    recordingTool({
      name,
      requires: [Tenant],
      result: async (call) => {
        await null;
        seen.push({ current: currentToolInvocation(), call });
        return result(call.input as Record<string, string>);
      },
    });
  const capabilities = new ToolSet([
    capability("find_orders", () => ["o-1", "o-2"]),
    capability("refund", ({ id }) => {
      if (id === "o-2") throw new ToolError("o-2 was refunded before");
      return `${id} refunded`;
    }),
    capability("notify", ({ text }) => `sent: ${text}`),
  ]);
  const inScript: (string | undefined)[] = [];
  const runCode = defineTool({
    name: "run_code",
    input: z.object({ script: z.string() }),
    requires: [Tenant],
    callWithExtensions: async ({ script }, extensions): Promise<unknown> => {
      const functions = capabilities.definitions.map(({ name }) => {
        const call = async (input: unknown) => {
          inScript.push(currentToolInvocation()?.toolName);
          const outcome = await capabilities.callWithExtensions(name, input, extensions);
          inScript.push(currentToolInvocation()?.toolName);
          if (outcome.status === "completed") return outcome.output;
          throw new Error(outcomeText(outcome, name));
        };
        return [name, call];
      });
      return runInNewContext(`(async () => {${script}})()`, Object.fromEntries(functions));
    },
  });
  const toolCalls = scripts.map((script) => ({ toolName: "run_code", input: { script } }));
  const model = scriptedModel(({ messages }) => (messages.length === 1 ? { toolCalls } : "Done."));
  const request = new Agent({ name: "coder", model, tools: [runCode] })
    .prompt("Refund the orders of c-1.")
    .session("chat-7")
    .toolExtensions(new ToolCallExtensions().with(Tenant, "t-7"));
  return { seen, inScript, model, request };
}

/** Rebuilds the tree from the ends of the calls and their parents alone. */
function treeOf(events: readonly RunEvent[]): object[] {
  const ends = events.filter((event) => event.type === "tool-completed" || event.type === "tool-failed");
  const childrenOf = (parent: ToolInvocationContext | undefined): object[] =>
    ends
      .filter(({ invocation }) => invocation.parent === parent)
      .sort((a, b) => a.invocation.index - b.invocation.index)
      .map(({ type, invocation }) => ({ [invocation.toolName]: type, inside: childrenOf(invocation) }));
  return childrenOf(undefined);
}

const REFUNDS = [
  { find_orders: "tool-completed", inside: [] },
  { refund: "tool-completed", inside: [] },
  { refund: "tool-failed", inside: [] },
  { notify: "tool-completed", inside: [] },
];

describe("a tool that runs a script over three capabilities, one of which fails", () => {
  it("completes with what the script made of the failure, and the run goes on", async () => {
    const { request } = coder(SCRIPT);
    const { messages, output } = await request.run();
    expect(messages[2]).toMatchObject({
      toolName: "run_code",
      text: "sent: o-1 refunded, o-2 was refunded before",
      isError: false,
    });
    expect(output).toBe("Done.");
  });

  it("fails as a tool does where the script does not catch", async () => {
    const { request } = coder('return await refund({ id: "o-2" });');
    const events: RunEvent[] = [];
    const { messages } = await request.on((event) => events.push(event)).run();
    expect(messages[2]).toMatchObject({ toolName: "run_code", isError: true });
    expect(treeOf(events)).toEqual([{ run_code: "tool-failed", inside: [{ refund: "tool-failed", inside: [] }] }]);
  });

  it("leaves events from whose parents alone the tree is rebuilt, failures in their places", async () => {
    const { request } = coder(SCRIPT);
    const events: RunEvent[] = [];
    await request.on((event) => events.push(event)).run();
    expect(treeOf(events)).toEqual([{ run_code: "tool-completed", inside: REFUNDS }]);
  });

  it("leaves one tree for each script where two run at once", async () => {
    const { request } = coder(SCRIPT, SCRIPT);
    const events: RunEvent[] = [];
    for await (const event of request.stream()) events.push(event);
    const tree = { run_code: "tool-completed", inside: REFUNDS };
    expect(treeOf(events)).toEqual([tree, tree]);
  });

  it("requests each call after its parent, and ends it before its parent ends", async () => {
    const { request } = coder(SCRIPT);
    const events: RunEvent[] = [];
    await request.on((event) => events.push(event)).run();
    const order = events.flatMap((event) =>
      "invocation" in event ? [`${event.type} ${event.invocation.toolName} ${event.invocation.index}`] : [],
    );
    expect(order[0]).toBe("tool-requested run_code 0");
    expect(order.at(-1)).toBe("tool-completed run_code 0");
    expect(order).toHaveLength(10);
    expect(order.indexOf("tool-failed refund 2")).toBeLessThan(order.indexOf("tool-requested notify 3"));
  });

  it("shows each capability the caller's value and its own invocation, and the script the tool's", async () => {
    const { inScript, request, seen } = coder(SCRIPT);
    await request.run();
    expect(seen).toHaveLength(4);
    for (const { call, current } of seen) {
      expect(call.extensions.get(Tenant)).toBe("t-7");
      expect(current).toBe(call.invocation);
      expect(call.extensions.require(ToolInvocationContext).parent?.toolName).toBe("run_code");
    }
    expect(inScript).toEqual(Array(8).fill("run_code"));
  });

  it("shows the model the one tool and its text, no capability and no value", async () => {
    const { model, request } = coder(SCRIPT);
    await request.run();
    expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([["run_code"], ["run_code"]]);
    expect(JSON.stringify(model.requests)).not.toContain("t-7");
  });

  it("gives each capability's call a key of its own, the same when the session runs the script again", async () => {
    const keysOf = async () => {
      const { request, seen } = coder(SCRIPT, SCRIPT);
      await request.run();
      const calls = seen.map(({ call }) => call.invocation);
      return new Map(calls.map((call) => [`${call.parent?.index} ${call.toolName} ${call.index}`, call.invocationKey]));
    };
    const keys = await keysOf();
    expect(keys.size).toBe(8);
    expect(new Set(keys.values()).size).toBe(8);
    expect(await keysOf()).toEqual(keys);
  });
});
