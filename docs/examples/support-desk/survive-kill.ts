import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunState } from "tool-call-extensions";
import { startPaymentService } from "./payment-service.ts";

export interface Survival {
  readonly signal: unknown;
  readonly before: { readonly toolCallId: string | undefined; readonly key: string | undefined };
  readonly after: { readonly toolCallId: string; readonly key: string; readonly answer: string };
  readonly requests: number;
  readonly refunds: number;
}

/** Kills a run with SIGKILL when its refund is committed but not answered, and resumes it in a new process. */
export async function surviveKill(modelUrl: string): Promise<Survival> {
  const folder = mkdtempSync(join(tmpdir(), "support-desk-"));
  const stateFile = join(folder, "state.json");
  let kill = (): void => {};
  await using payments = await startPaymentService((request, response, body) => {
    if (request === 1) kill();
    else response.end(body);
  });
  const start = () => {
    const program = fileURLToPath(new URL("interrupted-run.ts", import.meta.url));
    const args = ["--import", "tsx", program, stateFile, payments.url, modelUrl];
    return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  };
  try {
    const first = start();
    kill = () => first.kill("SIGKILL");
    const [, signal] = await once(first, "exit");
    const saved: RunState = JSON.parse(readFileSync(stateFile, "utf8"));
    const before = { toolCallId: saved.calls[0]?.toolCallId, key: payments.requests[0] };

    const second = start();
    let printed = "";
    second.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    await once(second, "close");
    const { requests, refunds } = payments;
    return { signal, before, after: JSON.parse(printed), requests: requests.length, refunds: refunds.size };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
