import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { v7 as uuidv7 } from "uuid";
import { expect, onTestFinished, test } from "vitest";
import { growLease } from "../../../ledger/leases/grow-leases.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { eventually } from "../../support/eventually.ts";
import { problemsOf } from "../../support/billing/migration-effects.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const MIGRATIONS = path.join(import.meta.dirname, "../../../ledger/migrations");
const WITHIN = { withinMs: 60_000 };

test("accounts get credit while a migration waits for a table that a long query reads", async () => {
  const { database, connect } = await postgres.empty();
  await migrate(database, { folder: await migrationsBefore("0043-account-limits.sql") });
  await database.execute("INSERT INTO account (id, name) VALUES ('acme', 'Acme')");
  await database.execute("INSERT INTO account_balance (account_id, posted_nano_usd) VALUES ('acme', 1000000000)");
  const query = await readSlowly(connect("report"), "account");

  const waits: string[] = [];
  const migrated = migrate(connect("migration"), { onLocked: (name) => waits.push(name) });
  const traffic = startLeasing(connect("gateway"));
  await eventually(() => expect(waits.length).toBeGreaterThanOrEqual(2), WITHIN);
  const before = traffic.granted();
  await eventually(() => expect(traffic.granted()).toBeGreaterThan(before + 5), WITHIN);

  await query.end();
  expect(await migrated).toContain("0043-account-limits.sql");
  expect(new Set(waits)).toStrictEqual(new Set(["0043-account-limits.sql"]));
  await traffic.stop();
});

/** They are older than the rule, and databases have applied them. */
const EARLIER_PROBLEMS = {
  "0006-leases.sql": [
    "locks several busy tables: account, ledger_entry, usage_event",
    "builds an index of a busy table: ledger_entry_credit",
  ],
  "0008-credits.sql": ["checks all rows of a busy table: ledger_entry_sign_check"],
  "0009-limits.sql": [
    "locks several busy tables: account, api_key",
    "checks all rows of a busy table: account_limits_check",
    "checks all rows of a busy table: api_key_limits_check",
  ],
  "0010-price-schedule.sql": ["checks all rows of a busy table: price_version_schedule_check"],
  "0011-key-rotation.sql": [
    "checks all rows of a busy table: api_key_check",
    "checks all rows of a busy table: api_key_previous_secret_hash_check",
  ],
  "0013-request-lists.sql": [
    "builds an index of a busy table: usage_event_group",
    "builds an index of a busy table: usage_event_incomplete",
  ],
  "0035-active-keys.sql": [
    "builds an index of a busy table: api_key_active",
    "builds an index of a busy table: api_key_change_order",
    "builds an index of a busy table: api_key_deleted",
    "builds an index of a busy table: api_key_list",
  ],
  "0043-account-limits.sql": [
    "writes rows of account while account is locked",
    "checks all rows of a busy table: account_operator_limits_check",
    "checks all rows of a busy table: account_owner_limits_check",
  ],
};

test("no migration blocks requests: it locks at most one busy table, and then does nothing that takes long", async () => {
  const { database } = await postgres.empty();
  const problems: Record<string, string[]> = {};
  for (const name of await migrationNames()) {
    const sql = await readFile(path.join(MIGRATIONS, name), "utf8");
    const found = await database.transaction((transaction) => problemsOf(transaction, sql));
    if (found.length > 0) problems[name] = found;
  }
  expect(problems).toStrictEqual(EARLIER_PROBLEMS);
});

test.for([
  {
    sql: "CREATE INDEX usage_by_upstream ON usage_by_day (model)",
    problem: "builds an index of a busy table: usage_by_upstream",
  },
  {
    sql: "ALTER TABLE api_key ADD CONSTRAINT short_name CHECK (length(name) < 200)",
    problem: "checks all rows of a busy table: short_name",
  },
  { sql: "ALTER TABLE account ALTER COLUMN name TYPE varchar(200)", problem: "rewrites a busy table: account" },
  {
    sql: "ALTER TABLE account ADD COLUMN region text; ALTER TABLE api_key ADD COLUMN region text",
    problem: "locks several busy tables: account, api_key",
  },
  {
    sql: "ALTER TABLE account ADD COLUMN region text; UPDATE account SET region = 'eu'",
    problem: "writes rows of account while account is locked",
  },
])("a migration is reported that $problem", async ({ sql, problem }) => {
  const { database } = await postgres.migrated();
  expect(await database.transaction((transaction) => problemsOf(transaction, sql))).toStrictEqual([problem]);
});

test.for([
  "ALTER TABLE account ADD COLUMN region text",
  "ALTER TABLE api_key ADD CONSTRAINT short_name CHECK (length(name) < 200) NOT VALID",
  "CREATE TABLE note (account_id text REFERENCES account, body text); CREATE INDEX note_account ON note (account_id)",
])("no problem is reported for %s", async (sql) => {
  const { database } = await postgres.migrated();
  expect(await database.transaction((transaction) => problemsOf(transaction, sql))).toStrictEqual([]);
});

async function migrationNames(): Promise<string[]> {
  return (await readdir(MIGRATIONS)).filter((name) => name.endsWith(".sql")).sort();
}

/** As an earlier version has them. */
async function migrationsBefore(first: string): Promise<URL> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-migrations-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const earlier = (await migrationNames()).filter((name) => name < first);
  await Promise.all(earlier.map((name) => cp(path.join(MIGRATIONS, name), path.join(directory, name))));
  return pathToFileURL(`${directory}/`);
}

/** A transaction that has read a table and goes on: until it ends, nobody can change the table's columns. */
async function readSlowly(database: Database, table: string): Promise<{ end(): Promise<void> }> {
  const hasRead = Promise.withResolvers<void>();
  const ending = new AbortController();
  // A failed test must not keep it open.
  onTestFinished(() => ending.abort());
  const ended = database.transaction(async (transaction) => {
    await transaction.execute(`SELECT count(*) FROM ${table}`);
    hasRead.resolve();
    while (!ending.signal.aborted) {
      await transaction.execute("SELECT");
      await sleep(50);
    }
  });
  await Promise.race([hasRead.promise, ended]);
  return {
    async end() {
      ending.abort();
      await ended;
    },
  };
}

/** New processes ask for credit of one account, one after another. Stopping it rejects with the first failure. */
function startLeasing(database: Database) {
  let granted = 0;
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const rules = { ttlMs: 45_000, minNanoUsd: 1_000n, maxNanoUsd: 1_000n };
  const asked = (async () => {
    while (!stopping.signal.aborted) {
      const request = {
        leaseId: uuidv7(),
        accountId: "acme",
        holder: uuidv7(),
        isNew: true,
        neededNanoUsd: 1n,
        wantedNanoUsd: 1n,
      };
      const { isOpen } = await growLease(database, request, rules);
      expect(isOpen).toBe(true);
      granted++;
    }
  })();
  // Reported when it is stopped.
  asked.catch(() => {});
  return {
    granted: () => granted,
    async stop() {
      stopping.abort();
      await asked;
    },
  };
}
