import {
  currentToolInvocation,
  defineTool,
  type ExtensionToken,
  extensionToken,
  type Tool,
  ToolCallExtensions,
  ToolInvocationContext,
  type ToolOutcome,
  ToolSet,
  toolResult,
} from "../index.ts";
import { holds, same, type TestFunction, thrownBy, within } from "./conformance.ts";
import { type Behaviour, bench, type Check, INPUT, type MakeTool } from "./tool-bench.ts";
import { generators } from "./tool-generators.ts";
import { Session, USER } from "./tool-set-bench.ts";
import { isReadable, whose } from "./tool-set-results.ts";

const Cost: ExtensionToken<"conformance/cost", number> = extensionToken("conformance/cost").of<number>();

/** The kit's tools have their needs in the map of each case. */
function withoutNeeds(tool: Tool<never>): Tool<never, unknown, never> {
  return tool as Tool<never, unknown, never>;
}

/**
 * Proves of a kind of tool what every tool promises: a wrapper, an adapter of another framework's tools, a class of one's
 * own. `makeTool` makes one around the inner tool that it is given, and changes neither input nor output.
 *
 * @example
 * ```ts
 * import { wrapTool } from "tool-call-extensions";
 * import { toolConformance } from "tool-call-extensions/testing";
 *
 * const failures: unknown[] = [];
 * const cases: Promise<void>[] = [];
 * toolConformance({
 *   // `test` of vitest, node:test or jest; here one that runs at once.
 *   test: (title, run) => cases.push(run().catch((error) => void failures.push([title, error]))),
 *   makeTool: (inner) => wrapTool(inner, { callWithExtensions: (input, extensions, next) => next(input, extensions) }),
 * });
 * await Promise.all(cases);
 * if (cases.length < 10 || failures.length > 0) throw new Error(JSON.stringify(failures));
 * ```
 */
export function toolConformance({
  test,
  makeTool,
}: {
  readonly test: TestFunction;
  readonly makeTool: MakeTool;
}): void {
  const check: Check = (title, behave, run) => {
    test(title, () => within(bench(makeTool, behave).then(run), "the case did not end"));
  };
  arrival(check);
  results(check);
  generators(check);
  endings(check);
  test("keeps what the tool declares", async () => {
    const rules = { requires: [Session], needsApproval: true, idempotent: true, retries: 2 };
    const inner = defineTool({ name: "inner", input: {}, ...rules, callWithExtensions: () => "x" });
    const tool = await makeTool(withoutNeeds(inner));
    holds(tool.requires?.some((token) => token.id === Session.id) === true, "a token that the tool requires is gone");
    holds(tool.needsApproval !== undefined && tool.needsApproval !== false, "needsApproval is gone");
    same(tool.idempotent, true, "idempotent");
    same(typeof tool.retries === "object" ? tool.retries.max : tool.retries, rules.retries, "retries");
  });
}

function arrival(check: Check): void {
  check(
    "hands the extensions on, by identity, and never enters by call",
    () => "x",
    async ({ call, calls }) => {
      same((await call()).status, "completed", "the outcome");
      same(calls.length, 1, "how often the tool was entered");
      same(calls[0]?.extensions.get(Session), USER, "the value of a token");
    },
  );
  check(
    "hands the input on",
    () => "x",
    async ({ call, calls }) => {
      await call();
      same(JSON.stringify(calls[0]?.input), JSON.stringify(INPUT), "the input");
    },
  );
  check(
    "has the call's own invocation, which cannot be changed",
    ({ extensions }) => thrownBy(() => extensions.insert(Cost, 1)),
    async ({ call, calls }) => {
      const outcome = await call();
      const invocation = calls[0]?.invocation;
      same(invocation?.toolCallId, "toolu_conformance", "the call id");
      holds(invocation?.invocationKey?.startsWith("ik1_") === true, "the invocation has no key");
      holds(
        Object.isFrozen(invocation) && calls[0]?.extensions.isReadOnly === true,
        "the invocation or its map is writable",
      );
      holds(outcome.status === "completed" && Object(outcome.output).code === "read-only", "insert() did not throw");
    },
  );
  check(
    "is the current invocation while it runs, and only then",
    async ({ invocation }) => {
      await null;
      return whose(invocation);
    },
    async ({ call }) => {
      const outcome = await call();
      const expected = (await isReadable()) ? "its own" : "none";
      same(outcome.status === "completed" && outcome.output, expected, "the current invocation");
      same(currentToolInvocation(), undefined, "the current invocation after the call");
    },
  );
  check(
    "keeps parallel calls apart",
    async ({ extensions }) => {
      await null;
      return extensions.get(Session)?.user;
    },
    async ({ call }) => {
      const users = Array.from({ length: 20 }, (_, index) => ({ user: `u${index}` }));
      const outcomes = await Promise.all(
        users.map((user, index) => call({ user, toolCallId: `toolu_parallel${index}x` })),
      );
      for (const [index, outcome] of outcomes.entries()) {
        same(outcome.status === "completed" && outcome.output, users[index]?.user, `what call ${index} saw`);
      }
    },
  );
  check(
    "is the parent of the calls made inside it",
    async ({ extensions }) => {
      const nested = defineTool({
        name: "nested",
        input: {},
        callWithExtensions: (_input, inner) => inner.require(ToolInvocationContext).parent,
      });
      return new ToolSet([nested]).callWithExtensions("nested", {}, extensions);
    },
    async ({ call, calls }) => {
      const outcome = await call();
      const nested = outcome.status === "completed" ? (outcome.output as ToolOutcome) : outcome;
      same(nested.status === "completed" && nested.output, calls[0]?.invocation, "the parent of the nested call");
    },
  );
}

function results(check: Check): void {
  for (const [name, output] of Object.entries({
    undefined: undefined,
    null: null,
    "a string": "x",
    "an object": {},
    zero: 0,
  })) {
    check(
      `gives ${name} back as it is`,
      () => output,
      async ({ call }) => {
        const outcome = await call();
        same(outcome.status, "completed", "the outcome");
        same(outcome.status === "completed" && outcome.output, output, "the output");
      },
    );
  }
  check(
    "passes result extensions on",
    () => toolResult("x", new ToolCallExtensions().with(Cost, 7)),
    async ({ call }) => {
      const outcome = await call();
      same(outcome.status === "completed" && outcome.output, "x", "the output");
      same(outcome.status === "completed" && outcome.resultExtensions?.get(Cost), 7, "the result extension");
    },
  );
}

/** In which what a call left behind would show. */
const AFTERWARDS_MS = 25;

function endings(check: Check): void {
  check(
    "leaves nothing that runs on after the call",
    () => "x",
    async ({ call, calls, events }) => {
      await call();
      const told = events.length;
      await new Promise((resolve) => setTimeout(resolve, AFTERWARDS_MS));
      same(calls.length, 1, "how often the tool was entered");
      same(events.length, told, "the events of the call");
    },
  );
  const failure = new Error("conformance");
  for (const [name, behave] of Object.entries<Behaviour>({
    throws: () => {
      throw failure;
    },
    rejects: () => Promise.reject(failure),
    "throws in a generator": async function* () {
      yield "one";
      throw failure;
    },
  })) {
    check(`fails with the tool's own error when it ${name}`, behave, async ({ call, calls, isRetried }) => {
      const outcome = await call();
      same(outcome.status === "failed" && outcome.kind, "error", "the kind of failure");
      same(outcome.status === "failed" && outcome.error, failure, "the error");
      // A further attempt that nobody asked for is a side effect more.
      if (!isRetried) same(calls.length, 1, "how often the tool was entered");
      same(currentToolInvocation(), undefined, "the current invocation after the call");
    });
  }
  check(
    "hears of an abort, and ends by it also where it does not listen",
    () => new Promise(() => undefined),
    async ({ call, calls, entered, events }) => {
      const controller = new AbortController();
      const running = call({ signal: controller.signal });
      // A tool that is never entered ends by itself; one that is never left is what this case is about.
      await Promise.race([entered, running]);
      same(calls.length, 1, "how often the tool was entered");
      const { signal } = calls[0]?.invocation ?? {};
      const reason = new Error("stop");
      controller.abort(reason);
      const outcome = await running;
      same(signal?.aborted, true, "the signal of the invocation");
      same(outcome.status === "failed" && outcome.kind, "aborted", "the kind of failure");
      same(outcome.status === "failed" && outcome.error, reason, "the reason");
      same(
        events.filter(({ type }) => type === "tool-completed" || type === "tool-failed").length,
        1,
        "the ends of the call",
      );
      same(calls.length, 1, "how often the tool was entered after the abort");
    },
  );
}
