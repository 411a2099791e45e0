import type { ToolCallExtensions, ToolMiddleware } from "../index.ts";
import { holds, same, within } from "./conformance.ts";
import type { Behaviour, Bench, Check } from "./tool-bench.ts";
import { isReadable, whose } from "./tool-set-results.ts";

/** What a tool that reports its progress promises, step by step. */
export function generators(check: Check): void {
  check(
    "tells a generator's progress and gives its return value",
    async function* () {
      yield "one";
      yield "two";
      return "three";
    },
    async ({ call, events }) => {
      const outcome = await call();
      same(progressOf(events).join(), "one,two", "the progress");
      same(outcome.status === "completed" && outcome.output, "three", "the output");
    },
  );
  check(
    "takes a generator's next step only when the last one has been told",
    async function* (_call, { events }) {
      yield events.length;
      yield events.length;
      return "done";
    },
    async ({ call, events }) => {
      await call();
      const [first, second] = progressOf(events);
      holds(typeof first === "number" && typeof second === "number", "the progress is not what the tool yielded");
      same(Number(second) - Number(first), 1, "the events between two steps");
    },
  );
  check(
    "is the current invocation in each step of a generator",
    async function* ({ invocation }) {
      yield whose(invocation);
      await null;
      yield whose(invocation);
      return whose(invocation);
    },
    async ({ call, events }) => {
      const outcome = await call();
      const expected = (await isReadable()) ? "its own" : "none";
      for (const step of progressOf(events)) same(step, expected, "the current invocation in a step");
      same(progressOf(events).length, 2, "how many steps were told");
      same(outcome.status === "completed" && outcome.output, expected, "the current invocation in the last step");
    },
  );
  closing(check);
}

const progressOf = (events: Bench["events"]): readonly unknown[] =>
  events.flatMap((event) => (event.type === "tool-progress" ? [event.output] : []));

function closing(check: Check): void {
  const opens: Behaviour = async function* (_call, { close }) {
    try {
      yield "one";
      yield "two";
    } finally {
      close();
    }
  };
  check("closes a generator that its consumer leaves", opens, async ({ call, closed }) => {
    const outcome = await call({ middleware: [leaving] });
    same(outcome.status === "completed" && outcome.output, "one", "the step that was taken by hand");
    await within(closed, "the tool's finally did not run");
  });
  check("closes a generator whose call is aborted at a step", opens, async ({ call, closed }) => {
    const controller = new AbortController();
    const reason = new Error("stop");
    const outcome = await call({
      signal: controller.signal,
      listener: ({ type }) => {
        if (type === "tool-progress") controller.abort(reason);
      },
    });
    same(outcome.status === "failed" && outcome.error, reason, "the reason");
    await within(closed, "the tool's finally did not run");
  });
}

/** Inside the call, steps the tool's generator by hand and leaves it after the first step, which is the call's output. */
const leaving: ToolMiddleware = (call, next) => {
  const { tool } = call;
  const callWithExtensions = async (input: never, extensions: ToolCallExtensions<never>): Promise<unknown> => {
    const items: unknown = await (tool.callWithExtensions === undefined
      ? tool.call(input)
      : tool.callWithExtensions(input, extensions as never));
    if (!(Symbol.asyncIterator in Object(items))) return "no generator";
    const iterator = (items as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    const { value } = await iterator.next();
    await iterator.return?.();
    return value;
  };
  return next({ ...call, tool: { ...tool, callWithExtensions } });
};
