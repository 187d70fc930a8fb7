import type { Queryable } from "../postgres/database.ts";

/**
 * For a member who may no longer use the playground: the value in their open pages stops working. It has expired by whichever clock
 * is behind, Postgres' or this process's.
 */
export async function expirePlaygroundKey(
  transaction: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await transaction.execute(
    `UPDATE api_key SET expires_at = least(expires_at, now(), $3)
     WHERE public_id = (SELECT public_id FROM playground_key WHERE account_id = $1 AND person_id = $2)`,
    [accountId, personId, new Date()],
  );
}
