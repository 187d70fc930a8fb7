import * as z from "zod";
import { type Action, admitChange, noteAction } from "../people/audit.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** The recipient of an account's receipts and statements. */
export interface BillingDetails {
  /** A company's or a person's. */
  name: string;
  /** Lines, separated by newlines; empty: none. */
  address: string;
  /** Empty: none. */
  taxId: string;
}

const detailsRow = z.strictObject({ name: z.string(), address: z.string(), taxId: z.string() });

/** @returns undefined until an owner enters them. */
export async function readBillingDetails(database: Queryable, accountId: string): Promise<BillingDetails | undefined> {
  const [details] = await database.query({
    text: `SELECT name, address, tax_id AS "taxId" FROM billing_details WHERE account_id = $1`,
    values: [accountId],
    row: detailsRow,
  });
  return details;
}

/** With its entry in the audit log. */
export async function setBillingDetails(
  database: Database,
  { accountId, personId, tokenId = null }: Pick<Action, "personId" | "tokenId"> & { accountId: string },
  { name, address, taxId }: BillingDetails,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await admitChange(transaction, "settings", { accountId, personId, tokenId }, "setBilling");
    await transaction.execute(
      `INSERT INTO billing_details (account_id, name, address, tax_id) VALUES ($1, $2, $3, $4)
       ON CONFLICT (account_id) DO UPDATE SET name = excluded.name, address = excluded.address, tax_id = excluded.tax_id,
         updated_at = now()`,
      [accountId, name, address, taxId],
    );
    await noteAction(transaction, { accountId, personId, tokenId, action: "account.billing_changed", subject: name });
  });
}
