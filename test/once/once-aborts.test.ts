import { ToolSet } from "tool-call-extensions";
import { memoryOnceStore, type OnceStore, once } from "tool-call-extensions/once";
import { recordingTool } from "tool-call-extensions/testing";
import { describe, expect, it } from "vitest";

const sameCall = { sessionKey: "chat-7", toolCallId: "call_1" };
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function setOf(result: () => unknown, store: OnceStore = memoryOnceStore()) {
  const tool = recordingTool({ name: "charge", result });
  return { tool, tools: new ToolSet([tool], { middleware: [once({ store })] }) };
}

describe("once, when a call is aborted", () => {
  it("ends its wait with the call's abort", async () => {
    const { tools } = setOf(() => sleep(300));
    const first = tools.call("charge", {}, sameCall);
    const controller = new AbortController();
    const waiting = tools.call("charge", {}, { ...sameCall, signal: controller.signal });
    await sleep(20);
    controller.abort(new Error("enough"));
    expect(await waiting).toEqual({ status: "failed", kind: "aborted", error: new Error("enough") });
    expect((await first).status).toBe("completed");
  });

  it("asks the store no more after an abort", async () => {
    const inner = memoryOnceStore();
    let claims = 0;
    const claim: OnceStore["claim"] = (request) => {
      claims++;
      return inner.claim(request);
    };
    const store = { ...inner, claim };
    const { tools } = setOf(() => sleep(200), store);
    const first = tools.call("charge", {}, sameCall);
    const controller = new AbortController();
    const waiting = tools.call("charge", {}, { ...sameCall, signal: controller.signal });
    await sleep(20);
    controller.abort();
    await waiting;
    const asked = claims;
    await first;
    expect(claims).toBe(asked);
  });

  it("keeps the outcome of a tool that went on after its call was aborted", async () => {
    const { tool, tools } = setOf(async () => {
      await sleep(40);
      return "done after all";
    });
    const controller = new AbortController();
    const aborted = tools.call("charge", {}, { ...sameCall, signal: controller.signal });
    await sleep(10);
    controller.abort();
    expect((await aborted).status).toBe("failed");
    expect(await tools.call("charge", {}, sameCall)).toEqual({ status: "completed", output: "done after all" });
    expect(tool.calls).toHaveLength(1);
  });

  it("releases the key of a call that was aborted before its tool was entered", async () => {
    const inner = memoryOnceStore();
    const controller = new AbortController();
    const claim: OnceStore["claim"] = (request) => {
      controller.abort();
      return inner.claim(request);
    };
    const store = { ...inner, claim };
    const { tool, tools } = setOf(() => "done", store);
    await tools.call("charge", {}, { ...sameCall, signal: controller.signal });
    expect(tool.calls).toHaveLength(0);
    expect((await tools.call("charge", {}, sameCall)).status).toBe("completed");
  });
});
