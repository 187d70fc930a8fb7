import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";
import { kindColumn, type ListedEntry } from "../credit/entry-list.ts";
import { usageByModel, type UsageByModel } from "../usage/reports.ts";
import { readProviderKeyUsage, type ProviderKeyUsage } from "../usage/provider-key-usage.ts";
import { addUsage, NO_USAGE_SUMS, type UsageSums } from "../usage/sums.ts";
import { daysOfMonth, monthAfter } from "./month.ts";

/** What changed an account's balance in a UTC month. The closing balance of one month is the opening balance of the next. */
export interface Statement {
  /** `YYYY-MM`. */
  month: string;
  openingNanoUsd: bigint;
  closingNanoUsd: bigint;
  /** All of the month's credits and deductions other than usage, by kind. */
  credits: readonly CreditTotal[];
  /** The first of them, oldest first: at most MAX_LISTED. */
  entries: readonly StatementEntry[];
  entryCount: number;
  /** By model, highest charge first. */
  usage: readonly UsageByModel[];
  usageTotal: UsageSums;
  /** The part of it that was sent with the account's own keys, by provider. */
  providerKeys: readonly ProviderKeyUsage[];
}

interface CreditTotal {
  kind: ListedEntry["kind"];
  /** Below zero for deductions. */
  amountNanoUsd: bigint;
}

type StatementEntry = Pick<ListedEntry, "kind" | "amountNanoUsd" | "note" | "createdAt">;

/** A longer document is useless; totals cover everything. */
const MAX_LISTED = 200;

const amountRow = z.strictObject({ amountNanoUsd: z.bigint() });
const entryRow = z.strictObject({
  kind: kindColumn,
  amountNanoUsd: z.bigint(),
  note: z.string().nullable(),
  createdAt: z.date(),
});
const totalRow = z.strictObject({ kind: kindColumn, amountNanoUsd: z.bigint(), entries: z.int() });

/**
 * Read from the ledger's entries and, for usage, from the rollups of the same charges: the cost of reading it depends on the
 * number of credits and days, not of requests. A request counts in the month in which it began, as on the usage page.
 */
export async function readStatement(
  database: Database,
  { accountId, month }: { accountId: string; month: string },
): Promise<Statement> {
  // All numbers as of one moment: they must add up.
  return database.transaction((transaction) => readStatementIn(transaction, accountId, month), {
    isolation: "repeatable read",
    isReadOnly: true,
  });
}

async function readStatementIn(transaction: Queryable, accountId: string, month: string): Promise<Statement> {
  const from = new Date(`${month}-01`);
  const until = new Date(`${monthAfter(month)}-01`);
  const { fromDay, toDay } = daysOfMonth(month);
  const openingNanoUsd = await readOpening(transaction, { accountId, from, fromDay });
  const totals = await transaction.query({
    text: `SELECT kind, sum(amount_nano_usd)::bigint AS "amountNanoUsd", count(*)::int AS entries FROM ledger_entry
           WHERE account_id = $1 AND kind <> 'usage' AND created_at >= $2 AND created_at < $3 GROUP BY kind ORDER BY kind`,
    values: [accountId, from, until],
    row: totalRow,
  });
  const entries = await transaction.query({
    text: `SELECT kind, amount_nano_usd AS "amountNanoUsd", note, created_at AS "createdAt" FROM ledger_entry
           WHERE account_id = $1 AND kind <> 'usage' AND created_at >= $2 AND created_at < $3 ORDER BY id LIMIT $4`,
    values: [accountId, from, until, MAX_LISTED],
    row: entryRow,
  });
  const usage = await usageByModel(transaction, { accountId, fromDay, toDay });
  const providerKeys = await readProviderKeyUsage(transaction, { accountId, fromDay, toDay });
  const usageTotal = usage.reduce<UsageSums>(addUsage, NO_USAGE_SUMS);
  const creditNanoUsd = totals.reduce((sum, { amountNanoUsd }) => sum + amountNanoUsd, 0n);
  return {
    month,
    openingNanoUsd,
    closingNanoUsd: openingNanoUsd + creditNanoUsd - usageTotal.chargeNanoUsd,
    credits: totals.map(({ kind, amountNanoUsd }) => ({ kind, amountNanoUsd })),
    entries,
    entryCount: totals.reduce((sum, total) => sum + total.entries, 0),
    usage,
    usageTotal,
    providerKeys,
  };
}

async function readOpening(
  transaction: Queryable,
  { accountId, from, fromDay }: { accountId: string; from: Date; fromDay: string },
): Promise<bigint> {
  const [opening] = await transaction.query({
    text: `SELECT ((SELECT coalesce(sum(amount_nano_usd), 0) FROM ledger_entry
                    WHERE account_id = $1 AND kind <> 'usage' AND created_at < $2)
                 - (SELECT coalesce(sum(charge_nano_usd), 0) FROM usage_by_day WHERE account_id = $1 AND day < $3)
                  )::bigint AS "amountNanoUsd"`,
    values: [accountId, from, fromDay],
    row: amountRow,
  });
  return opening?.amountNanoUsd ?? 0n;
}
