import type { Queryable } from "../../../ledger/postgres/database.ts";

/** Makes keys whose ids are numbers in 12 digits, in one statement: `from` and so many after it. */
export async function insertKeys(
  database: Queryable,
  { accountId, from, count, isRevoked = false }: { accountId: string; from: number; count: number; isRevoked?: boolean },
): Promise<void> {
  await database.execute(
    `INSERT INTO api_key (public_id, account_id, name, secret_hash, revoked_at)
     SELECT lpad(number::text, 12, '0'), $1, 'key ' || number, sha256(number::text::bytea), CASE WHEN $4 THEN now() END
     FROM generate_series($2::int, $2::int + $3::int - 1) AS number`,
    [accountId, from, count, isRevoked],
  );
}

export function insertedKeyId(number: number): string {
  return String(number).padStart(12, "0");
}
