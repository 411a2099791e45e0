import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";

// A provider's server on loopback: it plays recorded or hand-written responses and keeps what it was sent.

const traffic = new URL("../../../shared/provider-traffic/", import.meta.url);

export const hasTraffic: boolean = existsSync(traffic);

/** What one request is answered with: a JSON body, the data of server-sent events, an HTTP error, or never. */
export type Answer =
  | "never"
  | { readonly json: unknown }
  | { readonly events: readonly string[]; readonly isCut?: boolean | undefined }
  | { readonly status: number; readonly json: unknown };

interface SentRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: unknown;
}

export interface ProviderServer {
  readonly url: string;
  readonly requests: readonly SentRequest[];
  /** Waits until so many requests have come. */
  received(count: number): Promise<void>;
  /** Waits until so many requests have been left by their client. */
  aborted(count: number): Promise<void>;
}

export function recordedJson(file: string): Answer {
  return { json: JSON.parse(readFileSync(new URL(file, traffic), "utf8")) };
}

export function recordedLines(file: string): readonly string[] {
  return readFileSync(new URL(file, traffic), "utf8").trim().split("\n");
}

export function recordedEvents(file: string): Answer {
  return { events: recordedLines(file) };
}

export function events(...data: readonly unknown[]): Answer {
  return { events: data.map((item) => JSON.stringify(item)) };
}

/** Answers in order, or by what is asked; a request after the last answer gets HTTP 500. Closes when the test has ended. */
export async function startProvider(
  answers: readonly Answer[] | ((request: SentRequest) => Answer),
): Promise<ProviderServer> {
  const requests: SentRequest[] = [];
  let aborted = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const sent: SentRequest = { path: request.url ?? "", headers: request.headers, body };
    requests.push(sent);
    response.on("close", () => {
      if (!response.writableEnded) aborted += 1;
    });
    const next = typeof answers === "function" ? answers(sent) : answers[requests.length - 1];
    const answer = next ?? { status: 500, json: { error: { message: "the script is over" } } };
    if (answer === "never") return;
    if ("events" in answer) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const data of answer.events) response.write(`data: ${data}\n\n`);
      if (answer.isCut) response.destroy();
      else response.end();
    } else {
      response.writeHead("status" in answer ? answer.status : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(answer.json));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  // A server that listens on a TCP port has such an address.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    received: async (count) => void (await vi.waitUntil(() => requests.length >= count)),
    aborted: async (count) => void (await vi.waitUntil(() => aborted >= count)),
  };
}
