import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** Who an account's receipts and statements are made out to. */
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

export async function setBillingDetails(
  database: Queryable,
  { accountId, name, address, taxId }: BillingDetails & { accountId: string },
): Promise<void> {
  await database.execute(
    `INSERT INTO billing_details (account_id, name, address, tax_id) VALUES ($1, $2, $3, $4)
     ON CONFLICT (account_id) DO UPDATE SET name = excluded.name, address = excluded.address, tax_id = excluded.tax_id,
       updated_at = now()`,
    [accountId, name, address, taxId],
  );
}
