import * as z from "zod";
import { keyLimitsSchema } from "../../contract/key-access.ts";
import type { Queryable } from "../postgres/database.ts";
import type { KeyInForce } from "./check-key.ts";

/** A key that is not deleted, as the database has it now, and whether its account may be used. */
export interface FoundKey extends KeyInForce {
  publicId: string;
  accountId: string;
  isSuspended: boolean;
}

const keyRow = z.strictObject({
  publicId: z.string(),
  accountId: z.string(),
  secretHash: z.instanceof(Buffer),
  previousHash: z.instanceof(Buffer).nullable(),
  previousUntil: z.date().nullable(),
  isDisabled: z.boolean(),
  expiresAt: z.date().nullable(),
  limits: z.unknown(),
  isSuspended: z.boolean(),
});

/**
 * For requests that extproc does not see.
 * @returns "unreadable" for a key with limits that a newer version wrote: they are not applied in part.
 */
export async function findKey(database: Queryable, publicId: string): Promise<FoundKey | "unreadable" | undefined> {
  const [row] = await database.query({
    text: `SELECT public_id AS "publicId", account_id AS "accountId", secret_hash AS "secretHash",
             previous_secret_hash AS "previousHash", previous_until AS "previousUntil", disabled_at IS NOT NULL AS "isDisabled",
             expires_at AS "expiresAt", api_key.limits, account.status <> 'active' AS "isSuspended"
           FROM api_key JOIN account ON account.id = account_id WHERE public_id = $1 AND revoked_at IS NULL`,
    values: [publicId],
    row: keyRow,
  });
  if (row === undefined) return undefined;
  const limits = keyLimitsSchema.safeParse(row.limits);
  if (!limits.success) return "unreadable";
  const { previousHash, previousUntil, limits: _stored, ...key } = row;
  const { allowedAddresses, allowedOrigins } = limits.data;
  const previousSecret = previousHash === null || previousUntil === null ? null : { hash: previousHash, until: previousUntil };
  return { ...key, previousSecret, allowedAddresses, allowedOrigins };
}
