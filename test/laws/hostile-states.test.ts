import fc from "fast-check";
import { Agent, defineTool, type RunState } from "tool-call-extensions";
import { fromLanguageModel } from "tool-call-extensions/ai-sdk";
import { scriptedModel } from "tool-call-extensions/testing";
import { expect, test } from "vitest";
import { writtenModel } from "../ai-sdk/written-model.ts";
import { anything, codeOf, Ends, guardPrototypes, json, replaced, tryAll } from "./hostile-values.ts";

guardPrototypes();

const calls = (...toolNames: readonly string[]) => ({
  toolCalls: toolNames.map((toolName) => ({ toolName, input: { prompt: "x" } })),
});
const entered: string[] = [];

/** An agent with a sub-agent; `model` answers for both. */
function support(model: ConstructorParameters<typeof Agent>[0]["model"]): Agent {
  const act = (name: string, rules: { readonly needsApproval?: boolean; readonly idempotent?: boolean }) =>
    defineTool({ name, input: { type: "object" }, ...rules, call: () => entered.push(name) });
  const [pays, loose] = [act("pays", { needsApproval: true }), act("loose", { idempotent: true })];
  const inner = new Agent({ name: "inner", model, tools: [pays, loose] });
  return new Agent({ name: "outer", model, tools: [pays, loose, inner.asTool({ name: "ask" })] });
}

/** Two turns: in the first, everything is done; in the second, calls wait, outside and inside the sub-agent. */
const script = () =>
  scriptedModel(({ messages }) => {
    const turn = messages.filter(({ role }) => role === "assistant").length;
    const isInner = messages[0]?.role === "user" && messages[0].text === "x";
    if (turn === 0) return { text: "Well.", ...calls("loose") };
    return turn > 1 ? "done" : isInner ? calls("pays", "loose") : calls("pays", "loose", "ask");
  });

async function savedStates(): Promise<{ readonly paused: RunState; readonly checkpointed: readonly RunState[] }> {
  const checkpointed: RunState[] = [];
  const copy = (state: RunState): RunState => JSON.parse(JSON.stringify(state));
  const request = support(script())
    .prompt("y")
    .session("s")
    .onCheckpoint((state) => void checkpointed.push(copy(state)));
  const result = await request.run();
  if (result.status !== "paused") throw new Error("did not pause");
  return { paused: copy(result.state), checkpointed };
}

/** What stands in a state, too, so that not every change is refused. */
const likely = fc.constantFrom<unknown>(
  "loose",
  "pays",
  "ask",
  "outer",
  "s",
  "new",
  "waiting",
  "started",
  "text",
  0,
  7,
  true,
  {},
  [],
);
const way = fc.oneof(
  { weight: 1, arbitrary: fc.array(fc.nat(9), { maxLength: 3 }) },
  { weight: 3, arbitrary: fc.array(fc.nat(9), { minLength: 4, maxLength: 8 }) },
);
const change = fc.tuple(way, fc.oneof(anything, likely, likely));
const changes = fc.array(change, { minLength: 1, maxLength: 2 });
type Changes = typeof changes extends fc.Arbitrary<infer Value> ? Value : never;

/** Resumes a changed state, with a decision or without, and gives its end. */
async function endOf(state: RunState, changed: Changes, isApproved: boolean, agent: Agent): Promise<string> {
  entered.length = 0;
  const broken = changed.reduce<unknown>((tree, [steps, value]) => replaced(tree, steps, value), state);
  const ends: string[] = [];
  try {
    const request = agent.resume(broken).on(({ type }) => void ends.push(type));
    const pending = state.calls.find(({ status }) => status === "waiting")?.toolCallId ?? "";
    return (await (isApproved ? request.approve(pending) : request).run()).status;
  } catch (error) {
    const code = codeOf(error);
    // Refused before anything of it ran.
    if (code === "invalid-state" || code === "unknown-call") expect([...ends, ...entered]).toEqual([]);
    else expect(ends.filter((type) => type === "run-failed")).not.toEqual([]);
    return code;
  }
}

const KNOWN = ["completed", "paused", "invalid-state", "unknown-call", "max-turns"];

test("a paused state with parts replaced: the run goes on, or is refused before anything of it ran", {
  timeout: 120_000,
}, async () => {
  const { paused } = await savedStates();
  expect(paused.calls.map(({ status, run }) => `${status} ${run?.calls.length ?? ""}`.trim())).toEqual([
    "waiting",
    "done",
    "started 2",
  ]);
  const ends = new Ends();
  await tryAll("paused states", fc.tuple(changes, fc.boolean()), async ([changed, isApproved]) => {
    ends.add(await endOf(paused, changed, isApproved, support(script())), KNOWN);
  });
  expect(ends.of("invalid-state")).toBeGreaterThan(1_000);
  expect(ends.of("completed") + ends.of("paused")).toBeGreaterThan(500);
});

test("a checkpointed state with parts replaced, under a model of the AI SDK: the same, or the turn fails", {
  timeout: 120_000,
}, async () => {
  const { checkpointed } = await savedStates();
  expect(new Set(checkpointed.flatMap((state) => state.calls.map(({ status }) => status)))).toEqual(
    new Set(["started", "waiting", "done"]),
  );
  const ends = new Ends();
  // What a provider said beside a part is carried in the state, and is read when the model is asked again.
  const carried = fc.record({
    aiSdk: fc.oneof(
      json,
      fc.record({ type: fc.constantFrom("reasoning", "file", "tool-result", "x"), text: json, data: json }),
    ),
  });
  const provider = fc.record({
    type: fc.constantFrom("provider", "text"),
    text: fc.string(),
    providerData: fc.oneof(json, carried),
  });
  const inputs = fc.tuple(fc.constantFrom(...checkpointed), changes, fc.option(provider), fc.boolean());
  await tryAll("checkpointed states", inputs, async ([state, changed, part, isApproved]) => {
    const told = part === null ? state.messages : [...state.messages, { role: "assistant", content: [part] }];
    const model = fromLanguageModel(
      writtenModel(Array.from({ length: 4 }, () => ({ content: [{ type: "text", text: "done" }] }))),
    );
    const broken = { ...state, messages: told } as RunState;
    ends.add(await endOf(broken, changed, isApproved, support(model)), [...KNOWN, "model-failed"]);
  });
  expect(ends.of("invalid-state")).toBeGreaterThan(1_000);
  expect(Math.min(ends.of("completed") + ends.of("paused"), ends.of("model-failed"))).toBeGreaterThan(20);
});

test("a state cut at every byte is no JSON, and so none to resume", async () => {
  const { paused } = await savedStates();
  const whole = JSON.stringify(paused);
  for (let length = 0; length < whole.length; length++) {
    expect(() => support(script()).resume(JSON.parse(whole.slice(0, length)))).toThrow(SyntaxError);
    // Read without being parsed, it is refused as what it is.
    expect(() => support(script()).resume(whole.slice(0, length))).toThrow(/the state must be an object/);
  }
});
