import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface PaymentService extends AsyncDisposable {
  readonly url: string;
  /** The charges that were made, each under its idempotency key. */
  readonly charges: ReadonlyMap<string, object>;
  /** The keys of all requests, in order. */
  readonly requests: readonly string[];
}

/** Stands for a payment provider: a key that it knows gets the charge that is there, and no other is made. */
export async function startPaymentService(afterFirstCharge: () => void): Promise<PaymentService> {
  const charges = new Map<string, object>();
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const key = String(request.headers["idempotency-key"]);
    requests.push(key);
    if (!charges.has(key)) {
      charges.set(key, { charge: `ch_${charges.size + 1}`, ...JSON.parse(Buffer.concat(chunks).toString()) });
    }
    if (requests.length === 1) afterFirstCharge();
    else response.end(JSON.stringify(charges.get(key)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, charges, requests, [Symbol.asyncDispose]: close };
}
