import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ScriptedTurn } from "tool-call-extensions/testing";

export interface AcmeServer {
  readonly url: string;
  /** What the last request's body said. */
  lastBody(): string;
  close(): void;
}

/** Stands for the provider: plays the turns, one a request, in Acme's format. */
export async function startAcme(turns: readonly Exclude<ScriptedTurn, Error>[], key: string): Promise<AcmeServer> {
  let asked = 0;
  let body = "";
  const server = createServer(async (request, response) => {
    body = "";
    for await (const chunk of request) body += chunk;
    if (request.headers.authorization !== `Bearer ${key}`) return void response.writeHead(401).end();
    const turn = turns[asked++] ?? "";
    const { text = "", toolCalls = [] } = typeof turn === "string" ? { text: turn } : turn;
    const deltas = text.match(/.{1,7}/gsu) ?? [];
    const calls = toolCalls.map(({ toolCallId: id, toolName: name, input: args }) => ({ call: { id, name, args } }));
    const lines = [...deltas.map((delta) => ({ delta })), ...calls, { tokens: [body.length, text.length] }];
    const json = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
    // In two pieces that end in the middle of a line, as networks have it.
    response.write(json.slice(0, 20));
    setTimeout(() => response.end(json.slice(20)), 5);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${port}`, lastBody: () => body, close };
}
