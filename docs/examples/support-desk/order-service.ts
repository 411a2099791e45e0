import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface OrderService extends AsyncDisposable {
  readonly url: string;
  /** What came in, by path: `200` where the caller was let in. */
  readonly log: readonly { readonly path: string; readonly status: number }[];
}

/** Serves two orders on loopback, and only to a caller who sends the tenant and the token. */
export async function startOrderService(tenant: string, token: string): Promise<OrderService> {
  const log: { path: string; status: number }[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "/";
    const isAllowed = request.headers.authorization === `Bearer ${token}` && request.headers["x-tenant"] === tenant;
    const status = isAllowed ? 200 : 401;
    log.push({ path, status });
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(isAllowed ? { order: path.split("/").at(-1), state: "delivered damaged" } : {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}`, log, [Symbol.asyncDispose]: close };
}
