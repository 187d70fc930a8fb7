import * as z from "zod";
import { HOUR_MS } from "../../contract/days.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import { admitChange, noteAction } from "../people/audit.ts";
import { createApiKey, rotateApiKey } from "./keys.ts";

/** A member of an account. */
interface Holder {
  accountId: string;
  personId: string;
}

/** Lifetime of a value given to the playground. */
const VALUE_LASTS_MS = HOUR_MS;

const keyRow = z.strictObject({ publicId: z.string(), isDisabled: z.boolean(), expiresAt: z.date().nullable() });

/**
 * A value with which the member's playground calls models for an hour. Each member has one such key per account, so that
 * limits, usage and logs treat it as any other. The value before it lasts as long as it would have, for another tab.
 * To be called in a transaction.
 * @throws GatewayError `permission_denied` while the key is disabled; `invalid_request` when the account has as many keys
 * as it may; `rate_limited` when its keys changed too often today.
 */
export async function issuePlaygroundKey(
  transaction: Queryable,
  { personName, pepper, ...holder }: Holder & { personName: string; pepper: Buffer },
): Promise<{ value: string; expiresAt: Date }> {
  const { accountId, personId } = holder;
  // One at a time: two tabs that open at once would create two keys.
  await admitChange(transaction, "key", holder, "usePlayground");
  const expiresAt = new Date(Date.now() + VALUE_LASTS_MS);
  const known = await findPlaygroundKey(transaction, holder);
  if (known?.isDisabled === true)
    throw new GatewayError(
      "permission_denied",
      "Your playground key is disabled. Anyone who manages this account's keys can enable it on the API keys page.",
    );
  if (known === undefined) {
    const { publicId, value } = await createApiKey(transaction, { accountId, name: keyName(personName), pepper, expiresAt });
    await transaction.execute(
      `INSERT INTO playground_key (account_id, person_id, public_id) VALUES ($1, $2, $3)
       ON CONFLICT (account_id, person_id) DO UPDATE SET public_id = excluded.public_id`,
      [accountId, personId, publicId],
    );
    await noteAction(transaction, { accountId, personId, action: "key.created", subject: publicId });
    return { value, expiresAt };
  }
  const { publicId, expiresAt: previousUntil } = known;
  const { value } = await rotateApiKey(transaction, { publicId, pepper, previousUntil });
  await transaction.execute("UPDATE api_key SET expires_at = $2 WHERE public_id = $1", [publicId, expiresAt]);
  await noteAction(transaction, { accountId, personId, action: "key.rotated", subject: publicId });
  return { value, expiresAt };
}

/** Undefined if there is none, or it was deleted. */
async function findPlaygroundKey(transaction: Queryable, { accountId, personId }: Holder) {
  const [row] = await transaction.query({
    text: `SELECT public_id AS "publicId", disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt"
           FROM playground_key JOIN api_key USING (public_id)
           WHERE playground_key.account_id = $1 AND person_id = $2 AND revoked_at IS NULL`,
    values: [accountId, personId],
    row: keyRow,
  });
  return row;
}

/** The form that edits a key accepts 100 characters. */
function keyName(personName: string): string {
  return `Playground (${Array.from(personName).slice(0, 80).join("")})`;
}
