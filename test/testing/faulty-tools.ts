import { AsyncLocalStorage } from "node:async_hooks";
import { ToolCallExtensions, ToolInvocationContext } from "tool-call-extensions";
import { recordingTool } from "tool-call-extensions/testing";
import { type AnyTool, enter, type MakeTool } from "./kinds.ts";

type Extensions = ToolCallExtensions<"tool-invocation">;
type Change = (inner: AnyTool, input: unknown, extensions: Extensions) => unknown;

/** A tool that enters the inner one in a way of its own. */
const entering =
  (change: Change): MakeTool =>
  (inner) => ({
    ...inner,
    callWithExtensions: (input: unknown, extensions: Extensions) => change(inner, input, extensions),
  });

/** A tool that gives something else back. */
const giving = (change: (result: unknown) => unknown): MakeTool =>
  entering(async (inner, input, extensions) => change(await enter(inner, input, extensions)));

type Steps = AsyncGenerator<unknown, unknown>;

/** A tool that gives another generator for the inner one's. */
const stepping = (change: (items: Steps, signal: AbortSignal) => unknown): MakeTool =>
  entering(async (inner, input, extensions) => {
    const result = await enter(inner, input, extensions);
    const { signal } = extensions.require(ToolInvocationContext);
    return Symbol.asyncIterator in Object(result) ? change(result as Steps, signal) : result;
  });

/** Takes each step by hand, and asks whether the inner generator is to be closed where its own consumer leaves. */
async function* byHand(items: Steps, isClosing: () => boolean): Steps {
  for (;;) {
    const step = await items.next();
    if (step.done) return step.value;
    let isLeft = true;
    try {
      yield step.value;
      isLeft = false;
    } finally {
      if (isLeft && isClosing()) await items.return(undefined);
    }
  }
}

async function* readingAhead(items: Steps): Steps {
  let step = await items.next();
  while (!step.done) {
    const next = items.next();
    yield step.value;
    step = await next;
  }
  return step.value;
}

/** Gives them all after the last one. */
async function* collecting(items: Steps): Steps {
  const collected: unknown[] = [];
  let step = await items.next();
  for (; !step.done; step = await items.next()) collected.push(step.value);
  yield* collected;
  return step.value;
}

async function drained(items: Steps): Promise<unknown> {
  for (;;) {
    const step = await items.next();
    if (step.done) return step.value;
  }
}

const outside = AsyncLocalStorage.snapshot();

/** Takes each step where nothing is called. */
const steppedElsewhere = (items: Steps): object => ({
  [Symbol.asyncIterator]: () => ({
    next: () => outside(() => items.next()),
    return: () => outside(() => items.return(undefined)),
  }),
});

const copied = (extensions: Extensions, copy: (value: unknown) => unknown): ToolCallExtensions<string> => {
  const map = new ToolCallExtensions<string>();
  map.extend(extensions);
  for (const token of extensions.tokens())
    if (token.id.startsWith("conformance/")) map.insert(token as never, copy(extensions.get(token as never)) as never);
  return map;
};

/** A map whose `get` finds no invocation, by which a call inside finds its parent. */
const parentless = (extensions: Extensions): Extensions =>
  new Proxy(extensions, {
    get: (map, key) => {
      const value: unknown = Reflect.get(map, key);
      if (typeof value !== "function") return value;
      return (...args: readonly unknown[]) =>
        key === "get" && args[0] === ToolInvocationContext ? undefined : Reflect.apply(value, map, args);
    },
  });

const RESULTS: readonly (readonly [name: string, isMeant: (result: unknown) => boolean, other: unknown])[] = [
  ["undefined", (result) => result === undefined, "none"],
  ["null", (result) => result === null, undefined],
  ["a string", (result) => result === "x", { text: "x" }],
  ["an object", (result) => JSON.stringify(result) === "{}" && !(Symbol.asyncIterator in Object(result)), {}],
  ["zero", (result) => result === 0, undefined],
];

const isFilled = (result: unknown): boolean => "extensions" in Object(result) && "output" in Object(result);

const wrapped = (cause: unknown): never => {
  throw new Error("wrapped", { cause });
};

const OWN_ERROR = "fails with the tool's own error when it";
const DECLARES = "keeps what the tool declares";
const INPUT = "hands the input on";
const NEXT_STEP = "takes a generator's next step only when the last one has been told";

type Fault = readonly [fault: string, title: string, makeTool: MakeTool];

/** Each fails one case of the kit, and no other. */
export const FAULTS: readonly Fault[] = [
  [
    "one that copies values",
    "hands the extensions on, by identity, and never enters by call",
    entering((inner, input, extensions) => enter(inner, input, copied(extensions, structuredClone).snapshot())),
  ],
  ["one that drops the input", INPUT, entering((inner, _input, extensions) => enter(inner, {}, extensions))],
  [
    "one that adds to the input",
    INPUT,
    entering((inner, input, extensions) => enter(inner, { ...Object(input), more: 1 }, extensions)),
  ],
  [
    "one that hands on a map of its own, which can be changed",
    "has the call's own invocation, which cannot be changed",
    entering((inner, input, extensions) =>
      enter(
        inner,
        input,
        copied(extensions, (value) => value),
      ),
    ),
  ],
  [
    "one that enters the tool outside of the call",
    "is the current invocation while it runs, and only then",
    entering((inner, input, extensions) => outside(() => enter(inner, input, extensions))),
  ],
  [
    "one that remembers a map",
    "keeps parallel calls apart",
    (inner) => {
      let first: Extensions | undefined;
      return entering((tool, input, extensions) => {
        first ??= extensions;
        return enter(tool, input, first);
      })(inner);
    },
  ],
  [
    "one that hides the call from those made inside it",
    "is the parent of the calls made inside it",
    entering((inner, input, extensions) => enter(inner, input, parentless(extensions))),
  ],
  ...RESULTS.map(
    ([name, isMeant, other]): Fault => [
      `one that makes another value of ${name}`,
      `gives ${name} back as it is`,
      giving((result) => (isMeant(result) ? other : result)),
    ],
  ),
  [
    "one that unwraps results",
    "passes result extensions on",
    giving((result) => (isFilled(result) ? Object(result).output : result)),
  ],
  [
    "one that forgets what a generator returns",
    "tells a generator's progress and gives its return value",
    stepping(async function* (items) {
      for await (const item of items) yield item;
    }),
  ],
  ["one that gives a generator's steps together", NEXT_STEP, stepping(collecting)],
  [
    "one that takes a generator's steps outside of the call",
    "is the current invocation in each step of a generator",
    stepping(steppedElsewhere),
  ],
  [
    "one that closes a generator only by the signal",
    "closes a generator that its consumer leaves",
    stepping((items, signal) => byHand(items, () => signal.aborted)),
  ],
  [
    "one that leaves an aborted generator to its signal",
    "closes a generator whose call is aborted at a step",
    stepping((items, signal) => byHand(items, () => !signal.aborted)),
  ],
  [
    "one that enters the tool once more after the call",
    "leaves nothing that runs on after the call",
    entering(async (inner, input, extensions) => {
      const result = await enter(inner, input, extensions);
      setTimeout(() => void Promise.resolve(enter(inner, input, extensions)).catch(() => undefined), 5);
      return result;
    }),
  ],
  [
    "one that wraps what is thrown at once",
    `${OWN_ERROR} throws`,
    entering((inner, input, extensions) => {
      try {
        return enter(inner, input, extensions);
      } catch (error) {
        return wrapped(error);
      }
    }),
  ],
  [
    "one that wraps what a promise rejects with",
    `${OWN_ERROR} rejects`,
    entering((inner, input, extensions) => {
      const result = enter(inner, input, extensions);
      return result instanceof Promise ? result.catch(wrapped) : result;
    }),
  ],
  [
    "one that wraps what a step throws",
    `${OWN_ERROR} throws in a generator`,
    stepping(async function* (items) {
      try {
        return yield* items;
      } catch (error) {
        return wrapped(error);
      }
    }),
  ],
  [
    "one that enters the tool once more when the call is aborted",
    "hears of an abort, and ends by it also where it does not listen",
    entering((inner, input, extensions) => {
      const { signal } = extensions.require(ToolInvocationContext);
      signal.addEventListener("abort", () => void enter(inner, input, extensions));
      return enter(inner, input, extensions);
    }),
  ],
  ["one that needs no approval", DECLARES, (inner) => ({ ...inner, needsApproval: false })],
  ["one with retries of its own", DECLARES, (inner) => ({ ...inner, retries: { max: 3, minDelayMs: 1 } })],
  ["one that requires nothing", DECLARES, ({ requires: _requires, ...inner }) => inner],
  ["one that is not idempotent", DECLARES, (inner) => ({ ...inner, idempotent: false })],
];

const again: Change = async (inner, input, extensions) => {
  try {
    return await enter(inner, input, extensions);
  } catch {
    return await enter(inner, input, extensions);
  }
};

/** Each fails one case of the kit, and others with it. */
export const WIDE_FAULTS: readonly Fault[] = [
  [
    "a wrapper that implements call alone",
    "hands the extensions on, by identity, and never enters by call",
    ({ callWithExtensions, ...inner }) => ({
      ...inner,
      call: (input) => enter({ ...inner, callWithExtensions }, input, new ToolCallExtensions<string>().snapshot()),
    }),
  ],
  [
    "one that enters by call",
    "hands the extensions on, by identity, and never enters by call",
    entering((inner, input) => inner.call(input as never)),
  ],
  ["one that drains generators", "tells a generator's progress and gives its return value", stepping(drained)],
  ["one that reads ahead of a generator's consumer", NEXT_STEP, stepping(readingAhead)],
  ["one that tries again by itself", `${OWN_ERROR} throws`, entering(again)],
  [
    "one that swallows errors",
    `${OWN_ERROR} throws`,
    entering(async (...call) => await Promise.resolve(again(...call)).catch(() => "failed")),
  ],
  ["one that never ends", "gives null back as it is", entering(() => new Promise(() => undefined))],
  ["one that never enters the tool", "is the parent of the calls made inside it", () => recordingTool()],
];
