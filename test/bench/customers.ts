import { postCredit } from "../../ledger/credit/entries.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createCustomer, seedLedger, type Customer } from "../support/billing/ledger.ts";

/** So many customers with a model to use, the first of them in a new ledger. @param creditNanoUsd of each; none if absent. */
export async function createCustomers(database: Database, count: number, creditNanoUsd?: bigint): Promise<Customer[]> {
  const customers = [await seedLedger(database, "account-0")];
  for (let number = 1; number < count; number++) customers.push(await createCustomer(database, `account-${number}`));
  if (creditNanoUsd !== undefined)
    for (const { accountId } of customers)
      await postCredit(database, { accountId, kind: "grant", amountNanoUsd: creditNanoUsd, reference: accountId });
  return customers;
}
