import type { Queryable } from "../postgres/database.ts";

/** Until the transaction ends, others that lock the account wait: what is counted and then added to is counted by one at a time. */
export async function lockAccount(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.execute("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
}
