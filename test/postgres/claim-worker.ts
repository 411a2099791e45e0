import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import pg from "pg";
import { defineTool, ToolInvocationContext, ToolSet } from "tool-call-extensions";
import { once } from "tool-call-extensions/once";
import { postgresOnceStore } from "tool-call-extensions/postgres";

// One of several processes that claim the same keys. It is told what to do by a line of JSON, and says line by line which
// executions it starts and what each call came to.

export interface WorkOrder {
  readonly session: string;
  readonly keys: number;
  readonly claimsPerKey: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly toolMs: number;
}

export type WorkReport =
  | { readonly type: "ready" }
  | { readonly type: "started"; readonly key: number; readonly execution: string }
  | { readonly type: "ended"; readonly key: number; readonly outcome: unknown }
  | { readonly type: "done" };

const report = (line: WorkReport): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const pool = new pg.Pool({ connectionString: process.env["ONCE_POSTGRES_URL"], max: 8 });
const store = postgresOnceStore(pool);

async function work(order: WorkOrder): Promise<void> {
  const tool = defineTool({
    name: "work",
    input: { type: "object" },
    callWithExtensions: async ({ key }: Record<string, unknown>, extensions) => {
      const execution = randomUUID();
      const { invocationKey } = extensions.require(ToolInvocationContext);
      report({ type: "started", key: Number(key), execution });
      // The side effect: what was started, by the database's clock.
      await pool.query("INSERT INTO executions VALUES ($1, $2, clock_timestamp())", [invocationKey, execution]);
      await sleep(order.toolMs * (0.5 + Math.random()));
      return { execution, key };
    },
  });
  const tools = new ToolSet([tool], { middleware: [once({ store, leaseMs: order.leaseMs })] });
  const queue = shuffled(Array.from({ length: order.keys * order.claimsPerKey }, (_, index) => index % order.keys));
  const claimNext = async (): Promise<void> => {
    for (let key = queue.pop(); key !== undefined; key = queue.pop()) {
      const call = { sessionKey: order.session, toolCallId: `call-${key}` };
      report({ type: "ended", key, outcome: await tools.call("work", { key }, call) });
    }
  };
  await Promise.all(Array.from({ length: order.concurrency }, claimNext));
  report({ type: "done" });
}

function shuffled(items: readonly number[]): number[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

await store.createTable();
report({ type: "ready" });
for await (const line of createInterface({ input: process.stdin })) await work(JSON.parse(line));
await pool.end();
