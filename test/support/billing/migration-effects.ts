import * as z from "zod";
import type { Queryable } from "../../../ledger/postgres/database.ts";

/** Tables that are read or written while requests are served and settled. */
const BUSY_TABLES = [
  "account",
  "account_balance",
  "api_key",
  "credit_lease",
  "label_value",
  "ledger_entry",
  "limit_holder",
  "limit_process",
  "limit_total",
  "limit_use",
  "model",
  "price_version",
  "stored_item",
  "stored_response",
  "stored_response_total",
  "stored_response_volume",
  "trace_account",
  "trace_request",
  "usage_by_day",
  "usage_by_hour",
  "usage_by_label",
  "usage_by_label_and_key",
  "usage_event",
  "usage_label",
];

const tableRow = z.strictObject({ name: z.string(), file: z.int() });
const nameRow = z.strictObject({ name: z.string() });
const lockRow = z.strictObject({ name: z.string(), mode: z.string() });

type Tables = ReadonlyMap<string, number>;

/**
 * Applies a migration and observes what would keep the running version waiting (docs/decisions/0060): locks last until the
 * migration commits, so nothing may take long once a busy table is locked.
 * @returns one sentence for each problem.
 */
export async function problemsOf(transaction: Queryable, sql: string): Promise<string[]> {
  const before = await readTables(transaction);
  const busy = BUSY_TABLES.filter((name) => before.has(name));
  const [knownIndexes, knownChecks] = [await readIndexes(transaction, busy), await readChecks(transaction, busy)];
  await transaction.execute(sql);
  const after = await readTables(transaction);
  const locks = await readLocks(transaction, [...before.keys()]);
  const locked = busy.filter((name) => locks.some((lock) => lock.name === name && lock.mode === "AccessExclusiveLock"));
  const written = locks.filter(({ mode }) => mode === "RowExclusiveLock").map(({ name }) => name);
  const indexes = (await readIndexes(transaction, busy)).filter((name) => !knownIndexes.includes(name));
  const checks = (await readChecks(transaction, busy)).filter((name) => !knownChecks.includes(name));
  return [
    ...(locked.length > 1 ? [`locks several busy tables: ${locked.join(", ")}`] : []),
    ...(locked.length > 0 && written.length > 0
      ? [`writes rows of ${written.join(", ")} while ${locked.join(", ")} is locked`]
      : []),
    ...indexes.map((name) => `builds an index of a busy table: ${name}`),
    ...checks.map((name) => `checks all rows of a busy table: ${name}`),
    ...busy.filter((name) => isRewritten(name, before, after)).map((name) => `rewrites a busy table: ${name}`),
  ];
}

function isRewritten(name: string, before: Tables, after: Tables): boolean {
  return after.has(name) && after.get(name) !== before.get(name);
}

async function readTables(transaction: Queryable): Promise<Tables> {
  const rows = await transaction.query({
    text: `SELECT relname AS name, relfilenode::integer AS file FROM pg_class
           WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')`,
    row: tableRow,
  });
  return new Map(rows.map(({ name, file }) => [name, file]));
}

async function readLocks(transaction: Queryable, tables: readonly string[]): Promise<z.infer<typeof lockRow>[]> {
  return transaction.query({
    text: `SELECT relname AS name, mode FROM pg_locks JOIN pg_class ON pg_class.oid = relation
           WHERE pid = pg_backend_pid() AND relnamespace = 'public'::regnamespace AND relname = ANY($1) ORDER BY relname, mode`,
    values: [tables],
    row: lockRow,
  });
}

async function readIndexes(transaction: Queryable, tables: readonly string[]): Promise<string[]> {
  const rows = await transaction.query({
    text: `SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
           WHERE relnamespace = 'public'::regnamespace AND relname = ANY($1) ORDER BY name`,
    values: [tables],
    row: nameRow,
  });
  return rows.map(({ name }) => name);
}

/** Those that Postgres held against all rows. */
async function readChecks(transaction: Queryable, tables: readonly string[]): Promise<string[]> {
  const rows = await transaction.query({
    text: `SELECT conname AS name FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
           WHERE contype IN ('c', 'f') AND convalidated
             AND relnamespace = 'public'::regnamespace AND relname = ANY($1) ORDER BY conname`,
    values: [tables],
    row: nameRow,
  });
  return rows.map(({ name }) => name);
}
