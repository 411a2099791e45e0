import type { AsyncLocalStorage } from "node:async_hooks";
import { processWide } from "../process-wide.ts";
import type { ToolInvocationContext } from "./invocation-context.ts";

/** Runs `work` with the invocation, or with none, as the current one. */
type Store = Pick<AsyncLocalStorage<ToolInvocationContext | undefined>, "run" | "getStore">;

/**
 * Gives the invocation of the tool that is running, or `undefined` outside of one.
 *
 * Follows the call through its awaits and each step of a generator tool. It is a convenience: the extensions a tool is
 * handed are the contract. Where the runtime has no AsyncLocalStorage (a browser) it is always `undefined`.
 *
 * @example
 * ```ts
 * import { currentToolInvocation, defineTool, ToolSet } from "tool-call-extensions";
 * import { z } from "zod";
 *
 * const log = (line: string) => `${currentToolInvocation()?.toolName ?? "no tool"}: ${line}`;
 * const greet = defineTool({ name: "greet", input: z.object({}), call: () => log("hello") });
 *
 * const outcome = await new ToolSet([greet]).call("greet", {});
 * if (outcome.status !== "completed" || outcome.output !== "greet: hello") throw new Error("not followed");
 * if (log("bye") !== "no tool: bye") throw new Error("still set");
 * ```
 */
export function currentToolInvocation(): ToolInvocationContext | undefined {
  return store().getStore();
}

export function runAsCurrent<Result>(invocation: ToolInvocationContext | undefined, work: () => Result): Result {
  return store().run(invocation, work);
}

const NO_STORE: Store = { run: (_invocation: unknown, work: () => never) => work(), getStore: () => undefined };

let cached: Store | undefined;

function store(): Store {
  cached ??= processWide("current-invocation", makeStore);
  return cached;
}

/** `getBuiltinModule` instead of an import: bundles for browsers stay free of `node:` without a second build. */
function makeStore(): Store {
  const hooks = globalThis.process?.getBuiltinModule?.("node:async_hooks");
  return hooks === undefined ? NO_STORE : new hooks.AsyncLocalStorage();
}
