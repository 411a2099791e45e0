import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";

/** A PostgreSQL server of the test's own. */
export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

const DEBIAN = "/usr/lib/postgresql";
const START_TIMEOUT_MS = 20_000;

function findBinaries(): string | undefined {
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((one, other) => Number(other) - Number(one)) : [];
  return versions.map((version) => `${DEBIAN}/${version}/bin`).find((folder) => existsSync(`${folder}/initdb`));
}

const binaries: string | undefined = findBinaries();

/** Why there can be no server, or `undefined` when there can. */
export const noServerReason: string | undefined =
  binaries === undefined
    ? `There is no PostgreSQL server under ${DEBIAN}: "apt-get install postgresql" brings one.`
    : undefined;

/**
 * Owns the server and its folder: both go when its input ends, which happens even when the test's process is killed.
 * Nothing of it needs to outlive a crash, so nothing is flushed. QUIT does not wait for clients, but a server that has just
 * been started ignores it, so TERM comes first.
 */
const SUPERVISOR = `
  folder=$(mktemp -d -t once-postgres-XXXXXX) || exit 1
  trap 'rm -rf "$folder"' EXIT
  "$1/initdb" -D "$folder/data" -U once -A trust -E UTF8 --locale=C --no-sync >/dev/null || exit 1
  "$1/postgres" -D "$folder/data" -p "$2" -k "$folder" -c listen_addresses=127.0.0.1 -c fsync=off -c max_connections=80 &
  server=$!
  cat >/dev/null
  kill -TERM "$server"
  kill -QUIT "$server"
  wait "$server"
`;

/** Starts a server on a free port with a folder of its own. */
export async function startPostgres(): Promise<PostgresServer> {
  const port = await freePort();
  const supervisor = spawnUnprivileged("sh", ["-c", SUPERVISOR, "sh", String(binaries), String(port)]);
  const exited = new Promise<void>((resolve) => supervisor.once("exit", () => resolve()));
  const stop = (): Promise<void> => {
    supervisor.stdin?.end();
    return exited;
  };
  try {
    await ready(supervisor);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `postgres://once@127.0.0.1:${port}/postgres`, stop };
}

/** The server refuses to run as root; Debian's package brings a user for it. */
function spawnUnprivileged(command: string, args: readonly string[]): ChildProcess {
  const isRoot = process.getuid?.() === 0;
  const [program, all] = isRoot ? ["runuser", ["-u", "postgres", "--", command, ...args]] : [command, args];
  // Detached, so that Ctrl-C in a terminal reaches the test alone, and the supervisor lives to tidy up.
  return spawn(program, all, { cwd: "/", detached: true, stdio: ["pipe", "ignore", "pipe"] });
}

function ready(supervisor: ChildProcess): Promise<void> {
  let log = "";
  return new Promise((resolve, reject) => {
    const fail = (what: string): void => reject(new Error(`PostgreSQL ${what}:\n${log}`));
    const timer = setTimeout(() => fail("did not start in time"), START_TIMEOUT_MS);
    supervisor.once("error", reject);
    supervisor.once("exit", () => fail("ended"));
    supervisor.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log += text;
      if (!log.includes("ready to accept connections")) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}
