import { defineTool, ToolCallExtensions, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { expect, test } from "vitest";

type HostCall = NonNullable<NonNullable<Parameters<ToolSet["callWithExtensions"]>[3]>["host"]>;
const first: HostCall = { run: ["chat-7", "m-1"], turn: 1, earlierCallIds: [], repeat: 0, isApproved: false };

async function call(toolCallId: string | undefined, host: HostCall, map = new ToolCallExtensions()) {
  const tool = recordingTool({ name: "probe" });
  await new ToolSet([tool]).callWithExtensions("probe", {}, map, { toolCallId, host, sessionKey: "chat-7" });
  const invocation = tool.calls[0]?.invocation;
  if (invocation === undefined) throw new Error("the tool was not called");
  return invocation;
}

test("keeps an id that names one call of the conversation", async () => {
  const invocation = await call("call_abc", { ...first, turn: 3 });
  expect(invocation).toMatchObject({ toolCallId: "call_abc", providerToolCallId: "call_abc", turn: 3, index: 0 });
});

test.each([undefined, "", "probe", "probe:0", "call_0", "call_seen"])(
  "makes another for %o, the same on a replay",
  async (id) => {
    const host = { ...first, turn: 2, earlierCallIds: ["call_seen"] };
    const made = await call(id, host);
    expect(made.toolCallId).toMatch(/^[0-9A-Za-z]{9}$/);
    expect(made.providerToolCallId).toBe(id);
    const replayed = await call(id, host);
    expect([replayed.toolCallId, replayed.invocationKey]).toEqual([made.toolCallId, made.invocationKey]);
    const others = [await call(id, { ...host, turn: 3 }), await call(id, { ...host, run: ["chat-7", "m-2"] })];
    expect(new Set([made, ...others].map(({ toolCallId }) => toolCallId)).size).toBe(3);
  },
);

// Saved keys follow from these ids. The literals were computed once from the recipe, with node:crypto.
test.each([
  [undefined, "5E6qpRAY4"],
  ["probe:0", "PCcO7ph9P"],
])("what is made for %o is what every version made of it", async (id, made) => {
  const { toolCallId, runId } = await call(id, first);
  expect([toolCallId, runId]).toEqual([made, "run_6omd5lkg71h38mob80t59rd3hcupdd8u"]);
});

test("made ids of one turn differ by what the provider sent", async () => {
  const [one, two] = [await call("probe:0", first), await call("probe:1", first)];
  expect(one.toolCallId).not.toBe(two.toolCallId);
  expect(one.runId).toBe(two.runId);
});

test("a repeated id is one call's only, whether it is usable or not", async () => {
  const ids = [];
  for (const id of ["call_abc", "probe:0"]) {
    for (const repeat of [0, 1, 2]) ids.push((await call(id, { ...first, repeat })).toolCallId);
  }
  expect(ids[0]).toBe("call_abc");
  expect(new Set(ids).size).toBe(6);
});

test.each([
  null,
  "chat-7",
  { ...first, run: "chat-7" },
  { ...first, run: ["chat-7", 7] },
  { ...first, turn: 0 },
  { ...first, turn: 1.5 },
  { ...first, earlierCallIds: [7] },
  { ...first, earlierCallIds: undefined },
  { ...first, repeat: undefined },
  { ...first, repeat: -1 },
  { ...first, isApproved: 1 },
])("a place that is none is refused: %o", async (host) => {
  // What JavaScript may pass.
  await expect(call("call_abc", host as HostCall)).rejects.toThrow(
    "[invalid-argument] option host must be { run, turn, earlierCallIds, repeat, isApproved }; received ",
  );
});

test("a run inside a call is another than the same words outside, and the call is its parent", async () => {
  const outer = await call("call_outer", first);
  const inner = await call("call_inner", first, new ToolCallExtensions()["~bind"](ToolInvocationContext, outer));
  expect(inner.parent).toBe(outer);
  expect(inner.runId).not.toBe(outer.runId);
  const next = await call("call_next", first, new ToolCallExtensions()["~bind"](ToolInvocationContext, outer));
  expect([inner.index, next.index]).toEqual([0, 0]);
});

test.each([true, false])("a call that needs approval runs only where it is approved: %s", async (isApproved) => {
  const pay = defineTool({ name: "pay", input: { type: "object" }, needsApproval: true, call: () => "paid" });
  const outcome = await new ToolSet([pay]).call("pay", {}, { toolCallId: "call_abc", host: { ...first, isApproved } });
  expect(outcome).toMatchObject(isApproved ? { output: "paid" } : { error: { code: "approval-required" } });
});
