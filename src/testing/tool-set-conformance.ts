import { defineTool, outcomeText, ToolError, type ToolEvent, ToolInvocationContext, ToolSet } from "../index.ts";
import { holds, same, type TestFunction, within } from "./conformance.ts";
import {
  type Behaviour,
  bench,
  descriptionOf,
  dynamic,
  type MakeToolSet,
  mapOf,
  NAMES,
  SCHEMA,
  Session,
  Tenant,
  USER,
} from "./tool-set-bench.ts";
import { type Check, type Loss, outputOf, results } from "./tool-set-results.ts";

const [ZETA, , ALPHA] = NAMES;

/** Says who was called with what, and for whom. */
const answer: Behaviour = ({ input, extensions, invocation }) => {
  return [invocation.toolName, Object(input).text, extensions.get(Tenant)].join();
};

/**
 * Proves of what dispatches calls by name what a `ToolSet` promises: a class around one, a registry or router of one's own, a
 * host's loop, a server and its client. `makeToolSet` makes one of tools and middleware, as the constructor of `ToolSet`
 * does. With `isRemote` its calls cross a wire: then `forward` has to reach the tools and nothing else may, and keys take
 * the place of parents. What it has no means to carry it `loses`, and the kit proves that too.
 *
 * @example
 * ```ts
 * import { ToolSet } from "tool-call-extensions";
 * import { toolSetConformance } from "tool-call-extensions/testing";
 *
 * const failures: unknown[] = [];
 * const cases: Promise<void>[] = [];
 * toolSetConformance({
 *   // `test` of vitest, node:test or jest; here one that runs at once.
 *   test: (title, run) => cases.push(run().catch((error) => void failures.push([title, error]))),
 *   makeToolSet: (tools, { middleware }) => {
 *     const set = new ToolSet(tools, { middleware });
 *     return {
 *       definitions: set.definitions,
 *       callWithExtensions: (name, input, extensions, options) => set.callWithExtensions(name, input, extensions, options),
 *     };
 *   },
 * });
 * await Promise.all(cases);
 * if (cases.length < 10 || failures.length > 0) throw new Error(String(failures));
 * ```
 */
export function toolSetConformance({
  test,
  makeToolSet,
  isRemote = false,
  loses = [],
}: {
  readonly test: TestFunction;
  readonly makeToolSet: MakeToolSet;
  readonly isRemote?: boolean | undefined;
  readonly loses?: readonly Loss[] | undefined;
}): void {
  const check: Check = (title, behave, run) => {
    test(title, () => within(bench(makeToolSet, behave).then(run), "the case did not end"));
  };
  lookup(check);
  arrival(check, isRemote);
  identity(check, isRemote);
  results(check, loses);
  endings(check);
}

function lookup(check: Check): void {
  check("describes its tools by their own names, in their order", answer, async ({ set }) => {
    same(set.definitions.map(({ name }) => name).join(), NAMES.join(), "the names");
  });
  check("describes what each tool does and takes", answer, async ({ set }) => {
    for (const { name, description, inputSchema } of set.definitions) {
      same(description, descriptionOf(name), `the description of "${name}"`);
      for (const [key, value] of Object.entries(SCHEMA))
        same(JSON.stringify(inputSchema[key]), JSON.stringify(value), `"${key}" of the input schema of "${name}"`);
    }
    same(set.definitions.length, NAMES.length, "how many tools are described");
  });
  check("reaches each tool by its own name, with its own input", answer, async ({ call, seen }) => {
    for (const name of NAMES) same(outputOf(await call(name)), `${name},for ${name},t-7`, `what "${name}" gave`);
    same(seen.length, NAMES.length, "how often a tool was entered");
  });
  check("says of an unknown tool which there are, and enters none", answer, async ({ call, seen }) => {
    for (const name of ["conformance_unknown", "constructor", "toString"]) {
      const outcome = await call(name);
      same(outcome.status, "failed", `the outcome of "${name}"`);
      const text = outcomeText(outcome, name);
      for (const known of NAMES)
        holds(text.includes(known), `a model that asks for "${name}" is not told of "${known}"`);
    }
    same(seen.length, 0, "how often a tool was entered");
  });
  check("sends each call through each middleware once, the first outermost", answer, async ({ call, wrapped }) => {
    for (const name of NAMES) await call(name);
    same(wrapped.join(), NAMES.flatMap((name) => [`outer ${name}`, `inner ${name}`]).join(), "the middleware");
  });
}

function arrival(check: Check, isRemote: boolean): void {
  const title = isRemote ? "forwards what it is told, and nothing else" : "hands the extensions on, by identity";
  check(title, answer, async ({ call, seen }) => {
    same((await call(ZETA)).status, "completed", "the outcome");
    same(seen[0]?.extensions.get(Tenant), "t-7", "the value of a token that is forwarded");
    same(seen[0]?.extensions.get(Session), isRemote ? undefined : USER, "the value of a token that is not");
    same(seen[0]?.extensions.isReadOnly, true, "whether the map is read-only");
  });
  const late: Behaviour = async (call, set) => {
    await null;
    return answer(call, set);
  };
  check("keeps parallel calls apart", late, async ({ call }) => {
    const calls = Array.from({ length: 21 }, (_, index) => ({ name: NAMES[index % 3] ?? ZETA, tenant: `t-${index}` }));
    const outcomes = await Promise.all(calls.map(({ name, tenant }) => call(name, { tenant })));
    for (const [index, { name, tenant }] of calls.entries()) {
      const outcome = outcomes[index];
      same(outcome && outputOf(outcome), `${name},for ${name},${tenant}`, `what call ${index} saw`);
    }
  });
  check("neither changes the caller's map nor sees a later change of it", late, async ({ set, seen }) => {
    const extensions = mapOf("t-7");
    const running = set.callWithExtensions(ZETA, {}, extensions, { sessionKey: "s" });
    extensions.insert(Tenant, "t-8");
    await running;
    same(seen[0]?.extensions.get(Tenant), "t-7", "the value that the call began with");
    same(
      extensions
        .tokens()
        .map(({ id }) => id)
        .join(),
      [Session.id, Tenant.id].join(),
      "what is in the caller's map",
    );
    same(extensions.get(Tenant), "t-8", "the caller's own change");
  });
}

function identity(check: Check, isRemote: boolean): void {
  check("gives each call an invocation of its own, with its id and a key", answer, async ({ call, seen }) => {
    for (const name of NAMES) await call(name, { toolCallId: `toolu_named${name}` });
    const calls = seen.map(({ invocation: { toolCallId, toolName } }) => `${toolName} ${toolCallId}`);
    same(calls.join(), NAMES.map((name) => `${name} toolu_named${name}`).join(), "the calls");
    const keys = new Set(seen.map(({ invocation }) => invocation.invocationKey));
    holds(keys.size === NAMES.length && !keys.has(undefined), "not every call has a key of its own");
  });
  check("keeps the calls of two sessions apart, of one id and one input too", answer, async ({ call, seen }) => {
    const toolCallId = "toolu_repeated1x";
    for (const sessionKey of ["one", "other"]) await call(ZETA, { toolCallId, sessionKey });
    same(seen.length, 2, "how often the tool was entered");
    const keys = new Set(seen.map(({ invocation }) => invocation.invocationKey));
    same(keys.size, 2, "how many keys the two calls have");
  });
  check("makes an id for each call that has none", answer, async ({ call, seen }) => {
    for (let n = 1; n <= 10; n++) await call(ZETA, { toolCallId: "", sessionKey: `s${n}` });
    const ids = new Set(seen.map(({ invocation }) => invocation.toolCallId));
    holds(ids.size === 10 && !ids.has(""), `10 calls have ${ids.size} ids`);
  });
  const id = "toolu_nested1x";
  const nests: Behaviour = async ({ input, extensions, invocation }, set) => {
    if (invocation.toolName === ALPHA) return "nested";
    const plain = defineTool({
      name: ALPHA,
      input: {},
      callWithExtensions: (_input, inner) => inner.require(ToolInvocationContext).invocationKey,
    });
    await set.callWithExtensions(ALPHA, input, extensions, { toolCallId: id });
    return outputOf(await new ToolSet([plain]).callWithExtensions(ALPHA, input, extensions, { toolCallId: id }));
  };
  check("is, with its calls, the parent of those made inside them", nests, async ({ call, seen }) => {
    const outcome = await call(ZETA);
    const [outer, nested] = [seen[0]?.invocation, seen[1]?.invocation];
    same(nested?.toolName, ALPHA, "the nested call");
    // Between two processes the key alone tells whose child a call is.
    if (isRemote) same(nested?.invocationKey, outputOf(outcome), "the key of the nested call");
    else
      holds(
        ancestors(nested).some((each) => each === outer),
        "the outer call is no parent of the nested one",
      );
  });
}

/** A host may have calls of its own in between. */
function ancestors(invocation: ToolInvocationContext | undefined): readonly ToolInvocationContext[] {
  return invocation?.parent === undefined ? [] : [invocation.parent, ...ancestors(invocation.parent)];
}

function endings(check: Check): void {
  const failure = new Error("conformance secret");
  const breaks: Behaviour = (call, set) => {
    if (call.invocation.toolName === ZETA) throw failure;
    if (call.invocation.toolName === ALPHA) throw new ToolError("conformance refusal");
    return answer(call, set);
  };
  check("makes a failure an outcome that tells the model what it may know", breaks, async ({ call }) => {
    const [hidden, refused] = [await call(ZETA), await call(ALPHA)];
    same(`${hidden.status} ${refused.status}`, "failed failed", "the outcomes");
    holds(!outcomeText(hidden, ZETA).includes(failure.message), "the model is told the text of an error");
    holds(outcomeText(refused, ALPHA).includes("conformance refusal"), "the model is not told of a ToolError");
    same((await call(NAMES[1])).status, "completed", "the outcome of the next call");
  });
  check("tells one end of each call to who listens outside", breaks, async ({ set }) => {
    const events: ToolEvent[] = [];
    const outer = defineTool({
      name: "conformance_outer",
      input: {},
      callWithExtensions: (_input, extensions) =>
        Promise.all(NAMES.map((name) => set.callWithExtensions(name, {}, dynamic(extensions), {}))),
    });
    const listener = (event: ToolEvent): number => events.push(event);
    await new ToolSet([outer]).callWithExtensions(outer.name, {}, mapOf("t-7"), { sessionKey: "s", listener });
    for (const name of NAMES) {
      const told = events.filter(({ invocation }) => invocation.toolName === name).map(({ type }) => type);
      const end = name === NAMES[1] ? "tool-completed" : "tool-failed";
      same(told.join(), `tool-requested,${end}`, `the events of "${name}"`);
    }
  });
  const waits: Behaviour = () => new Promise(() => undefined);
  check("ends by an abort, and tells the tool of it", waits, async ({ call, seen, entered }) => {
    const controller = new AbortController();
    const running = call(ZETA, { signal: controller.signal });
    await Promise.race([entered, running]);
    const reason = new Error("stop");
    controller.abort(reason);
    const outcome = await within(running, "the call did not end by its abort");
    same(outcome.status === "failed" && outcome.kind, "aborted", "the kind of failure");
    same(outcome.status === "failed" && outcome.error, reason, "the reason");
    same(seen.length, 1, "how often the tool was entered");
    const aborted = new Promise<void>((resolve) => {
      const { signal } = seen[0]?.invocation ?? {};
      if (signal?.aborted) resolve();
      else signal?.addEventListener("abort", () => resolve());
    });
    await within(aborted, "the signal of the invocation did not abort");
  });
}
