import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { startPostgres } from "../../../local/postgres.ts";

const STATEMENT_TIMEOUT_MS = 3_600_000;

/** The rest is as the product's own server has it. Nothing here is durable: only reading is measured. */
const SETTINGS = {
  wal_level: "minimal",
  max_wal_senders: "0",
  max_wal_size: "8GB",
  fsync: "off",
  shared_buffers: "1GB",
  maintenance_work_mem: "512MB",
  work_mem: "64MB",
} as const;

/**
 * A server with a data directory for a while.
 * @param keptDirectory stays behind, for the next run; a temporary one, removed afterwards, where not given.
 */
export async function withServer(
  keptDirectory: string | undefined,
  work: (connect: (applicationName: string) => Database) => Promise<void>,
): Promise<void> {
  const dataDirectory = keptDirectory ?? (await mkdtemp(path.join(tmpdir(), "gateway-bench-")));
  try {
    await configure(dataDirectory);
    const server = await startPostgres({ dataDirectory });
    const databases: Database[] = [];
    try {
      await work((applicationName) => {
        const database = createDatabase({ url: server.url, applicationName, statementTimeoutMs: STATEMENT_TIMEOUT_MS });
        databases.push(database);
        return database;
      });
    } finally {
      await Promise.all(databases.map((database) => database.close()));
      await server.stop();
    }
  } finally {
    if (keptDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true });
  }
}

/** These settings count from the next start on. */
async function configure(dataDirectory: string): Promise<void> {
  const server = await startPostgres({ dataDirectory });
  const database = createDatabase({ url: server.url, applicationName: "bench settings" });
  try {
    for (const [name, value] of Object.entries(SETTINGS)) await database.execute(`ALTER SYSTEM SET ${name} = '${value}'`);
  } finally {
    await database.close();
    await server.stop();
  }
}
