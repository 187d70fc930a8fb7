import * as z from "zod";
import type { Reader } from "../postgres/database.ts";

/**
 * As SQL: the creator of the key `public_id`, by the audit log (docs/decisions/0041); a token's key belongs to the token's
 * creator.
 */
export const CREATED_BY = `SELECT coalesce(audit_entry.person_id, management_token.created_by) FROM audit_entry
  LEFT JOIN management_token ON management_token.id = token_id WHERE subject = public_id AND action = 'key.created' LIMIT 1`;

/** The maximum number of an account's keys. */
const MAX_KEYS = 11_000;

/** Keys of an account that a person created, deleted or not. */
export async function listKeysCreatedBy(
  database: Reader,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<string[]> {
  const rows = await database.query({
    text: `SELECT public_id AS "publicId" FROM api_key WHERE account_id = $1 AND (${CREATED_BY}) = $2
           ORDER BY created_at DESC LIMIT $3`,
    values: [accountId, personId, MAX_KEYS],
    row: z.strictObject({ publicId: z.string() }),
  });
  return rows.map(({ publicId }) => publicId);
}
