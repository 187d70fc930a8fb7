import { execFile } from "node:child_process";
import { access, appendFile, rename, rm } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { inject } from "vitest";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { tryLock } from "../../../local/process/lock.ts";

const run = promisify(execFile);

/** The template's database that a test creates its own ones from. */
export const MIGRATED = "migrated";

/**
 * A server that is killed loses nothing without fsync; only a machine that loses power does. Starting workers for a query takes
 * longer than reading a test's tables.
 */
const TEST_SETTINGS = [
  "",
  "fsync = off",
  "full_page_writes = off",
  "max_connections = 400",
  "max_parallel_workers_per_gather = 0",
  "",
].join("\n");
const LOCK_POLL_MS = 50;

/**
 * Puts a migrated cluster where `startPostgres` looks for one. The first caller of a test run makes the template;
 * everyone else copies it, which takes a tenth of the time of initdb and the migrations.
 */
export async function copyPostgresTemplate(dataDirectory: string, runDirectory = inject("runDirectory")): Promise<void> {
  await run("cp", ["-a", await findTemplate(runDirectory), dataDirectory]);
}

async function findTemplate(runDirectory: string): Promise<string> {
  const template = path.join(runDirectory, "postgres");
  while (!(await exists(template))) {
    const attempt = await tryLock(`${template}.lock`);
    if (attempt.kind === "held") {
      await sleep(LOCK_POLL_MS);
      continue;
    }
    try {
      if (!(await exists(template))) await makePostgresTemplate(template);
    } finally {
      await attempt.lock.release();
    }
  }
  return template;
}

/** Puts a migrated cluster, which no server runs on, into a new directory. */
export async function makePostgresTemplate(template: string): Promise<void> {
  const unfinished = `${template}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  const server = await startPostgres({ dataDirectory: unfinished });
  try {
    const database = createDatabase({ url: server.url, applicationName: "test template" });
    await migrate(database);
    await database.close();
    // A database with open connections cannot be copied.
    const administrator = createDatabase({ url: urlOf(server.url, "template1"), applicationName: "test template" });
    await administrator.execute(`CREATE DATABASE ${MIGRATED} TEMPLATE postgres`);
    // A run opens thousands of connections, and each of them repeats a hash 4,096 times by default: a third of the client's work.
    await administrator.transaction(async (transaction) => {
      await transaction.execute("SET LOCAL scram_iterations = 1");
      await transaction.execute(`ALTER ROLE CURRENT_USER PASSWORD '${decodeURIComponent(new URL(server.url).password)}'`);
    });
    await administrator.close();
  } finally {
    await server.stop();
  }
  await appendFile(path.join(unfinished, "cluster/postgresql.conf"), TEST_SETTINGS);
  await rename(unfinished, template);
}

/** The connection string of another database on the same server. */
export function urlOf(serverUrl: string, database: string): string {
  const changed = new URL(serverUrl);
  changed.pathname = `/${database}`;
  return changed.href;
}

async function exists(directory: string): Promise<boolean> {
  return access(directory).then(
    () => true,
    () => false,
  );
}
