import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { Credit } from "./entries.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";
import { cutPage } from "../postgres/page.ts";

/** One change of an account's credit other than by use. */
export interface ListedEntry {
  id: bigint;
  kind: OrOther<Credit["kind"]>;
  /** Below zero for deductions. */
  amountNanoUsd: bigint;
  /** What it was posted for: for a payment it begins with "payment:" and the payment's id. */
  reference: string;
  note: string | null;
  createdAt: Date;
}

/** Of all entries except those for usage. */
export const CREDIT_KINDS = [
  "grant",
  "topup",
  "adjust",
  "refund",
  "code",
  "expire",
  "payment_refund",
  "dispute",
] as const satisfies readonly Credit["kind"][];
export const kindColumn = knownOrOther(CREDIT_KINDS);

export interface EntryPage {
  /** Newest first. */
  entries: ListedEntry[];
  /** Of the next page; null: this is the last one. */
  next: bigint | null;
}

const entryRow = z.strictObject({
  id: z.bigint(),
  kind: kindColumn,
  amountNanoUsd: z.bigint(),
  reference: z.string(),
  note: z.string().nullable(),
  createdAt: z.date(),
});

/**
 * A page of an account's credits: payments, grants, codes and deductions. Charges for requests are in the list of requests.
 * @param afterId continues after this entry.
 */
export async function listEntries(
  database: Queryable,
  { accountId, limit, afterId }: { accountId: string; limit: number; afterId?: bigint },
): Promise<EntryPage> {
  const rows = await database.query({
    text: `SELECT id, kind, amount_nano_usd AS "amountNanoUsd", reference, note, created_at AS "createdAt" FROM ledger_entry
           WHERE account_id = $1 AND kind <> 'usage' AND ($2::bigint IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    values: [accountId, afterId ?? null, limit + 1],
    row: entryRow,
  });
  const { page: entries, next } = cutPage(rows, limit, ({ id }) => id);
  return { entries, next };
}
