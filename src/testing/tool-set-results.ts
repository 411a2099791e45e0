import {
  currentToolInvocation,
  defineTool,
  ToolCallExtensions,
  type ToolEvent,
  type ToolOutcome,
  ToolSet,
  toolResult,
} from "../index.ts";
import { same } from "./conformance.ts";
import { type Behaviour, type Bench, Cost, dynamic, mapOf, NAMES } from "./tool-set-bench.ts";

export type Check = (title: string, behave: Behaviour, run: (bench: Bench) => Promise<void>) => void;

/** What a way of calling tools may have no means to carry. */
export type Loss = "undefined" | "result extensions" | "progress";

const [ZETA] = NAMES;

export const outputOf = (outcome: ToolOutcome): unknown => {
  return outcome.status === "completed" ? outcome.output : `(${outcome.status})`;
};

/** What comes out of a call, and whose call it is meanwhile. */
export function results(check: Check, loses: readonly Loss[]): void {
  const carries = (what: Loss, behave: Behaviour, isCarried: (bench: Bench) => Promise<boolean>): void => {
    const isLost = loses.includes(what);
    check(isLost ? `loses ${what}, as it says` : `gives ${what} back`, behave, async (bench) => {
      same(await isCarried(bench), !isLost, `whether ${what} came back`);
    });
  };
  const nothing: Behaviour = () => undefined;
  carries("undefined", nothing, async ({ call }) => {
    const outcome = await call(ZETA);
    same(outcome.status, "completed", "the outcome");
    return outputOf(outcome) === undefined;
  });
  const costs: Behaviour = () => toolResult("x", new ToolCallExtensions().with(Cost, 7));
  carries("result extensions", costs, async ({ call }) => {
    const outcome = await call(ZETA);
    same(outputOf(outcome), "x", "the output");
    return outcome.status === "completed" && outcome.resultExtensions?.get(Cost) === 7;
  });
  const steps: Behaviour = async function* () {
    yield "one";
    yield "two";
    return "three";
  };
  carries("progress", steps, async ({ set }) => {
    const { outcome, told } = await heard(set);
    same(outputOf(outcome), "three", "the return value of a generator");
    return told.join() === "one,two";
  });
  const reads: Behaviour = async ({ invocation }) => {
    await null;
    return whose(invocation);
  };
  check("is the current invocation while it runs, and only then", reads, async ({ call }) => {
    const outcomes = await Promise.all(NAMES.map((name) => call(name)));
    const expected = await isReadable();
    for (const outcome of outcomes) same(outputOf(outcome), expected ? "its own" : "none", "the current invocation");
    same(currentToolInvocation(), undefined, "the current invocation after the calls");
  });
}

/** Says whose call is the current one. */
export function whose(invocation: unknown): string {
  const current = currentToolInvocation();
  if (current === undefined) return "none";
  return current === invocation ? "its own" : "another";
}

/** Not where the runtime has no AsyncLocalStorage. */
export async function isReadable(): Promise<boolean> {
  const probe = defineTool({ name: "probe", input: {}, call: () => currentToolInvocation() !== undefined });
  return outputOf(await new ToolSet([probe]).call("probe", {})) === true;
}

/** A call inside another one, with the progress that a listener outside is told of. */
async function heard(set: Bench["set"]): Promise<{ readonly outcome: ToolOutcome; readonly told: readonly unknown[] }> {
  const told: unknown[] = [];
  const outcomes: ToolOutcome[] = [];
  const outer = defineTool({
    name: "conformance_outer",
    input: {},
    callWithExtensions: async (_input, extensions) => {
      outcomes.push(await set.callWithExtensions(ZETA, {}, dynamic(extensions), {}));
    },
  });
  const listener = (event: ToolEvent): void => {
    if (event.type === "tool-progress" && event.invocation.toolName === ZETA) told.push(event.output);
  };
  const outcome = await new ToolSet([outer]).callWithExtensions(outer.name, {}, mapOf("t-7"), {
    sessionKey: "s",
    listener,
  });
  return { outcome: outcomes[0] ?? outcome, told };
}
