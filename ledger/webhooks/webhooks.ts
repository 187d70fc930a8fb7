import { randomBytes } from "node:crypto";
import * as z from "zod";
import { admitChange } from "../people/audit.ts";
import { seal, unseal } from "../people/sealed.ts";
import type { Queryable } from "../postgres/database.ts";

/** The target of an account's events. */
export interface Webhook {
  url: string;
  createdAt: Date;
}

const SECRET_BYTES = 32;
const PREFIX = "whsec_";
const about = (accountId: string) => `webhook ${accountId}`;

export async function findWebhook(database: Queryable, accountId: string): Promise<Webhook | undefined> {
  const [webhook] = await database.query({
    text: `SELECT url, created_at AS "createdAt" FROM webhook WHERE account_id = $1`,
    values: [accountId],
    row: z.strictObject({ url: z.string(), createdAt: z.date() }),
  });
  return webhook;
}

/**
 * Sets the address, with a new secret. Queued events go to the new address, signed with it.
 * @param url already validated.
 * @returns the secret, which is stored encrypted and shown nowhere else.
 * @throws GatewayError `rate_limited` for too many changes in a day.
 */
export async function setWebhook(
  database: Queryable,
  { accountId, url, pepper }: { accountId: string; url: string; pepper: Buffer },
): Promise<{ secret: string }> {
  await admitChange(database, "webhook", accountId);
  const secret = `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}`;
  await database.execute(
    `INSERT INTO webhook (account_id, url, sealed_secret) VALUES ($1, $2, $3)
     ON CONFLICT (account_id) DO UPDATE SET url = excluded.url, sealed_secret = excluded.sealed_secret, created_at = now()`,
    [accountId, url, seal(secret, { pepper, about: about(accountId) })],
  );
  return { secret };
}

/** Queued events are discarded. @returns false if there is none. */
export async function removeWebhook(transaction: Queryable, accountId: string): Promise<boolean> {
  await transaction.execute(
    `UPDATE webhook_delivery SET next_attempt_at = NULL, problem = 'The webhook was removed.'
     WHERE account_id = $1 AND next_attempt_at IS NOT NULL`,
    [accountId],
  );
  return (await transaction.execute("DELETE FROM webhook WHERE account_id = $1", [accountId])) > 0;
}

/** The key that events are signed with; undefined: it was sealed with another pepper. */
export function openSecret(sealed: Buffer, { accountId, pepper }: { accountId: string; pepper: Buffer }): Buffer | undefined {
  const secret = unseal(sealed, { pepper, about: about(accountId) });
  return secret === undefined ? undefined : Buffer.from(secret.slice(PREFIX.length), "base64");
}
