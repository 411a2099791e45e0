import assert from "node:assert/strict";
import { POST } from "./route.ts";

// Calls the handler as a server would, and checks what it answers.

const ask = (cookie: string, body: string, signal?: AbortSignal) =>
  POST(new Request("http://localhost/api/chat", { method: "POST", headers: { cookie }, body, signal: signal ?? null }));

const prompt = JSON.stringify({ prompt: "How many seats have I?" });

const [small, large] = await Promise.all([ask("tenant=t-7", prompt), ask("theme=dark; tenant=t-7000", prompt)]);
const texts = [await small.text(), await large.text()];
console.log(`two tenants at once: ${texts.join(" ")}`);
assert.deepEqual(texts, ['The plan: {"seats":3}.', 'The plan: {"seats":6}.']);

let pieces = 0;
const reader = (await ask("tenant=t-7", prompt)).body?.getReader();
while ((await reader?.read())?.done === false) pieces += 1;
console.log(`one answer came in ${pieces} pieces`);
assert.ok(pieces > 1);

const statuses = [await ask("", prompt), await ask("tenant=t-7", "{}"), await ask("tenant=t-7", "no JSON")];
console.log(`refused: ${statuses.map(({ status }) => status).join(", ")}`);
assert.deepEqual(
  statuses.map(({ status }) => status),
  [401, 400, 400],
);

const aborted = await ask("tenant=t-7", prompt, AbortSignal.abort(new Error("the client has gone")));
const failure = await aborted.text().catch((error: unknown) => error);
console.log(`aborted: ${failure}`);
assert.match(String(failure), /the client has gone/);
