import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import { catalogueModel, PRICE } from "../../support/billing/ledger.ts";
import { daysBefore } from "../../../contract/days.ts";

/** How far back usage is kept and asked for. */
export const DAYS = 90;
const ACCOUNTS = 1_000;

/** A tenth of all rows is one account's, a hundredth another's; the rest is spread unevenly over the others. */
export const LARGEST = "account-0";
export const LARGE = "account-1";
/** The others, in turn. */
export function usualAccount(number: number): string {
  return `account-${2 + ((number * 37) % (ACCOUNTS - 2))}`;
}

/** Keys of an account count from 0 up to this, in SQL. */
const LAST_KEY = "CASE account WHEN 0 THEN 19 WHEN 1 THEN 4 ELSE 2 END";
const MODELS = ["modelx-v4-pro", "modelx-v4-flash", "modelx-chat", "modelx-reasoner"];

/** Public id of an account's key; the first ones are used most. */
export function keyOf(accountId: string, number: number): string {
  return `bench${accountId.slice("account-".length).padStart(5, "0")}${String(number).padStart(2, "0")}`;
}

const FILLED = [
  "account",
  "account_balance",
  "api_key",
  "ledger_entry",
  "model",
  "price_version",
  "usage_by_day",
  "usage_by_hour",
  "usage_event",
];

export interface Load {
  rows: number;
  /** All rows are the largest account's; not given: a tenth is. */
  isOfLargest?: boolean;
  days: number;
  /** UTC, `YYYY-MM-DD`: the last of the days that are filled. */
  lastDay: string;
  /** Its limit on statements is to suit whole days of rows, not requests. */
  database: Database;
  /** How many days are made at once. */
  workers: number;
  log(line: string): void;
}

/** Fills a migrated database with usage, its rollups and credits. Entries of usage are left out: no report reads them. */
export async function loadUsage({ rows, isOfLargest = false, days, lastDay, database, workers, log }: Load): Promise<void> {
  await seedAccounts(database);
  const left = Array.from({ length: days }, (_, index) => dayBefore(lastDay, days - 1 - index));
  const startedMs = performance.now();
  async function work(): Promise<void> {
    for (let day = left.shift(); day !== undefined; day = left.shift()) {
      await loadDay(database, { day, rows: Math.ceil(rows / days), isOfLargest });
      log(`${day} is loaded; ${((performance.now() - startedMs) / 1000).toFixed(0)} s since the start`);
    }
  }
  await Promise.all(Array.from({ length: workers }, work));
  // Only what it filled: the catalogs, among them those shared with all other databases, are as they were.
  await database.execute(`VACUUM (ANALYZE) ${FILLED.join(", ")}`);
}

export function dayBefore(day: string, days: number): string {
  return daysBefore(day, days);
}

/** Accounts with keys and credits, and prices for what they used. The largest has many times a usual one's credits. */
async function seedAccounts(database: Database): Promise<void> {
  await publishModels(
    database,
    MODELS.map((name) => ({ model: catalogueModel(name), price: PRICE })),
  );
  const accounts = `generate_series(0, ${ACCOUNTS - 1}) AS account`;
  await database.execute(`INSERT INTO account (id, name) SELECT 'account-' || account, 'account ' || account FROM ${accounts}`);
  await database.execute(`INSERT INTO account_balance (account_id) SELECT 'account-' || account FROM ${accounts}`);
  // Nobody calls with these keys: their hashes need only look like some.
  await database.execute(`
    INSERT INTO api_key (public_id, account_id, name, secret_hash)
    SELECT 'bench' || lpad(account::text, 5, '0') || lpad(key::text, 2, '0'), 'account-' || account, 'key ' || key, sha256(key::text::bytea)
    FROM ${accounts} CROSS JOIN generate_series(0, 19) AS key WHERE key <= ${LAST_KEY}`);
  await database.execute(`
    INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference)
    SELECT 'account-' || account, 'grant', 1000000000, 'promotion', 'bench:' || account || ':' || credit
    FROM generate_series(1, 5000) AS credit CROSS JOIN ${accounts} WHERE account = 0 OR credit <= 20`);
}

/**
 * The partition is made aside and its indexes come last, when it is attached: several times as fast as row by row. All in
 * one transaction, which needs no write-ahead log for a table of its own.
 */
async function loadDay(database: Database, made: { day: string; rows: number; isOfLargest: boolean }): Promise<void> {
  const { day } = made;
  const table = `usage_event_${day.replaceAll("-", "")}`;
  await database.transaction(async (transaction) => {
    await transaction.execute("SET LOCAL synchronous_commit = off");
    await transaction.execute(`CREATE TABLE ${table} (LIKE usage_event INCLUDING ALL EXCLUDING INDEXES)`);
    await insertDay(transaction, { table, ...made });
    await transaction.execute(
      `ALTER TABLE usage_event ATTACH PARTITION ${table} FOR VALUES FROM ('${day}') TO ('${dayBefore(day, -1)}')`,
    );
    await rollUp(transaction, table);
  });
}

/** Rows come in the order of their time, as they do when requests are settled. */
async function insertDay(
  transaction: Queryable,
  { table, day, rows, isOfLargest }: { table: string; day: string; rows: number; isOfLargest: boolean },
): Promise<void> {
  await transaction.execute(`
    INSERT INTO ${table} (day, request_id, attempt, account_id, key_id, model, interface, upstream_protocol, backend,
      price_version_id, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens, is_estimated,
      charge_nano_usd, http_status, outcome, is_stream, started_at, duration_ms, first_token_ms, settled_at, lease_id)
    SELECT '${day}', uuidv7(started_at - clock_timestamp()), 1, 'account-' || account,
      'bench' || lpad(account::text, 5, '0') || lpad((power(key_draw, 3) * keys)::integer::text, 2, '0'),
      CASE WHEN model_draw < 0.6 THEN 'modelx-v4-pro' WHEN model_draw < 0.9 THEN 'modelx-v4-flash'
        WHEN model_draw < 0.99 THEN 'modelx-chat' ELSE 'modelx-reasoner' END,
      CASE WHEN interface_draw < 0.5 THEN 'chat' ELSE 'messages' END, 'chat', 'main', 1,
      input_tokens, cached_tokens, 0, output_tokens, output_tokens / 4, false,
      input_tokens * 300 + cached_tokens * 30 + output_tokens * 1200,
      CASE WHEN is_complete THEN 200 ELSE 502 END,
      CASE WHEN is_complete THEN 'complete' WHEN model_draw < 0.3 THEN 'aborted' ELSE 'failed' END, interface_draw < 0.7,
      started_at, output_tokens * 10, 400, started_at + interval '2 seconds', NULL
    FROM (
      SELECT *, ${LAST_KEY} AS keys,
        CASE WHEN is_complete THEN prompt_tokens ELSE 0 END AS input_tokens,
        CASE WHEN is_complete AND interface_draw < 0.4 THEN prompt_tokens * 2 ELSE 0 END AS cached_tokens,
        CASE WHEN is_complete THEN 1 + (length_draw * length_draw * 1500)::integer ELSE 0 END AS output_tokens
      FROM (
        SELECT timestamptz '${day} 00:00:10Z' + number * (interval '86380 seconds' / ${rows}) AS started_at,
          CASE WHEN account_draw < 0.1 THEN 0 WHEN account_draw < 0.11 THEN 1
            ELSE 2 + floor(power((account_draw - 0.11) / 0.89, 2) * ${ACCOUNTS - 2})::integer END AS account,
          random() AS key_draw, random() AS model_draw, random() AS interface_draw, random() AS length_draw,
          50 + (random() * 3000)::integer AS prompt_tokens, random() < 0.98 AS is_complete
        FROM (SELECT number, random() * ${isOfLargest ? 0.1 : 1} AS account_draw FROM generate_series(0, ${rows - 1}) AS number) AS drawn
      ) AS request
    ) AS counted`);
}

async function rollUp(transaction: Queryable, table: string): Promise<void> {
  const counted = [
    "input_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "charge_nano_usd",
  ];
  const sums = counted.map((name) => `sum(${name})`).join(", ");
  await transaction.execute(`INSERT INTO usage_by_hour (account_id, hour, key_id, model, requests, ${counted.join(", ")})
    SELECT account_id, usage_hour(request_id), key_id, model, count(*), ${sums}
    FROM ${table} GROUP BY account_id, usage_hour(request_id), key_id, model ORDER BY 1, 2, 3, 4`);
  await transaction.execute(`INSERT INTO usage_by_day (account_id, day, key_id, model, requests, ${counted.join(", ")})
    SELECT account_id, day, key_id, model, count(*), ${sums}
    FROM ${table} GROUP BY account_id, day, key_id, model ORDER BY 1, 2, 3, 4`);
}
