/**
 * A store for `once` in PostgreSQL, for any number of processes.
 *
 * @module
 */

export {
  type PostgresClient,
  type PostgresOnceOptions,
  type PostgresOnceStore,
  postgresOnceStore,
} from "./postgres-once-store.ts";
