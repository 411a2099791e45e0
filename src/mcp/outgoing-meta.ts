import {
  type AnyExtensionToken,
  encodeExtensions,
  extensionToken,
  invalidArgument,
  type ToolCall,
  ToolCallExtensions,
} from "../index.ts";
import {
  assertMetaKey,
  assertMetaValue,
  checkBoolean,
  checkFunction,
  checkTokens,
  INVOCATION_KEY_KEY,
  TOOL_CALL_ID_KEY,
} from "./meta-key.ts";

/** What of a call leaves in its `_meta`; nothing by default. */
export interface OutgoingMeta {
  /**
   * What goes to the server with every call, by `_meta` key: `{ "com.example/tenant": Tenant }`. Nothing else of the
   * extensions leaves. The token needs a schema; where the caller has no value, the key is left out.
   */
  readonly forward?: Readonly<Record<string, AnyExtensionToken>> | undefined;
  /**
   * Makes more of it for each call, from the arguments as they are sent. What it gives wins over `forward`, `undefined`
   * included, which leaves the key out; where it throws, the call fails and nothing is sent.
   */
  readonly meta?: ((call: ToolCall) => MetaValues | undefined | Promise<MetaValues | undefined>) | undefined;
  /** Sends the call's id and key as `tool-call-extensions/tool-call-id` and `tool-call-extensions/invocation-key`. */
  readonly invocation?: boolean | undefined;
}

/** JSON by `_meta` key; `undefined` takes back what `forward` would send under it. */
type MetaValues = Readonly<Record<string, unknown>>;

/** Checks the options and gives a copy of them: what was checked is what is used. */
export function checkOutgoing<Options extends OutgoingMeta>(options: Options): Options {
  checkFunction(options.meta, "meta");
  checkBoolean(options.invocation, "invocation");
  return { ...options, forward: checkTokens(options.forward, "forward") };
}

/** A fresh object for each call, or `undefined` where nothing leaves. */
export async function outgoingMeta(
  call: ToolCall,
  options: OutgoingMeta,
): Promise<Record<string, unknown> | undefined> {
  const { forward = {}, meta, invocation = false } = options;
  const sent: Record<string, unknown> = {};
  for (const [key, token] of Object.entries(forward)) {
    const encoded = await encodeExtensions(call.extensions, [token]);
    if (token.id in encoded) put(sent, key, encoded[token.id], "forward");
  }
  const made = (await meta?.(call)) ?? {};
  if (!isPlainObject(made)) throw invalidArgument("what option meta gives", made, "a plain object, by _meta key");
  for (const [key, value] of Object.entries(made)) {
    assertMetaKey(key, "meta");
    if (value === undefined) delete sent[key];
    else put(sent, key, await toJson(key, value), "meta");
  }
  if (invocation) Object.assign(sent, identityOf(call));
  return Object.keys(sent).length > 0 ? sent : undefined;
}

function put(sent: Record<string, unknown>, key: string, value: unknown, option: string): void {
  assertMetaValue(key, value, option);
  sent[key] = value;
}

function identityOf({ invocation: { toolCallId, invocationKey } }: ToolCall): Record<string, unknown> {
  return {
    [TOOL_CALL_ID_KEY]: toolCallId,
    ...(invocationKey !== undefined && { [INVOCATION_KEY_KEY]: invocationKey }),
  };
}

/** A copy; what JSON would drop or alter is refused, with the key in the error. */
async function toJson(key: string, value: unknown): Promise<unknown> {
  const token = extensionToken(`_meta ${key}`).of(ANYTHING);
  return (await encodeExtensions(new ToolCallExtensions().with(token, value), [token]))[token.id];
}

const ANYTHING = {
  "~standard": { version: 1, vendor: "tool-call-extensions", validate: (value: unknown) => ({ value }) },
} as const;

function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
