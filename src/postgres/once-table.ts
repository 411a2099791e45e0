import { ToolCallExtensionsError } from "../index.ts";

/** The statements on one table; `$1` is the key throughout. */
export interface OnceStatements {
  readonly createTable: string;
  readonly claim: string;
  readonly renew: string;
  readonly complete: string;
  readonly release: string;
}

/**
 * Every statement is atomic by itself, and no clock but the database's is read. A fence is in force while it is the row's
 * own and the row has no outcome.
 */
export function onceStatements(name: string): OnceStatements {
  const table = quoted(name);
  const inForce = "WHERE key = $1 AND fence = $2 AND outcome IS NULL";
  return {
    createTable: createTable(table),
    claim: claim(table),
    renew: `UPDATE ${table} SET leased_until = now() + $3 * interval '1 millisecond' ${inForce} RETURNING fence`,
    complete: `UPDATE ${table} SET outcome = $3, completed_at = now() ${inForce} RETURNING fence`,
    release: `UPDATE ${table} SET fence = fence + 1, leased_until = now() ${inForce}`,
  };
}

/** In a block with a lock, because `IF NOT EXISTS` alone fails when several processes start at once. */
function createTable(table: string): string {
  return `DO $do$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('tool-call-extensions/once'));
  CREATE TABLE IF NOT EXISTS ${table} (
    key text PRIMARY KEY,
    fingerprint text NOT NULL,
    fence integer NOT NULL,
    leased_until timestamptz NOT NULL,
    outcome text,
    completed_at timestamptz
  );
END $do$`;
}

/**
 * The update's condition is checked on the row's newest version, under its lock. The last part reads the row as it was when
 * the statement began: it may say `held` too long, or nothing when the row is newer, and the next claim sees what is true.
 */
function claim(table: string): string {
  return `WITH claimed AS (
  INSERT INTO ${table} AS present (key, fingerprint, fence, leased_until)
  VALUES ($1, $2, 1, now() + $3 * interval '1 millisecond')
  ON CONFLICT (key) DO UPDATE SET fence = present.fence + 1, leased_until = excluded.leased_until
    WHERE present.outcome IS NULL AND present.leased_until <= now() AND present.fingerprint = excluded.fingerprint
  RETURNING fence
)
SELECT 'claimed' AS status, fence, NULL AS outcome FROM claimed
UNION ALL
SELECT CASE WHEN fingerprint <> $2 THEN 'mismatched' WHEN outcome IS NULL THEN 'held' ELSE 'completed' END, fence, outcome
FROM ${table} WHERE key = $1 AND NOT EXISTS (SELECT FROM claimed)`;
}

const IDENTIFIER = /^[a-z_][a-z0-9_]{0,62}$/;

/** Checked and quoted: the name becomes part of the statements, and may be a word of SQL. */
function quoted(name: string): string {
  const parts = typeof name === "string" ? name.split(".") : [];
  const isValid = parts.length > 0 && parts.length <= 2 && parts.every((part) => IDENTIFIER.test(part));
  if (isValid) return parts.map((part) => `"${part}"`).join(".");
  const argument = "option table of postgresOnceStore()";
  const received = typeof name === "string" ? JSON.stringify(name) : typeof name;
  const expected = '"table" or "schema.table", of lower-case letters, digits and underscores';
  const message = `${argument} must be ${expected}; received ${received}`;
  throw new ToolCallExtensionsError("invalid-argument", message, { argument, received, expected });
}
