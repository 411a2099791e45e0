import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface PaymentService extends AsyncDisposable {
  readonly url: string;
  /** What the service holds: one refund for each idempotency key. */
  readonly refunds: ReadonlyMap<string, number>;
  /** The keys of every request, in order. */
  readonly requests: readonly string[];
}

/** Decides what becomes of a request's answer after the refund is committed. */
export type Answer = (request: number, response: ServerResponse, body: string) => void;

/** Serves refunds on loopback: a key that is known already gives the refund that is there, and makes no other. */
export async function startPaymentService(answer: Answer): Promise<PaymentService> {
  const refunds = new Map<string, number>();
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const key = String(request.headers["idempotency-key"]);
    requests.push(key);
    if (!refunds.has(key)) refunds.set(key, refunds.size + 1);
    answer(requests.length, response, JSON.stringify({ refund: refunds.get(key) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, refunds, requests, [Symbol.asyncDispose]: () => close(server) };
}

function close(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}
