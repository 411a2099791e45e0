export {
  type PostgresClient,
  type PostgresOnceOptions,
  type PostgresOnceStore,
  postgresOnceStore,
} from "./postgres-once-store.ts";
