import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { maskApiKey } from "../keys/keys.ts";
import { noteKeyAction } from "../keys/note-key-action.ts";
import { noteAction } from "./audit.ts";

/** A member of an account. */
interface Maker {
  accountId: string;
  personId: string;
}

/** Credentials that still give access to the account after its member has left. */
export interface MadeThings {
  keys: readonly { publicId: string; masked: string; name: string }[];
  tokens: readonly { id: string; name: string }[];
}

/** More are not listed; revoking covers all. */
const MAX_LISTED = 100;

/**
 * By audit log: keys that the person, or one of their tokens, created or rotated, so that they may know the value. As an array, the
 * log is read once: where Postgres expects few entries, a join would read it for each key, and thousands of both would take longer
 * than a statement may.
 */
const KNOWN_KEYS = `FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND public_id = ANY (ARRAY(
  SELECT DISTINCT subject FROM audit_entry LEFT JOIN management_token ON management_token.id = token_id
  WHERE audit_entry.account_id = $1 AND action IN ('key.created', 'key.rotated') AND $2 IN (person_id, created_by)))`;
const TOKENS = "FROM management_token WHERE account_id = $1 AND created_by = $2 AND revoked_at IS NULL";

/** Keys and management tokens of the account whose value the person may know. */
export async function listMadeThings(database: Queryable, { accountId, personId }: Maker): Promise<MadeThings> {
  const keys = await database.query({
    text: `SELECT public_id AS "publicId", name ${KNOWN_KEYS} ORDER BY created_at DESC, public_id LIMIT ${MAX_LISTED}`,
    values: [accountId, personId],
    row: z.strictObject({ publicId: z.string(), name: z.string() }),
  });
  const tokens = await database.query({
    text: `SELECT id, name ${TOKENS} ORDER BY id DESC LIMIT ${MAX_LISTED}`,
    values: [accountId, personId],
    row: z.strictObject({ id: z.string(), name: z.string() }),
  });
  return { keys: keys.map((key) => ({ ...key, masked: maskApiKey(key.publicId) })), tokens };
}

const idRow = z.strictObject({ id: z.string() });

/** Deletes these keys and revokes these tokens, all of them. */
export async function revokeMadeThingsIn(
  transaction: Queryable,
  { accountId, personId, byPersonId }: Maker & { byPersonId: string },
): Promise<void> {
  const keys = await transaction.query({
    text: `UPDATE api_key SET revoked_at = now() WHERE public_id IN (SELECT public_id ${KNOWN_KEYS}) RETURNING public_id AS id`,
    values: [accountId, personId],
    row: idRow,
  });
  const by = { accountId, personId: byPersonId };
  for (const { id } of keys) await noteKeyAction(transaction, { ...by, action: "key.deleted", publicId: id });
  await revokeTokens(transaction, { accountId, personId }, by);
}

/**
 * Disables these keys, which can be enabled again, and revokes these tokens. Call it in the transaction that removes the member: what
 * somebody enables afterwards stays enabled. @param by who does it, for the audit log.
 */
export async function suspendMadeThingsIn(
  transaction: Queryable,
  { by, ...maker }: Maker & { by: { personId: string | null; tokenId: string | null } },
): Promise<void> {
  const { accountId, personId } = maker;
  const keys = await transaction.query({
    text: `UPDATE api_key SET disabled_at = now()
           WHERE disabled_at IS NULL AND public_id IN (SELECT public_id ${KNOWN_KEYS}) RETURNING public_id AS id`,
    values: [accountId, personId],
    row: idRow,
  });
  for (const { id } of keys) await noteKeyAction(transaction, { accountId, ...by, action: "key.disabled", publicId: id });
  await revokeTokens(transaction, maker, { accountId, ...by });
}

async function revokeTokens(
  transaction: Queryable,
  { accountId, personId }: Maker,
  by: { accountId: string; personId: string | null; tokenId?: string | null },
): Promise<void> {
  const tokens = await transaction.query({
    text: `UPDATE management_token SET revoked_at = now() WHERE id IN (SELECT id ${TOKENS}) RETURNING id`,
    values: [accountId, personId],
    row: idRow,
  });
  for (const token of tokens) await noteAction(transaction, { ...by, action: "token.revoked", subject: token.id });
}
