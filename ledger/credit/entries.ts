import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** Source of a credit's money: the other side of its double entry. */
const COUNTER_ACCOUNTS = {
  grant: "promotion",
  topup: "payment_clearing",
  adjust: "adjustment",
  refund: "revenue",
  code: "voucher",
  expire: "promotion",
  payment_refund: "payment_clearing",
  dispute: "payment_clearing",
} as const;

export interface Credit {
  accountId: string;
  kind: keyof typeof COUNTER_ACCOUNTS;
  /** Above zero; an adjustment or a dispute may deduct, an expiry and a payment's refund always do. */
  amountNanoUsd: bigint;
  /** What it is posted for, such as a payment's id. Unique over all accounts: it is posted once (S26). */
  reference: string;
  /** For people. */
  note?: string;
}

export interface PostedCredit {
  /** False if the reference was posted before: nothing changed. */
  isNew: boolean;
  /** The balance after it. */
  postedNanoUsd: bigint;
}

const entryRow = z.strictObject({ accountId: z.string(), kind: z.string(), amountNanoUsd: z.bigint() });
const balanceRow = z.strictObject({ postedNanoUsd: z.bigint() });

/**
 * Appends a credit and changes the balance by it, in one transaction; a replay changes nothing (S26).
 * @throws GatewayError `not_found` for an unknown account; `invalid_request` for an invalid amount or reference, and for a
 * reference that was posted with another account, kind or amount.
 */
export async function postCredit(database: Database, credit: Credit): Promise<PostedCredit> {
  return database.transaction((transaction) => postCreditIn(transaction, credit));
}

/** Like `postCredit`, as part of a larger transaction. */
export async function postCreditIn(transaction: Queryable, credit: Credit): Promise<PostedCredit> {
  checkCredit(credit);
  const appended = await transaction.execute(
    `INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, reference, note)
     SELECT id, $2, $3, $4, $5, $6 FROM account WHERE id = $1
     ON CONFLICT (reference) WHERE reference IS NOT NULL DO NOTHING`,
    [credit.accountId, credit.kind, credit.amountNanoUsd, COUNTER_ACCOUNTS[credit.kind], credit.reference, credit.note ?? null],
  );
  const isNew = appended === 1;
  if (!isNew) await checkReplay(transaction, credit);
  const [balance] = await transaction.query({
    text: isNew
      ? `UPDATE account_balance SET posted_nano_usd = posted_nano_usd + $2, version = version + 1
         WHERE account_id = $1 RETURNING posted_nano_usd AS "postedNanoUsd"`
      : `SELECT posted_nano_usd AS "postedNanoUsd" FROM account_balance WHERE account_id = $1`,
    values: isNew ? [credit.accountId, credit.amountNanoUsd] : [credit.accountId],
    row: balanceRow,
  });
  if (balance === undefined) throw new Error(`The account ${credit.accountId} has no balance row.`);
  return { isNew, postedNanoUsd: balance.postedNanoUsd };
}

function checkCredit({ kind, amountNanoUsd, reference }: Credit): void {
  if (reference === "")
    throw new GatewayError("invalid_request", "A credit needs a reference, so that it is posted once.", { field: "reference" });
  if (isWrongAmount(kind, amountNanoUsd))
    throw new GatewayError(
      "invalid_request",
      kind === "adjust" ? "An adjustment needs an amount other than zero." : "A credit needs an amount above zero.",
      { field: "amountNanoUsd" },
    );
}

function isWrongAmount(kind: Credit["kind"], amountNanoUsd: bigint): boolean {
  if (kind === "adjust" || kind === "dispute") return amountNanoUsd === 0n;
  return kind === "expire" || kind === "payment_refund" ? amountNanoUsd >= 0n : amountNanoUsd <= 0n;
}

/** The reference was posted before: as the same credit, which is a replay, or as another, which is a mistake to report. */
async function checkReplay(transaction: Queryable, credit: Credit): Promise<void> {
  const [entry] = await transaction.query({
    text: `SELECT account_id AS "accountId", kind, amount_nano_usd AS "amountNanoUsd" FROM ledger_entry WHERE reference = $1`,
    values: [credit.reference],
    row: entryRow,
  });
  if (entry === undefined)
    throw new GatewayError("not_found", `There is no account \`${credit.accountId}\`.`, { field: "accountId" });
  if (entry.accountId !== credit.accountId || entry.kind !== credit.kind || entry.amountNanoUsd !== credit.amountNanoUsd)
    throw new GatewayError("invalid_request", "This reference was already posted for another account or amount.", {
      field: "reference",
    });
}
