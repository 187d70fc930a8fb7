import type { Queryable } from "../postgres/database.ts";

/** For a member who may no longer use the playground: the value in their open pages stops working. */
export async function expirePlaygroundKey(
  transaction: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await transaction.execute(
    `UPDATE api_key SET expires_at = now()
     WHERE expires_at > now() AND public_id = (SELECT public_id FROM playground_key WHERE account_id = $1 AND person_id = $2)`,
    [accountId, personId],
  );
}
