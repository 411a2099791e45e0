import pg from "pg";
import { ToolSet } from "tool-call-extensions";
import { memoryOnceStore, type OnceStore, once } from "tool-call-extensions/once";
import { postgresOnceStore } from "tool-call-extensions/postgres";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { noServerReason, type PostgresServer, startPostgres } from "../postgres/server.ts";
import { Hunt } from "./leak-hunt.ts";
import { pays, type Seed, secretTools, takeAllPaths } from "./leak-paths.ts";

// The same hunt in what is kept of a call: the stores of `once`, and what they are asked and answer.

let server: PostgresServer | undefined;
beforeAll(async () => {
  if (noServerReason === undefined) server = await startPostgres();
  else console.info(`The leak hunt goes through no PostgreSQL store. ${noServerReason}`);
});
afterAll(() => server?.stop());

/** The store as it is, with all that goes in and comes out of it searched. */
function searched(hunt: Hunt, store: OnceStore): OnceStore {
  const passed = async <Value>(asked: unknown, answer: Promise<Value>): Promise<Value> => {
    hunt.note("store", JSON.stringify(asked), JSON.stringify(await answer) ?? "");
    return answer;
  };
  return {
    claim: (claim) => passed(claim, store.claim(claim)),
    renew: (renewal) => passed(renewal, store.renew(renewal)),
    complete: (completion) => passed(completion, store.complete(completion)),
    release: (release) => passed(release, store.release(release)),
  };
}

async function huntThrough(hunt: Hunt, store: OnceStore, seed: Seed): Promise<void> {
  const middleware = [once({ store: searched(hunt, store) })];
  await takeAllPaths({ hunt, tools: new ToolSet([...secretTools(seed), pays], { middleware }) });
}

/** A table's rows, each as the database writes it. */
async function rowsOf(pool: pg.Pool, table: string): Promise<readonly string[]> {
  const { rows } = await pool.query(`SELECT row_to_json(kept)::text AS text FROM ${table} AS kept`);
  return rows.map(({ text }) => String(text));
}

describe("H15: what `once` keeps", () => {
  it("holds no value in a memory store", async () => {
    const hunt = new Hunt();
    await huntThrough(hunt, memoryOnceStore(), "none");
    const { channels, hits } = hunt.end("once in memory");
    expect(channels).toContain("store");
    expect(hits).toEqual({});
  });

  it("is found out where a tool gives a value away", async () => {
    const hunt = new Hunt();
    await huntThrough(hunt, memoryOnceStore(), "output");
    expect(hunt.end().hits).toMatchObject({ store: ["string"], states: ["string"] });
  });

  it.skipIf(noServerReason !== undefined).each<[Seed, object]>([
    ["none", {}],
    ["output", { rows: ["string"], store: ["string"] }],
  ])("in the rows of PostgreSQL, with the seed %s", async (seed, expected) => {
    const hunt = new Hunt();
    const pool = new pg.Pool({ connectionString: server?.url ?? expect.fail() });
    onTestFinished(() => pool.end());
    const table = `hunt_${seed}`;
    const store = postgresOnceStore(pool, { table });
    await store.createTable();
    await huntThrough(hunt, store, seed);
    const rows = await rowsOf(pool, table);
    expect(rows.length).toBeGreaterThan(5);
    hunt.note("rows", ...rows);
    const { hits } = hunt.end(seed === "none" ? "once in PostgreSQL" : undefined);
    if (seed === "none") expect(hits).toEqual(expected);
    else expect(hits).toMatchObject(expected);
  });
});
