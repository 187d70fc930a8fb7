import { GatewayError } from "../../contract/errors.ts";
import { formatNanoUsd } from "../money.ts";
import { endBatchesOf } from "../batches/batches.ts";
import { eraseLabels } from "../labels/account-labels.ts";
import { turnOffAutoTopUp } from "../payments/auto-top-up.ts";
import { lockForChange, type Actor } from "../people/actor.ts";
import { noteAction } from "../people/audit.ts";
import type { Database } from "../postgres/database.ts";
import { endPromptLogs } from "../prompt-log/records.ts";
import { deleteProviderKeys } from "../provider-keys/provider-keys.ts";
import { deleteDestinationsOf } from "../traces/destinations.ts";
import { deleteEndpointsOf } from "../webhooks/endpoints.ts";
import { readBalance, setAccountStatus } from "./accounts.ts";

/**
 * Ends an account for its people: keys, also those for providers, tokens, invitations, automatic top-up, webhooks, destinations of traces and
 * sessions. The ledger, usage and memberships stay, without tags and end users, so that its people can still read their payments and usage.
 * Administrators can reactivate it; its keys stay disabled even then.
 * @returns the credit that was left, in nano-USD.
 * @throws GatewayError `invalid_request` for an account that is suspended or closed; `permission_denied` if the person is no owner of it
 * any more.
 */
export async function closeAccount(
  database: Database,
  { accountId, personId }: Pick<Actor, "accountId" | "personId">,
): Promise<bigint> {
  return database.transaction(async (transaction) => {
    await lockForChange(transaction, { accountId, personId }, "closeAccount");
    if (!(await setAccountStatus(transaction, accountId, "suspended")))
      throw new GatewayError(
        "invalid_request",
        "This account is already suspended or closed. Contact the operator of this service.",
      );
    await transaction.execute(
      "UPDATE api_key SET disabled_at = now() WHERE account_id = $1 AND revoked_at IS NULL AND disabled_at IS NULL",
      [accountId],
    );
    await transaction.execute("UPDATE management_token SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL", [
      accountId,
    ]);
    await transaction.execute("DELETE FROM invitation WHERE account_id = $1", [accountId]);
    await transaction.execute("DELETE FROM provisioned_user WHERE account_id = $1", [accountId]);
    await deleteProviderKeys(transaction, accountId);
    await endPromptLogs(transaction, accountId, Date.now());
    await turnOffAutoTopUp(transaction, accountId);
    await deleteEndpointsOf(transaction, accountId);
    await deleteDestinationsOf(transaction, accountId);
    await endBatchesOf(transaction, accountId);
    // They may identify the account's own customers, who have no part in its books.
    await eraseLabels(transaction, accountId);
    const { postedNanoUsd } = await readBalance(transaction, accountId);
    const subject = `${accountId}, ${formatNanoUsd(postedNanoUsd)} USD left`;
    await noteAction(transaction, { accountId, personId, action: "account.closed", subject });
    await transaction.execute("DELETE FROM session WHERE account_id = $1", [accountId]);
    return postedNanoUsd;
  });
}
