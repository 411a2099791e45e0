import { type AnyExtensionToken, decodeExtensions, ToolCallExtensions, ToolCallExtensionsError } from "../index.ts";
import { assertMetaValue, INVOCATION_KEY_KEY, TOOL_CALL_ID_KEY } from "./meta-key.ts";

type Meta = Readonly<Record<string, unknown>>;

/** Says to the client what was wrong with its request; what made it is the `cause`. */
export class RequestError extends Error {
  /** For what the client's program has to mend; {@link INVALID_PARAMS} is for what the model has. */
  static readonly INVALID_REQUEST = -32_600;
  static readonly INVALID_PARAMS = -32_602;
  static readonly INTERNAL_ERROR = -32_603;
  /** The JSON-RPC code, which both SDKs read from the error. */
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Reads what a client may send: the named keys, each through its token's schema. Everything else is ignored. */
export async function acceptedExtensions(
  meta: Meta,
  accept: Readonly<Record<string, AnyExtensionToken>>,
): Promise<ToolCallExtensions<string>> {
  const extensions = new ToolCallExtensions<string>();
  for (const [key, token] of Object.entries(accept)) {
    if (!Object.hasOwn(meta, key)) continue;
    try {
      assertMetaValue(key, meta[key], "accept");
      extensions.extend(await decodeExtensions({ [token.id]: meta[key] }, [token]));
    } catch (cause) {
      const reason = reasonOf(cause);
      throw new RequestError(RequestError.INVALID_REQUEST, `_meta "${key}" was not accepted: ${reason}`, { cause });
    }
  }
  return extensions;
}

/** Of an error that is not this library's own, the text may hold the value. */
function reasonOf(error: unknown): string {
  if (!ToolCallExtensionsError.is(error)) return "it could not be read";
  if (error.code === "not-portable") return error.details.reason;
  return error.code === "invalid-argument" ? `it must be ${error.details.expected}` : "it could not be read";
}

interface RemoteIdentity {
  readonly toolCallId?: string;
  readonly invocationKey?: string;
}

/**
 * The client's word on which call this is, or `undefined` where it said nothing that could be one. `scoped` makes of its key
 * the one that is taken, if any.
 */
export function remoteIdentity(meta: Meta, scoped: (key: string) => string | undefined): RemoteIdentity | undefined {
  const toolCallId = matching(meta, TOOL_CALL_ID_KEY, PRINTABLE);
  const sent = matching(meta, INVOCATION_KEY_KEY, KEY);
  if (toolCallId === undefined && sent === undefined) return undefined;
  const invocationKey = sent === undefined ? undefined : scoped(sent);
  return { ...(toolCallId !== undefined && { toolCallId }), ...(invocationKey !== undefined && { invocationKey }) };
}

/** Ids are any provider's; what is no id for a log or a header is not taken. */
const PRINTABLE = /^[\x21-\x7e]{1,256}$/;
/** What tools rely on when they hand the key on. */
const KEY = /^ik1_[0-9a-v]{32}$/;

function matching(meta: Meta, key: string, pattern: RegExp): string | undefined {
  const value = Object.hasOwn(meta, key) ? meta[key] : undefined;
  return typeof value === "string" && pattern.test(value) ? value : undefined;
}
