import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";

/**
 * Makes sure that an account has credit, before it takes any of what all accounts share: accounts that cost nothing could fill it.
 * @param remedy the end of the message, as a sentence.
 * @throws GatewayError `insufficient_balance`.
 */
export async function checkCredit(
  database: Queryable,
  { accountId, remedy, field }: { accountId: string; remedy: string; field?: string },
): Promise<void> {
  const found = await database.execute(
    "SELECT FROM account_balance WHERE account_id = $1 AND posted_nano_usd + overdraft_nano_usd > 0",
    [accountId],
  );
  if (found > 0) return;
  const message = `Insufficient balance: this account has no credit left. ${remedy}`;
  throw new GatewayError("insufficient_balance", message, field === undefined ? {} : { field });
}
