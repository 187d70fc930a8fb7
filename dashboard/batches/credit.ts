import { checkCredit } from "../../ledger/accounts/credit-check.ts";
import type { BatchDeps } from "./deps.ts";

/** Without credit, none of its requests would be sent. @throws GatewayError `insufficient_balance`. */
export async function checkBatchCredit({ database, publicBaseUrl }: BatchDeps, accountId: string): Promise<void> {
  await checkCredit(database, { accountId, remedy: `Add credit at ${publicBaseUrl}/dashboard/credit.` });
}
