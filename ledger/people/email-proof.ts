import { GatewayError } from "../../contract/errors.ts";
import { IS_MADE_BY_HAND } from "../keys/key-list.ts";
import type { Queryable } from "../postgres/database.ts";

/** A person opened a link that was sent to their address. @returns whether that was news. */
export async function markEmailProved(database: Queryable, { id, email }: { id: string; email: string }): Promise<boolean> {
  const marked = await database.execute(
    "UPDATE person SET email_verified_at = now() WHERE id = $1 AND lower(email) = lower($2) AND email_verified_at IS NULL",
    [id, email],
  );
  return marked > 0;
}

/**
 * One key is enough to try the service.
 * @throws GatewayError `permission_denied` if the account has one already.
 */
export async function checkFirstKey(database: Queryable, accountId: string): Promise<void> {
  const found = await database.execute(
    `SELECT FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND ${IS_MADE_BY_HAND} LIMIT 1`,
    [accountId],
  );
  if (found > 0)
    throw new GatewayError(
      "permission_denied",
      "Confirm your email address before you create a second key: use the button at the top of the page to get a link.",
    );
}
