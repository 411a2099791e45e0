import {
  type AnyExtensionToken,
  deriveInvocationKey,
  type ToolCallExtensions,
  ToolCallExtensionsError,
  ToolError,
  type ToolEvent,
  type ToolSet,
} from "../index.ts";
import { toCallResult } from "./call-result.ts";
import { acceptedExtensions, RequestError, remoteIdentity } from "./incoming-meta.ts";
import { isQuestion } from "./mcp-result.ts";
import { handle, lowLevel, type McpServer, type RequestContext, type RequestParams } from "./mcp-server.ts";
import { checkFunction, checkTokens, type TokensByKey } from "./meta-key.ts";
import { ProgressNotices } from "./progress-notices.ts";

/** One call of a served tool, before it begins: what its extensions are made from. */
export interface McpRequest extends Omit<RequestContext, "canAsk" | "context" | "notify"> {
  readonly toolName: string;
  /** What the client sent of the keys in `accept`: validated, but the client's word. */
  readonly accepted: ToolCallExtensions<string>;
  /** The SDK's own second argument of a request handler: `extra` in version 1, `ctx` in version 2. */
  readonly context: object;
}

interface CommonOptions<Needs extends string> {
  /** What a client may send, by `_meta` key; the token needs a schema. Whatever else it sends is ignored. */
  readonly accept?: Readonly<Record<string, AnyExtensionToken>> | undefined;
  /**
   * Keeps apart clients that do not trust each other: `({ authInfo }) => authInfo?.clientId`. A key that a client sent is then
   * another one for each scope, and no client can name another's; of one that has no scope no key is taken.
   */
  readonly keyScope?: ((request: McpRequest) => string | undefined) | undefined;
  /**
   * Makes what a call sees; without it, that is what was accepted. What it throws ends the call: the client reads the message
   * of a `ToolError`, or which accepted key is missing; anything else goes to the server's `onerror`.
   */
  readonly extensions?:
    | ((request: McpRequest) => ToolCallExtensions<Needs> | Promise<ToolCallExtensions<Needs>>)
    | undefined;
  /** Hears of every served call and of the calls made inside it. */
  readonly listener?: ((event: ToolEvent) => void) | undefined;
}

/** How served calls get their extensions: `extensions` may be left out only where no tool needs one. */
export type ServeToolsOptions<Needs extends string> = CommonOptions<Needs> &
  ([Needs] extends [never] ? unknown : { readonly extensions: Exclude<CommonOptions<Needs>["extensions"], undefined> });

/**
 * Serves a set's tools from an MCP server of either version of the SDK; call it before the server connects. Each request
 * gets its own extensions. Id and key that a client sent become the call's, and its invocation is then `isRemote`: the
 * client's word (see `keyScope`). Failures are told as they are to a model; the original of what is hidden goes to the server's
 * `onerror`.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for an option, or an `accept` key that the protocol does not allow.
 * @example
 * ```ts
 * import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
 * import { McpServer } from "@modelcontextprotocol/server";
 * import { defineTool, extensionToken, ToolSet } from "tool-call-extensions";
 * import { serveTools } from "tool-call-extensions/mcp";
 * import { z } from "zod";
 *
 * const Tenant = extensionToken("tenant").of(z.string());
 * const whose = defineTool({
 *   name: "whose",
 *   input: z.object({}),
 *   requires: [Tenant],
 *   callWithExtensions: (_input, extensions) => extensions.require(Tenant),
 * });
 * const server = new McpServer({ name: "shop", version: "1.0.0" });
 * serveTools(server, new ToolSet([whose]), {
 *   accept: { "com.example/tenant": Tenant },
 *   extensions: ({ accepted }) => accepted.expect(Tenant),
 * });
 *
 * const client = new Client({ name: "agent", version: "1.0.0" });
 * const [ours, theirs] = InMemoryTransport.createLinkedPair();
 * await Promise.all([server.connect(theirs), client.connect(ours)]);
 * const { content } = await client.callTool({ name: "whose", _meta: { "com.example/tenant": "t-7" } });
 * if (JSON.stringify(content) !== '[{"type":"text","text":"t-7"}]') throw new Error("not accepted");
 * await client.close();
 * ```
 */
export function serveTools(server: McpServer, tools: ToolSet, options?: ServeToolsOptions<never>): void;
export function serveTools<Needs extends string>(
  server: McpServer,
  tools: ToolSet<Needs>,
  options: ServeToolsOptions<NoInfer<Needs>>,
): void;
export function serveTools(server: McpServer, tools: Served, options: CommonOptions<never> = {}): void {
  const settled = { ...options, accept: checkTokens(options.accept, "accept") };
  for (const name of ["extensions", "keyScope", "listener"] as const) checkFunction(options[name], name);
  const target = lowLevel(server);
  const report = (error: unknown): void =>
    target.onerror?.(error instanceof Error ? error : new Error("a served call failed", { cause: error }));
  target.registerCapabilities({ tools: {} });
  handle(target, "tools/list", () => ({ tools: tools.definitions.map(toListed) }));
  handle(target, "tools/call", async ({ params }, context) => {
    try {
      return await answer(tools, settled, { params: checkParams(params), context, report });
    } catch (error) {
      if (error instanceof RequestError) throw error;
      report(error);
      throw new RequestError(RequestError.INTERNAL_ERROR, `Tool "${params.name}" failed.`);
    }
  });
}

/** What both overloads have in common: `requires` is checked again by each call. */
type Served = Pick<ToolSet, "definitions" | "callWithExtensions">;

/** Not every version of the SDK has checked it. */
function checkParams(params: RequestParams | undefined): RequestParams {
  if (typeof params?.name === "string") return params;
  throw new RequestError(RequestError.INVALID_PARAMS, "params.name must be the name of a tool");
}

interface Asked {
  readonly params: RequestParams;
  readonly context: RequestContext;
  readonly report: (error: unknown) => void;
}

async function answer(
  tools: Served,
  { accept, extensions: makeExtensions, keyScope, listener }: CommonOptions<never> & { readonly accept: TokensByKey },
  { params: { name, arguments: input = {}, _meta = {} }, context: { canAsk, notify, ...context }, report }: Asked,
): Promise<object> {
  const accepted = await acceptedExtensions(_meta, accept);
  const request: McpRequest = { ...context, toolName: name, accepted };
  const made = await caught(() => (makeExtensions === undefined ? accepted : makeExtensions(request)));
  if ("failure" in made) return refusal(made.failure, name, accept);
  const scoped = (key: string): string | undefined => {
    if (keyScope === undefined) return key;
    const scope = keyScope(request);
    // The plain key would be one that anybody can work out for another's scope.
    return scope === undefined ? undefined : deriveInvocationKey(key, scope);
  };
  const progress = new ProgressNotices(_meta["progressToken"], notify);
  const outcome = await tools.callWithExtensions(name, input, made.value, {
    signal: context.signal,
    remote: remoteIdentity(_meta, scoped),
    listener: (event) => {
      progress.hear(event);
      // It may be an async function, for all its type says.
      return listener?.(event);
    },
  });
  await progress.sent(context.signal);
  if (outcome.status === "completed" && isQuestion(outcome.output)) {
    if (canAsk) return outcome.output;
    throw new Error(`tool "${name}" asks its client for input, which takes version 2 of the SDK`);
  }
  if (outcome.status !== "failed") return toCallResult(outcome, name, progress.call);
  if (outcome.kind === "missing-extension") return refusal(outcome.error, name, accept);
  if (outcome.kind === "error" && !ToolError.is(outcome.error)) report(outcome.error);
  return toCallResult(outcome, name);
}

/** A refusal that is meant for the model is a result; a key that the client left out is the client's fault. */
function refusal(error: unknown, toolName: string, accept: TokensByKey): object {
  if (ToolError.is(error)) return toCallResult({ status: "failed", kind: "error", error }, toolName);
  const missing = ToolCallExtensionsError.is(error) && error.code === "missing-extension" ? error.details.missing : [];
  const keys = Object.entries(accept).filter(([, { id }]) => missing.includes(id));
  if (keys.length === 0) throw error;
  const names = keys.map(([key]) => `"${key}"`).join(", ");
  throw new RequestError(RequestError.INVALID_REQUEST, `Tool "${toolName}" needs ${names} in _meta.`, { cause: error });
}

type Caught<Value> = { readonly value: Value } | { readonly failure: unknown };

async function caught<Value>(make: () => Value | Promise<Value>): Promise<Caught<Value>> {
  try {
    return { value: await make() };
  } catch (failure) {
    return { failure };
  }
}

/**
 * The protocol wants the root's type written out, which a JSON Schema may leave to its other keywords. An absent description
 * is no key at all: the SDKs' schemas refuse `undefined` where the wire would lose it.
 */
function toListed({ name, description, inputSchema }: ToolSet["definitions"][number]): object {
  return { name, ...(description !== undefined && { description }), inputSchema: { ...inputSchema, type: "object" } };
}
