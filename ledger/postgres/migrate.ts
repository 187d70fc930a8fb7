import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { backOffMs } from "../../runtime/wait.ts";
import type { Database, Queryable } from "./database.ts";
import { isLockTimeout } from "./postgres-error.ts";

const FOLDER = new URL("../migrations/", import.meta.url);
/** Any two numbers, as long as nothing else in this database locks the same. */
const LOCK = "SELECT pg_advisory_xact_lock(1835493482, 1)";
const STATEMENT_TIMEOUT_MS = 600_000;
/**
 * Statements of the running version queue up behind a migration that waits for its lock. Requests wait up to 2 s for credit, so a
 * migration gives up well before that, lets the queue pass, and tries again (docs/decisions/0060).
 */
const LOCK_TIMEOUT_MS = 400;
const LOCK_RETRY = { firstMs: 500, maxMs: 3_000 } as const;
/** Four to six minutes. The chart's Job then starts the migration anew, up to `migration.backoffLimit` times. */
const MAX_LOCK_ATTEMPTS = 120;

/**
 * Other checksums of migrations with the same statements: a comment of each was changed for some hours, and then restored.
 * Databases created in that time recorded these.
 */
const SAME_STATEMENTS: Readonly<Record<string, string>> = {
  "0010-price-schedule.sql": "9350aa11562feb1374cc2ceee94ddb50c18c33e0be7afce376909f64b239f46a",
  "0012-payments.sql": "6105d71741bf116ce2c9ec3adaa4c55f9748a2243676fc2e6418cee72bd7a233",
  "0016-operator-replicas.sql": "1490491764108611119eff7204f18073c5ebe239267d6253ff5840931752d90c",
};

interface Migration {
  name: string;
  sql: string;
  checksum: string;
}

interface MigrateOptions {
  /** Another folder of migrations, with a slash at its end; for tests. */
  folder?: URL;
  /** The migration waits for a table that is in use, and will be tried again. */
  onLocked?: (name: string) => void;
}

/**
 * Brings the schema to the newest migration, each in its own transaction. Any number of processes may call it at the same time:
 * each takes the same lock before it checks.
 * @returns the names of those that this call applied.
 * @throws Error that names the migration that failed, was changed after it was applied, or is out of order.
 */
export async function migrate(
  database: Database,
  { folder = FOLDER, onLocked = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  const migrations = await readMigrations(folder);
  const applied: string[] = [];
  for (let attempts = 1; ; attempts++) {
    try {
      const name = await database.transaction((transaction) => applyNext(transaction, migrations), {
        statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      });
      if (name === undefined) return applied;
      applied.push(name);
      attempts = 0;
    } catch (error) {
      if (!(error instanceof LockedError) || attempts >= MAX_LOCK_ATTEMPTS) throw error;
      onLocked(error.migration);
      await sleep(backOffMs(LOCK_RETRY, attempts, Math.random()));
    }
  }
}

/** A table that a migration changes was in use for longer than others may wait. */
class LockedError extends Error {
  readonly migration: string;

  constructor(migration: string) {
    super(
      `The migration ${migration} cannot lock a table: a long query or transaction uses it. End it (pg_stat_activity lists it), and migrate again.`,
    );
    this.migration = migration;
  }
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), "utf8");
      return { name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
    }),
  );
}

async function applyNext(transaction: Queryable, migrations: readonly Migration[]): Promise<string | undefined> {
  await transaction.execute(LOCK);
  await transaction.execute(
    `CREATE TABLE IF NOT EXISTS schema_migration (
       name text PRIMARY KEY,
       checksum text NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT now()
     )`,
  );
  const rows = await transaction.query({
    text: "SELECT name, checksum FROM schema_migration",
    row: z.strictObject({ name: z.string(), checksum: z.string() }),
  });
  const next = chooseNext(migrations, new Map(rows.map(({ name, checksum }) => [name, checksum])));
  if (next === undefined) return undefined;
  try {
    await transaction.execute(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await transaction.execute(next.sql);
  } catch (error) {
    if (isLockTimeout(error)) throw new LockedError(next.name);
    throw new Error(`The migration ${next.name} failed.`, { cause: error });
  }
  await transaction.execute("INSERT INTO schema_migration (name, checksum) VALUES ($1, $2)", [next.name, next.checksum]);
  return next.name;
}

/** Migrations in the database that this program does not know are a newer program's, which keeps them compatible. */
function chooseNext(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): Migration | undefined {
  for (const { name, checksum } of migrations) {
    const recorded = applied.get(name);
    if (recorded !== undefined && recorded !== checksum && recorded !== SAME_STATEMENTS[name])
      throw new Error(`The migration ${name} was changed after it was applied. Restore it and put the change into a new one.`);
  }
  const next = migrations.find(({ name }) => !applied.has(name));
  if (next === undefined) return undefined;
  const last = [...applied.keys()].sort().at(-1);
  if (last !== undefined && next.name < last)
    throw new Error(`The migration ${next.name} comes before ${last}, which is applied already. Give it a later number.`);
  return next;
}
