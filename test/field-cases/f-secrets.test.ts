import { Agent, extensionToken, type Message, ToolCallExtensions } from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const Session = extensionToken("session").of<string>();
const Tenant = extensionToken("tenant").of<string>();

describe("H16 HKUDS/nanobot #3670: per-turn context was saved as chat text, replayed and handed to sub-agents", () => {
  /** Three prompts, each continuing the last one's history; a tool and a sub-agent in each, the third structured. */
  async function converse(extensions: ToolCallExtensions<string>) {
    const probe = recordingTool({ name: "probe", result: () => "3 hits" });
    const probing = { toolCalls: [{ toolName: "probe", input: { n: 1 } }] };
    const innerModel = scriptedModel(({ messages }) => (messages.length === 1 ? probing : "inner done"));
    const ask = new Agent({ name: "inner", model: innerModel, tools: [probe] }).asTool({ name: "ask" });
    const outerModel = scriptedModel(({ messages, outputSchema }) => {
      const isFresh = messages.at(-1)?.role === "user";
      if (isFresh) return { text: "Let me see.", toolCalls: [{ toolName: "ask", input: { prompt: "look" } }] };
      return outputSchema === undefined ? "outer done" : '{"hits":3}';
    });
    const outer = new Agent({ name: "outer", instructions: "Be brief.", model: outerModel, tools: [ask] });
    let history: readonly Message[] = [];
    for (const prompt of ["one", "two"]) {
      history = (await outer.prompt(prompt).session("s").history(history).toolExtensions(extensions).run()).messages;
    }
    const structured = outer
      .prompt("three")
      .session("s")
      .history(history)
      .output(z.object({ hits: z.number() }));
    const result = await structured.toolExtensions(extensions).run();
    expect(probe.calls.map((call) => call.extensions.get(Tenant))).toEqual(Array(3).fill(extensions.get(Tenant)));
    return { requests: [...outerModel.requests, ...innerModel.requests], messages: result.messages };
  }

  const secret = new ToolCallExtensions<string>().with(Session, "canary-session").with(Tenant, "canary-tenant");

  it("keeps the values out of every model request and of the history", async () => {
    const { requests, messages } = await converse(secret);
    expect(requests).toHaveLength(12);
    expect(messages).toHaveLength(12);
    expect(JSON.stringify([requests, messages])).not.toContain("canary");
  });

  it("asks the models byte for byte the same with extensions and with none", async () => {
    const [withSecret, without] = await Promise.all([converse(secret), converse(new ToolCallExtensions<string>())]);
    expect(JSON.stringify(withSecret)).toBe(JSON.stringify(without));
  });
});
