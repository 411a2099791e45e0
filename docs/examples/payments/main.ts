import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPaymentService } from "./payment-service.ts";

// The worst moment to die: the card is charged and the answer is not there yet. The first worker is killed in it; the second
// goes on with the run, and the card is charged once.

let killFirst = (): void => {};
await using payments = await startPaymentService(() => killFirst());
const folder = mkdtempSync(join(tmpdir(), "payments-"));
const program = fileURLToPath(new URL("worker.ts", import.meta.url));

/** Gives what the worker printed, and the signal that ended it. */
function work(onStart: (kill: () => void) => void = () => {}) {
  const args = ["--import", "tsx", program, join(folder, "order-42.json"), payments.url];
  const worker = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onStart(() => worker.kill("SIGKILL"));
  let printed = "";
  worker.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  return new Promise<{ readonly printed: string; readonly signal: string | null }>((resolve) => {
    worker.on("close", (_code, signal) => resolve({ printed, signal }));
  });
}

try {
  const first = await work((kill) => {
    killFirst = kill;
  });
  console.log(`first worker: ended by ${first.signal}, printed ${JSON.stringify(first.printed)}`);
  const second = await work();
  const answers: readonly unknown[] = JSON.parse(second.printed);
  console.log(`second worker: ${answers[0]}`);
  console.log(`requests: ${payments.requests.length}, keys: ${new Set(payments.requests).size}`);
  console.log(`charges: ${payments.charges.size}`);

  assert.deepEqual(first, { printed: "", signal: "SIGKILL" });
  // The second worker's two deliveries of the job share one request and one answer.
  assert.deepEqual(answers, ['Charged: {"charge":"ch_1","cents":500}', 'Charged: {"charge":"ch_1","cents":500}']);
  assert.equal(payments.requests.length, 2);
  assert.equal(new Set(payments.requests).size, 1);
  assert.equal(payments.charges.size, 1);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
