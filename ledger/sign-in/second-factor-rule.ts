import type { Queryable } from "../postgres/database.ts";

/** Whether an account requires a second factor of all its members. @returns whether anything changed. */
export async function setSecondFactorRule(
  database: Queryable,
  { accountId, isRequired }: { accountId: string; isRequired: boolean },
): Promise<boolean> {
  const changed = await database.execute(
    isRequired
      ? "INSERT INTO second_factor_rule (account_id) VALUES ($1) ON CONFLICT DO NOTHING"
      : "DELETE FROM second_factor_rule WHERE account_id = $1",
    [accountId],
  );
  return changed > 0;
}
