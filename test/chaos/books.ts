import * as z from "zod";
import type { Usage } from "../../contract/usage.ts";
import { checkLedger } from "../../ledger/check.ts";
import type { Database } from "../../ledger/database.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";

/** What the ledger says of a request. */
export interface Booked {
  outcome: string;
  isEstimated: boolean;
  usage: Usage;
  chargeNanoUsd: bigint;
  /** Tokens × the price in force, rounded once. */
  dueNanoUsd: bigint;
}

const BOOKED = `
  SELECT u.request_id AS "requestId", u.outcome, u.is_estimated AS "isEstimated", u.charge_nano_usd AS "chargeNanoUsd",
    u.input_tokens AS "inputTokens", u.cached_input_tokens AS "cachedInputTokens", u.cache_write_tokens AS "cacheWriteTokens",
    u.output_tokens AS "outputTokens", u.reasoning_tokens AS "reasoningTokens", p.input_pico_usd AS "inputPicoUsd",
    p.cached_input_pico_usd AS "cachedInputPicoUsd", p.cache_write_pico_usd AS "cacheWritePicoUsd",
    p.output_pico_usd AS "outputPicoUsd"
  FROM usage_event u JOIN price_version p ON p.id = u.price_version_id`;

const tokens = z.bigint().transform(Number);
const bookedRow = z.strictObject({
  requestId: z.string(),
  outcome: z.string(),
  isEstimated: z.boolean(),
  chargeNanoUsd: z.bigint(),
  inputTokens: tokens,
  cachedInputTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
  reasoningTokens: tokens,
  inputPicoUsd: z.bigint(),
  cachedInputPicoUsd: z.bigint(),
  cacheWritePicoUsd: z.bigint(),
  outputPicoUsd: z.bigint(),
});

/** Each request's one row: its key in the database says that there is no second. */
export async function readBooked(database: Database): Promise<ReadonlyMap<string, Booked>> {
  const rows = await database.query({ text: BOOKED, row: bookedRow });
  return new Map(rows.map((row) => [row.requestId, toBooked(row)]));
}

function toBooked(row: z.infer<typeof bookedRow>): Booked {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = row;
  const { outcome, isEstimated, chargeNanoUsd: charge } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return { outcome, isEstimated, usage, chargeNanoUsd: charge, dueNanoUsd: chargeNanoUsd(usage, row) };
}

const LOWEST = `
  SELECT account_id AS account, min(posted)::bigint AS lowest
  FROM (SELECT account_id, sum(amount_nano_usd) OVER (PARTITION BY account_id ORDER BY id) AS posted FROM ledger_entry)
  GROUP BY account_id`;

/** What must hold of the books as a whole, at rest. @returns what does not. */
export async function auditBooks(database: Database, overdraftNanoUsd: bigint): Promise<string[]> {
  const differences = await checkLedger(database);
  const lowest = await database.query({ text: LOWEST, row: z.strictObject({ account: z.string(), lowest: z.bigint() }) });
  return [
    ...differences.map(({ check, subject, expected, found }) => `ledger check ${check}: ${subject}: ${expected} ≠ ${found}`),
    ...lowest
      .filter((each) => each.lowest < -overdraftNanoUsd)
      .map((each) => `account ${each.account} was at ${each.lowest} nano-USD, its bound is -${overdraftNanoUsd}`),
  ];
}

/** Leases that nobody has given back. */
export async function countOpenLeases(database: Database): Promise<number> {
  const [row] = await database.query({
    text: "SELECT count(*) AS count FROM credit_lease WHERE ended_at IS NULL",
    row: z.strictObject({ count: z.bigint() }),
  });
  return Number(row?.count ?? 0n);
}
