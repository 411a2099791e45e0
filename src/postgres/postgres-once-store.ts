import { ToolCallExtensionsError } from "../index.ts";
import type { OnceStore } from "../once/index.ts";
import { onceStatements } from "./once-table.ts";

/** The part of a connection that is used: `Pool` of `pg` 8 has it, and so has `Client`, for one query at a time. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>;
}

/** Where in the database a {@link postgresOnceStore} keeps its claims. */
export interface PostgresOnceOptions {
  /** `tool_call_once` by default; may have a schema's name and a dot before it. */
  readonly table?: string | undefined;
}

/** A {@link OnceStore} in PostgreSQL. */
export interface PostgresOnceStore extends OnceStore {
  /** Creates the table where there is none; any number of processes may do so at once. */
  createTable(): Promise<void>;
}

/**
 * Makes a store in PostgreSQL, for any number of processes. Keeps a reference to the pool and never ends it.
 *
 * Each method is one statement and must be committed at once: hand it a pool, not a client inside a transaction, at the
 * default isolation, read committed.
 *
 * @throws ToolCallExtensionsError `invalid-argument` for a table name that is none.
 * @example
 * ```ts
 * import pg from "pg";
 * import { defineTool, ToolSet } from "tool-call-extensions";
 * import { once } from "tool-call-extensions/once";
 * import { postgresOnceStore } from "tool-call-extensions/postgres";
 *
 * const pool = new pg.Pool({ connectionString: "postgres://app@localhost/app" }); // connects on the first query
 * const store = postgresOnceStore(pool, { table: "billing.tool_call_once" });
 * const start = () => store.createTable(); // when the program starts, or in a migration
 *
 * const charge = defineTool({ name: "charge", input: { type: "object" }, call: () => "charged" });
 * const tools = new ToolSet([charge], { middleware: [once({ store })] });
 * const outcome = await tools.call("charge", {}); // has no session, so it fails before it asks the database
 * if (outcome.status !== "failed") throw new Error("ran without a key");
 * ```
 */
export function postgresOnceStore(client: PostgresClient, options: PostgresOnceOptions = {}): PostgresOnceStore {
  const { table = "tool_call_once" } = options;
  if (typeof client?.query !== "function") throw notAClient(client);
  const statements = onceStatements(table);
  const isInForce = async (statement: string, values: unknown[]): Promise<boolean> => {
    return (await client.query(statement, values)).rows.length > 0;
  };
  return {
    createTable: async () => {
      await client.query(statements.createTable);
    },
    claim: async ({ key, fingerprint, leaseMs }) => {
      const { rows } = await client.query(statements.claim, [key, fingerprint, leaseMs]);
      return toClaim(rows[0]);
    },
    renew: ({ key, fence, leaseMs }) => isInForce(statements.renew, [key, fence, leaseMs]),
    complete: ({ key, fence, outcome }) => isInForce(statements.complete, [key, fence, outcome]),
    release: async ({ key, fence }) => {
      await client.query(statements.release, [key, fence]);
    },
  };
}

/** As the statement gives it; the cast is the boundary. A fence is a string where a driver was told to read integers so. */
interface ClaimRow {
  readonly status: "claimed" | "held" | "completed" | "mismatched";
  readonly fence: number | string;
  readonly outcome: string;
}

function toClaim(row: unknown): Awaited<ReturnType<OnceStore["claim"]>> {
  // Somebody has just put the row in.
  if (row === undefined) return { status: "held" };
  const { status, fence, outcome } = row as ClaimRow;
  if (status === "claimed") return { status, fence: Number(fence) };
  return status === "completed" ? { status, outcome } : { status };
}

function notAClient(client: unknown): ToolCallExtensionsError {
  const argument = "the client of postgresOnceStore()";
  const received = client === null ? "null" : typeof client;
  const expected = "a Pool of pg, or anything with query(text, values)";
  const message = `${argument} must be ${expected}; received ${received}`;
  return new ToolCallExtensionsError("invalid-argument", message, { argument, received, expected });
}
