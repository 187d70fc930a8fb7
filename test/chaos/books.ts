import * as z from "zod";
import type { Usage } from "../../contract/usage.ts";
import { checkLedger } from "../../ledger/upkeep/check.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import { CHARGE_COLUMNS, chargeShape, nestCharge, USAGE_WITH_PRICE } from "../support/billing/charge-row.ts";

/** What the ledger says of a request. */
export interface Booked {
  outcome: string;
  isEstimated: boolean;
  usage: Usage;
  chargeNanoUsd: bigint;
  /** Tokens × the price in force, rounded once. */
  dueNanoUsd: bigint;
}

const BOOKED = `SELECT u.request_id AS "requestId", ${CHARGE_COLUMNS} FROM ${USAGE_WITH_PRICE}`;
const bookedRow = z.strictObject({ requestId: z.string(), ...chargeShape });

/** Each request's one row: its key in the database says that there is no second. */
export async function readBooked(database: Database): Promise<ReadonlyMap<string, Booked>> {
  const rows = await database.query({ text: BOOKED, row: bookedRow });
  return new Map(rows.map((row) => [row.requestId, toBooked(row)]));
}

function toBooked(row: z.infer<typeof bookedRow>): Booked {
  const { outcome, isEstimated, usage, price, chargeNanoUsd: charge } = nestCharge(row);
  return { outcome, isEstimated, usage, chargeNanoUsd: charge, dueNanoUsd: chargeNanoUsd(usage, price) };
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

/** Leases of processes that are gone: a live one keeps a small lease for a while, and takes a turn of limits every second. */
export async function countAbandonedLeases(database: Database): Promise<number> {
  const [row] = await database.query({
    text: `SELECT count(*) AS count FROM credit_lease WHERE ended_at IS NULL
             AND holder NOT IN (SELECT holder FROM limit_process WHERE seen_at > now() - interval '10 seconds')`,
    row: z.strictObject({ count: z.bigint() }),
  });
  return Number(row?.count ?? 0n);
}
