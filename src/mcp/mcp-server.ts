/** What a token verifier of the SDK found out about the client. */
interface McpAuthInfo {
  readonly token: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly expiresAt?: number | undefined;
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

/** The part of a low-level server that is used. */
interface LowLevelServer {
  setRequestHandler(...handler: never[]): void;
  registerCapabilities(capabilities: { readonly tools: object }): void;
  assertCanSetRequestHandler(method: string): void;
  onerror?: ((error: Error) => void) | undefined;
}

/** A server of either version of the SDK that is not connected yet: `McpServer`, or the `Server` in it. */
export type McpServer = LowLevelServer | { readonly server: LowLevelServer };

/** A request as both versions give it. */
export interface RequestContext {
  readonly authInfo: McpAuthInfo | undefined;
  readonly sessionId: string | undefined;
  readonly signal: AbortSignal;
  /** Whether a result may ask the client for more. */
  readonly canAsk: boolean;
  /** The SDK's own. */
  readonly context: object;
  notify(notification: object): Promise<void>;
}

interface Version1Context {
  readonly authInfo?: McpAuthInfo;
  readonly sessionId?: string;
  readonly signal: AbortSignal;
  sendNotification(notification: object): Promise<void>;
}

interface Version2Context {
  readonly sessionId?: string;
  readonly http?: { readonly authInfo?: McpAuthInfo };
  readonly mcpReq: { readonly signal: AbortSignal; notify(notification: object): Promise<void> };
}

/** A request's parameters, as the wire gave them. */
export interface RequestParams {
  readonly name: string;
  readonly arguments?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

type Handler = (request: { readonly params: RequestParams }, context: RequestContext) => object | Promise<object>;

export function lowLevel(server: McpServer): LowLevelServer {
  return "server" in server ? server.server : server;
}

/** The boundary between the two versions of the SDK: how they differ at run time is known here alone. */
export function handle(server: LowLevelServer, method: string, handler: Handler): void {
  // Without it, the SDK lets a handler take another's place, and the tools that it listed are gone.
  server.assertCanSetRequestHandler(method);
  const register = server.setRequestHandler.bind(server) as (method: unknown, handler: unknown) => void;
  if ("getNegotiatedProtocolVersion" in server) {
    register(method, (request: Parameters<Handler>[0], context: Version2Context) =>
      handler(request, version2(context)),
    );
  } else {
    register(methodSchema(method), (request: Parameters<Handler>[0], extra: Version1Context) =>
      handler(request, version1(extra)),
    );
  }
}

function version1(context: Version1Context): RequestContext {
  const { authInfo, sessionId, signal } = context;
  const notify = (notification: object) => context.sendNotification(notification);
  return { authInfo, sessionId, signal, canAsk: false, context, notify };
}

function version2(context: Version2Context): RequestContext {
  const { sessionId, http, mcpReq } = context;
  const notify = (notification: object) => mcpReq.notify(notification);
  return { authInfo: http?.authInfo, sessionId, signal: mcpReq.signal, canAsk: true, context, notify };
}

/**
 * What version 1 reads of a request's schema: the method, and the parser. Written out, so that this entry imports neither
 * version at run time; that SDK checks `tools/call` by its own schema besides.
 */
function methodSchema(method: string): object {
  const parse = (request: unknown) => request;
  return { shape: { method: { value: method } }, parse, safeParse: (data: unknown) => ({ success: true, data }) };
}
