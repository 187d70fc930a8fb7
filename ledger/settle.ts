import * as z from "zod";
import type { Protocol } from "../contract/protocol.ts";
import type { Usage } from "../contract/usage.ts";
import type { Database, Queryable } from "./database.ts";
import { createPartitionsFor } from "./partitions.ts";
import { isCheckViolation } from "./postgres-error.ts";
import { SETTLEMENT_COLUMNS } from "./settlement-columns.ts";

/** One attempt that reached an upstream, and what it costs. */
export interface Settlement {
  /** UUIDv7; its time decides the day that the usage counts for. */
  requestId: string;
  /** From 1. (requestId, attempt) is charged once. */
  attempt: number;
  accountId: string;
  /** Public id of the API key. */
  keyId: string;
  /** The name under which it is served. */
  model: string;
  interface: Protocol;
  upstreamProtocol: Protocol;
  backend: string;
  /** In force when the request was admitted (S28). */
  priceVersionId: bigint;
  usage: Usage;
  isEstimated: boolean;
  /** From 0 up; 0 leaves a usage row and no ledger entry. */
  chargeNanoUsd: bigint;
  httpStatus: number;
  outcome: "complete" | "truncated" | "failed" | "aborted";
  isStream: boolean;
  startedAt: Date;
  durationMs: number;
  firstTokenMs: number | null;
}

export interface SettleResult {
  /** How many landed with this call; what had landed before is not among them. */
  settled: number;
  /** Posted balance of each account in the batch, nano-USD, after it. */
  balances: ReadonlyMap<string, bigint>;
}

/** The batch names an account that does not exist; nothing of it was settled. Where it is charged, Postgres says so itself. */
export class UnknownAccountError extends Error {
  constructor(accountIds: readonly string[]) {
    super(`There is no account ${accountIds.join(", ")}.`);
    this.name = "UnknownAccountError";
  }
}

/**
 * Records usage, appends entries and moves balances: all of a batch, or nothing. A settlement that is there already
 * moves nothing, so any batch may be sent again when its outcome is unknown.
 * @throws UnknownAccountError; a Postgres error of class 22 or 23 where a row is not acceptable.
 */
export async function settle(database: Database, settlements: readonly Settlement[]): Promise<SettleResult> {
  if (settlements.length === 0) return { settled: 0, balances: new Map() };
  const settleAll = () => database.transaction((transaction) => settleIn(transaction, settlements));
  try {
    return await settleAll();
  } catch (error) {
    // Postgres reports a missing partition as a violated check. Only the first settlements of a day meet it, and
    // another writer may have made it in the meantime; any other violated check comes again.
    if (!isCheckViolation(error)) throw error;
    await createPartitionsFor(
      database,
      settlements.map(({ requestId }) => requestId),
    );
    return settleAll();
  }
}

/**
 * Rows are written, and balances locked, in sorted order, usage before balances: writers wait for one another, and
 * never in a circle.
 */
async function settleIn(transaction: Queryable, settlements: readonly Settlement[]): Promise<SettleResult> {
  const inserted = await insertUsage(transaction, settlements);
  const balances = await lockBalances(transaction, new Set(settlements.map(({ accountId }) => accountId)));
  const charged = inserted.filter(({ chargeNanoUsd }) => chargeNanoUsd > 0n);
  for (const { accountId, postedNanoUsd } of await charge(transaction, charged)) balances.set(accountId, postedNanoUsd);
  await markKeysUsed(transaction, settlements);
  return { settled: inserted.reduce((sum, { settled }) => sum + settled, 0), balances };
}

const names = SETTLEMENT_COLUMNS.map(({ name }) => name).join(", ");
const parameters = SETTLEMENT_COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");

const insertedRow = z.strictObject({ accountId: z.string(), settled: z.int(), chargeNanoUsd: z.bigint() });

/**
 * Money moves by the entries that are new, not by the usage rows that are new: usage is dropped after its retention
 * time, entries never.
 */
const INSERT_USAGE = `
  WITH incoming AS (
    SELECT * FROM unnest(${parameters}) AS incoming (${names})
  ), fresh AS (
    INSERT INTO usage_event (day, ${names})
    SELECT usage_day(request_id), ${names} FROM incoming ORDER BY request_id, attempt
    ON CONFLICT DO NOTHING
    RETURNING request_id, attempt, account_id, charge_nano_usd
  ), entered AS (
    INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, request_id, attempt)
    SELECT account_id, 'usage', -charge_nano_usd, 'revenue', request_id, attempt
    FROM fresh WHERE charge_nano_usd > 0 ORDER BY request_id, attempt
    ON CONFLICT DO NOTHING
    RETURNING request_id, attempt, amount_nano_usd
  )
  SELECT account_id AS "accountId", count(*)::integer AS settled, coalesce(-sum(amount_nano_usd), 0)::bigint AS "chargeNanoUsd"
  FROM fresh LEFT JOIN entered USING (request_id, attempt) GROUP BY account_id`;

async function insertUsage(transaction: Queryable, settlements: readonly Settlement[]) {
  const values = SETTLEMENT_COLUMNS.map(({ read }) => settlements.map(read));
  return transaction.query({ text: INSERT_USAGE, values, row: insertedRow });
}

const balanceRow = z.strictObject({ accountId: z.string(), postedNanoUsd: z.bigint() });

async function lockBalances(transaction: Queryable, accountIds: ReadonlySet<string>): Promise<Map<string, bigint>> {
  const rows = await transaction.query({
    text: `SELECT account_id AS "accountId", posted_nano_usd AS "postedNanoUsd" FROM account_balance
           WHERE account_id = ANY($1) ORDER BY account_id FOR NO KEY UPDATE`,
    values: [[...accountIds]],
    row: balanceRow,
  });
  const balances = new Map(rows.map(({ accountId, postedNanoUsd }) => [accountId, postedNanoUsd]));
  if (balances.size < accountIds.size) throw new UnknownAccountError([...accountIds].filter((id) => !balances.has(id)));
  return balances;
}

async function charge(transaction: Queryable, charged: readonly { accountId: string; chargeNanoUsd: bigint }[]) {
  if (charged.length === 0) return [];
  return transaction.query({
    text: `UPDATE account_balance SET posted_nano_usd = posted_nano_usd - charge_nano_usd, version = version + 1
           FROM unnest($1::text[], $2::bigint[]) AS charged (charged_id, charge_nano_usd)
           WHERE account_id = charged_id
           RETURNING account_id AS "accountId", posted_nano_usd AS "postedNanoUsd"`,
    values: [charged.map(({ accountId }) => accountId), charged.map(({ chargeNanoUsd }) => chargeNanoUsd)],
    row: balanceRow,
  });
}

/** To the minute: most batches write nothing here. A key that another batch marks right now needs no second mark. */
async function markKeysUsed(transaction: Queryable, settlements: readonly Settlement[]): Promise<void> {
  await transaction.execute(
    `WITH used AS (
       SELECT key_id, max(started_at) AS used_at FROM unnest($1::text[], $2::timestamptz[]) AS used (key_id, started_at) GROUP BY key_id
     ), stale AS (
       SELECT public_id, used_at FROM api_key JOIN used ON public_id = key_id
       WHERE last_used_at IS NULL OR last_used_at < used_at - interval '1 minute'
       FOR NO KEY UPDATE OF api_key SKIP LOCKED
     )
     UPDATE api_key SET last_used_at = used_at FROM stale WHERE api_key.public_id = stale.public_id`,
    [settlements.map(({ keyId }) => keyId), settlements.map(({ startedAt }) => startedAt)],
  );
}
