import {
  Agent,
  defineTool,
  extensionToken,
  type RunEvent,
  ToolCallExtensions,
  ToolInvocationContext,
  ToolSet,
} from "tool-call-extensions";
import { recordingTool, scriptedModel } from "tool-call-extensions/testing";
import { describe, expect, it, vi } from "vitest";

const Tenant = extensionToken("tenant").of<string>();

describe("a call from inside a tool with that tool's extensions", () => {
  it("has the running call as its parent", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    await new ToolSet([outer]).call("outer", {});
    expect(leaf.calls[0]?.invocation.parent).toBe(outer.calls[0]?.invocation);
  });

  it("sees the caller's values, and its own invocation in place of the parent's", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = defineTool({
      name: "outer",
      input: {},
      requires: [Tenant],
      callWithExtensions: (_input, extensions) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    await new ToolSet([outer]).callWithExtensions("outer", {}, new ToolCallExtensions().with(Tenant, "t-7"));
    expect(leaf.calls[0]?.extensions.get(Tenant)).toBe("t-7");
    expect(leaf.calls[0]?.extensions.require(ToolInvocationContext)).toBe(leaf.calls[0]?.invocation);
    expect(leaf.calls[0]?.invocation.toolName).toBe("leaf");
    expect(leaf.calls[0]?.extensions.toJSON()).toEqual(["tenant", "tool-invocation"]);
  });

  it("leaves the outer call its own invocation", async () => {
    const leaves = new ToolSet([recordingTool({ name: "leaf" })]);
    const outer = defineTool({
      name: "outer",
      input: {},
      callWithExtensions: async (_input, extensions) => {
        await leaves.callWithExtensions("leaf", {}, extensions);
        return extensions.require(ToolInvocationContext).toolName;
      },
    });
    expect(await new ToolSet([outer]).call("outer", {})).toEqual({ status: "completed", output: "outer" });
  });

  it("has an id and an index of its own for each call made at once", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => Promise.all([1, 2, 3].map(() => leaves.callWithExtensions("leaf", {}, extensions))),
    });
    await new ToolSet([outer]).call("outer", {}, { toolCallId: "call_a" });
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.toolCallId)).size).toBe(3);
    expect(leaf.calls.map(({ invocation }) => invocation.index)).toEqual([0, 1, 2]);
  });

  it("counts on over the tool sets that are called", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        await new ToolSet([leaf]).callWithExtensions("leaf", {}, extensions);
        await new ToolSet([leaf]).callWithExtensions("leaf", {}, extensions);
      },
    });
    await new ToolSet([outer]).call("outer", {});
    expect(new Set(leaf.calls.map(({ invocation }) => invocation.toolCallId)).size).toBe(2);
  });

  it("shares its count with the loops of other frameworks, so that no two have one number", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const numbers: unknown[] = [];
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        numbers.push(leaves["~numberRun"](extensions), leaves["~numberRun"](extensions));
        await leaves.callWithExtensions("leaf", {}, extensions);
        numbers.push(leaf.calls[0]?.invocation.index, leaves["~numberRun"](extensions));
      },
    });
    await new ToolSet([outer]).call("outer", {});
    expect(numbers).toEqual([0, 1, 2, 3]);
    expect(leaves["~numberRun"](new ToolCallExtensions())).toBeUndefined();
  });

  it("takes the id it is given", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions, { toolCallId: "call_b" }),
    });
    await new ToolSet([outer]).call("outer", {});
    expect(leaf.calls[0]?.invocation).toMatchObject({ toolCallId: "call_b", providerToolCallId: "call_b" });
  });

  it("has the run, the agent and the turn of its parent", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    const toolCalls = [{ toolName: "outer", input: {} }];
    const model = scriptedModel([{ toolCalls }, { toolCalls }, "Done."]);
    const { runId } = await new Agent({ name: "support", model, tools: [outer] }).prompt("Go.").run();
    expect(leaf.calls.map(({ invocation }) => invocation.turn)).toEqual([1, 2]);
    expect(leaf.calls[1]?.invocation).toMatchObject({ runId, agentName: "support", index: 0 });
  });

  it("nests to any depth", async () => {
    const names: (string | undefined)[] = [];
    const ids: string[] = [];
    const tools: ToolSet = new ToolSet([
      recordingTool({
        name: "down",
        result: async ({ input, extensions, invocation }) => {
          const { depth } = input as { readonly depth: number };
          names.push(invocation.parent?.toolCallId);
          ids.push(invocation.toolCallId);
          if (depth > 1) await tools.callWithExtensions("down", { depth: depth - 1 }, extensions);
        },
      }),
    ]);
    await tools.call("down", { depth: 4 }, { toolCallId: "call_a" });
    expect(names).toEqual([undefined, ...ids.slice(0, 3)]);
    expect(new Set(ids).size).toBe(4);
  });

  it("is a nested call also with a map made from that tool's", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        await leaves.callWithExtensions("leaf", {}, extensions.with(Tenant, "t-8"));
        await leaves.callWithExtensions("leaf", {}, extensions.clone());
      },
    });
    await new ToolSet([outer]).call("outer", {});
    expect(leaf.calls.map(({ invocation }) => invocation.parent?.toolName)).toEqual(["outer", "outer"]);
    expect(leaf.calls[0]?.extensions.get(Tenant)).toBe("t-8");
  });

  it("gives its failure to the outer tool as an outcome", async () => {
    const leaves = new ToolSet([]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    expect(await new ToolSet([outer]).call("outer", {})).toMatchObject({
      status: "completed",
      output: { status: "failed", kind: "unknown-tool" },
    });
  });

  it("tells the listeners of the run", async () => {
    const leaves = new ToolSet([recordingTool({ name: "leaf" })]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    const model = scriptedModel([{ toolCalls: [{ toolName: "outer", input: {} }] }, "Done."]);
    const events: RunEvent[] = [];
    const agent = new Agent({ name: "support", model, tools: [outer] });
    await agent
      .prompt("Go.")
      .on((event) => events.push(event))
      .run();
    expect(
      events.flatMap((event) => ("invocation" in event ? `${event.type} ${event.invocation.toolName}` : [])),
    ).toEqual(["tool-requested outer", "tool-requested leaf", "tool-completed leaf", "tool-completed outer"]);
  });
});

describe("a call from inside a tool without its extensions", () => {
  it("is a call outside any run", async () => {
    const leaf = recordingTool({ name: "leaf" });
    const leaves = new ToolSet([leaf]);
    const outer = recordingTool({ name: "outer", result: () => leaves.call("leaf", {}) });
    await new ToolSet([outer]).call("outer", {});
    expect(leaf.calls[0]?.invocation.parent).toBeUndefined();
    expect(leaf.calls[0]?.invocation.runId).not.toBe(outer.calls[0]?.invocation.runId);
  });
});

// Field case H23 for nested calls: openai/openai-agents-js #709, two loaded copies of one package, 2025-11-30.
describe("a call from inside a tool to a tool set of another copy of the package", () => {
  it("is a nested call", async () => {
    vi.resetModules();
    const copy = await import("tool-call-extensions");
    expect(copy.ToolSet).not.toBe(ToolSet);
    const leaves = new copy.ToolSet([
      copy.defineTool({
        name: "leaf",
        input: {},
        callWithExtensions: (_input, extensions) => extensions.require(copy.ToolInvocationContext).parent?.toolName,
      }),
    ]);
    const outer = recordingTool({
      name: "outer",
      result: ({ extensions }) => leaves.callWithExtensions("leaf", {}, extensions),
    });
    expect(await new ToolSet([outer]).call("outer", {})).toEqual({
      status: "completed",
      output: { status: "completed", output: "outer" },
    });
  });

  it("is aborted with the outer call", async () => {
    vi.resetModules();
    const copy = await import("tool-call-extensions");
    const controller = new AbortController();
    const leaves = new copy.ToolSet([
      copy.defineTool({
        name: "leaf",
        input: {},
        call: () => {
          controller.abort("enough");
          return new Promise(() => {});
        },
      }),
    ]);
    let inner: unknown;
    const outer = recordingTool({
      name: "outer",
      result: async ({ extensions }) => {
        inner = await leaves.callWithExtensions("leaf", {}, extensions);
      },
    });
    await new ToolSet([outer]).call("outer", {}, { signal: controller.signal });
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(inner).toEqual({ status: "failed", kind: "aborted", error: "enough" });
  });
});
