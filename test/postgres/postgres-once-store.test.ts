import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { ToolSet } from "tool-call-extensions";
import { once } from "tool-call-extensions/once";
import { type PostgresClient, type PostgresOnceStore, postgresOnceStore } from "tool-call-extensions/postgres";
import { recordingTool } from "tool-call-extensions/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { describeOnceStore } from "../once/once-store-contract.ts";
import { noServerReason, type PostgresServer, startPostgres } from "./server.ts";

/** Keeps what it is asked, and answers with nothing. */
function recordingClient(): PostgresClient & { readonly asked: string[] } {
  const asked: string[] = [];
  const query: PostgresClient["query"] = async (text) => {
    asked.push(text);
    return { rows: [] };
  };
  return { query, asked };
}

describe("postgresOnceStore", () => {
  it.each(["claims", "_claims", "billing.claims", "user", "a".repeat(63)])("takes the table name %s", async (table) => {
    const client = recordingClient();
    const store = postgresOnceStore(client, { table });
    await store.createTable();
    await store.claim({ key: "k", fingerprint: "f", leaseMs: 1 });
    await store.renew({ key: "k", fence: 1, leaseMs: 1 });
    await store.complete({ key: "k", fence: 1, outcome: "{}" });
    await store.release({ key: "k", fence: 1 });
    const quoted = table
      .split(".")
      .map((part) => `"${part}"`)
      .join(".");
    expect(client.asked).toHaveLength(5);
    for (const text of client.asked) expect(text).toContain(quoted);
  });

  it.each([
    "",
    ".",
    "claims.",
    "a.b.c",
    "Claims",
    "1claims",
    "claims; DROP TABLE users",
    'claims"',
    "claims\n",
    "b\u00fccher",
    "a".repeat(64),
    7,
    null,
  ])("refuses the table name %j", (table) => {
    // Written in JavaScript, the name may be anything.
    const make = () => postgresOnceStore(recordingClient(), { table: table as string });
    expect(make).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(make).toThrow('option table of postgresOnceStore() must be "table" or "schema.table"');
  });

  it.each([undefined, null, {}, "postgres://localhost"])("refuses the client %j", (client) => {
    const make = () => postgresOnceStore(client as PostgresClient);
    expect(make).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(make).toThrow("the client of postgresOnceStore() must be a Pool of pg");
  });

  it("takes no row for a key that somebody has just claimed", async () => {
    const claim = postgresOnceStore(recordingClient()).claim({ key: "k", fingerprint: "f", leaseMs: 1 });
    expect(await claim).toEqual({ status: "held" });
  });

  it("takes a fence that a driver gives as text", async () => {
    const query: PostgresClient["query"] = async () => ({ rows: [{ status: "claimed", fence: "3", outcome: null }] });
    const claim = postgresOnceStore({ query }).claim({ key: "k", fingerprint: "f", leaseMs: 1 });
    expect(await claim).toEqual({ status: "claimed", fence: 3 });
  });

  it("creates the table that the documentation shows", async () => {
    const page = readFileSync(fileURLToPath(new URL("../../docs/idempotency.md", import.meta.url)), "utf8");
    const shown = /CREATE TABLE [^;]*;/.exec(page)?.[0];
    const client = recordingClient();
    await postgresOnceStore(client).createTable();
    const created = /CREATE TABLE [^;]*;/.exec(client.asked.join())?.[0];
    const plain = (sql: string | undefined) => sql?.replaceAll(/IF NOT EXISTS |"/g, "").replaceAll(/\s+/g, " ");
    expect(created).toBeDefined();
    expect(plain(shown)).toBe(plain(created));
  });
});

if (noServerReason !== undefined) console.warn(`Skipped: tests of postgresOnceStore on a server. ${noServerReason}`);

describe.skipIf(noServerReason !== undefined)("on a server", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let store: PostgresOnceStore;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool({ connectionString: server.url });
    store = postgresOnceStore(pool);
    await store.createTable();
  }, 30_000);

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  }, 30_000);

  describeOnceStore("postgresOnceStore", () => store);

  it("creates the table once, for many who do so at once, and keeps what is in it", async () => {
    const another = postgresOnceStore(pool, { table: "another" });
    await Promise.all(Array.from({ length: 20 }, () => another.createTable()));
    const request = { key: "k", fingerprint: "f", leaseMs: 60_000 };
    expect((await another.claim(request)).status).toBe("claimed");
    await another.createTable();
    expect((await another.claim(request)).status).toBe("held");
  });

  it("keeps its claims in a table named like a word of SQL, in a schema", async () => {
    await pool.query("CREATE SCHEMA billing");
    const quoted = postgresOnceStore(pool, { table: "billing.user" });
    await quoted.createTable();
    await quoted.claim({ key: "in billing", fingerprint: "f", leaseMs: 60_000 });
    const { rows } = await pool.query('SELECT key FROM billing."user"');
    expect(rows).toEqual([{ key: "in billing" }]);
  });

  it.each(["2001-01-01", "2101-01-01"])(
    "reads the database's clock alone, where the process's says %s",
    async (now) => {
      const key = `clock of ${now}`;
      const leaseOf = async (): Promise<number> => {
        const text = "SELECT extract(epoch FROM leased_until - now()) AS seconds FROM tool_call_once WHERE key = $1";
        return Number((await pool.query(text, [key])).rows[0]?.seconds);
      };
      vi.useFakeTimers({ toFake: ["Date", "performance"], now: new Date(now) });
      try {
        const skewed = postgresOnceStore(pool);
        expect(await skewed.claim({ key, fingerprint: "f", leaseMs: 60_000 })).toEqual({ status: "claimed", fence: 1 });
        expect(await leaseOf()).toBeGreaterThan(30);
        expect(await leaseOf()).toBeLessThan(60);
        await skewed.renew({ key, fence: 1, leaseMs: 600_000 });
        expect(await leaseOf()).toBeGreaterThan(570);
        expect(await leaseOf()).toBeLessThan(600);
        expect(await skewed.claim({ key, fingerprint: "f", leaseMs: 60_000 })).toEqual({ status: "held" });
        await skewed.release({ key, fence: 1 });
        expect((await skewed.claim({ key, fingerprint: "f", leaseMs: 60_000 })).status).toBe("claimed");
      } finally {
        vi.useRealTimers();
      }
    },
  );

  it("works with a single Client, for one call at a time", async () => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const tool = recordingTool({ name: "charge", result: () => ({ receipt: "r-1" }) });
    const tools = new ToolSet([tool], { middleware: [once({ store: postgresOnceStore(client) })] });
    const sameCall = { sessionKey: "chat-7", toolCallId: "call_1" };
    for (const _time of [1, 2, 3]) {
      const outcome = await tools.call("charge", {}, sameCall);
      expect(outcome).toEqual({ status: "completed", output: { receipt: "r-1" } });
    }
    expect(tool.calls).toHaveLength(1);
    await client.end();
  });

  it("fails the call with the server's error when there is no table", async () => {
    const tool = recordingTool({ name: "charge" });
    const missing = postgresOnceStore(pool, { table: "missing" });
    const tools = new ToolSet([tool], { middleware: [once({ store: missing })] });
    const outcome = await tools.call("charge", {}, { sessionKey: "chat-7", toolCallId: "call_2" });
    expect(outcome).toMatchObject({ status: "failed", error: { message: 'relation "missing" does not exist' } });
    expect(tool.calls).toHaveLength(0);
  });

  it("stores an outcome of a megabyte", async () => {
    const request = { key: "large", fingerprint: "f", leaseMs: 60_000 };
    const claim = await store.claim(request);
    const outcome = JSON.stringify({ output: "ü".repeat(1_000_000) });
    expect(claim.status === "claimed" && (await store.complete({ key: "large", fence: claim.fence, outcome }))).toBe(
      true,
    );
    expect(await store.claim(request)).toEqual({ status: "completed", outcome });
  });
});
