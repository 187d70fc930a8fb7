import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { PROVIDER_KEY_STATES, type ProviderKeyState } from "../../contract/provider-key.ts";
import { sealTo } from "../../runtime/sealed-box.ts";
import { checkCredit } from "../accounts/credit-check.ts";
import { lockForChange } from "../people/actor.ts";
import { admitChange, noteAction } from "../people/audit.ts";
import type { Database, Queryable, Reader } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";
import { OFFERED } from "./offers.ts";
import { providerKeyFingerprints } from "./fingerprints.ts";
import { aboutProviderKey, readSealing } from "./sealing.ts";

/** An account's own key for a provider, without its value, which nobody can read here. */
export interface ProviderKey {
  id: string;
  provider: string;
  origin: string;
  lastFour: string;
  state: OrOther<ProviderKeyState>;
  /** Requests may be sent with the gateway's credential, at the model's price, while it cannot be used. */
  fallsBack: boolean;
  createdAt: Date;
  /** Null: it has its first value. */
  replacedAt: Date | null;
}

/** Who acts: a person or a management token. */
export interface ProviderKeyActor {
  accountId: string;
  personId: string | null;
  tokenId: string | null;
}

const row = z.strictObject({
  id: z.string(),
  provider: z.string(),
  origin: z.string(),
  lastFour: z.string(),
  state: knownOrOther(PROVIDER_KEY_STATES),
  fallsBack: z.boolean(),
  createdAt: z.date(),
  replacedAt: z.date().nullable(),
});
/** A value that Envoys do not have yet is pending, although requests may go on with the one before. */
const SELECT = `SELECT id, provider, origin, last_four AS "lastFour",
    CASE WHEN state = 'active' AND served_version IS DISTINCT FROM version THEN 'pending' ELSE state END AS state,
    falls_back AS "fallsBack", created_at AS "createdAt", replaced_at AS "replacedAt" FROM provider_key`;

/** By provider. An account has at most one for each. */
export async function listProviderKeys(database: Reader, accountId: string): Promise<ProviderKey[]> {
  return database.query({ text: `${SELECT} WHERE account_id = $1 ORDER BY provider`, values: [accountId], row });
}

/** @throws GatewayError `not_found` if the account has none for this provider. */
export async function findProviderKey(
  database: Reader,
  { accountId, provider }: { accountId: string; provider: string },
): Promise<ProviderKey> {
  const [found] = await database.query({
    text: `${SELECT} WHERE account_id = $1 AND provider = $2`,
    values: [accountId, provider],
    row,
  });
  if (found === undefined) throw notFound();
  return found;
}

export interface NewProviderKey {
  provider: string;
  origin: string;
  /** Checked already. Sealed here, and kept nowhere else. */
  value: string;
}

const FEES = "Add credit first: it pays the fees of requests sent with this key.";

const knownRow = z.strictObject({
  id: z.string(),
  origin: z.string(),
  state: knownOrOther(PROVIDER_KEY_STATES),
  fallsBack: z.boolean(),
});

/**
 * Enters a key, or replaces its value: requests go on with the one before until Envoy has the new one.
 * @throws GatewayError `invalid_request` if no Model takes a key of this provider, or the gateway takes none, or has no room for one
 * more, or the account is not active; `insufficient_balance` if the account has no credit; `rate_limited` for too many changes in a
 * day.
 */
export async function setProviderKey(
  database: Database,
  actor: ProviderKeyActor,
  { pepper, ...key }: NewProviderKey & { pepper: Buffer },
): Promise<ProviderKey> {
  const { accountId } = actor;
  const { provider, origin, value } = key;
  return database.transaction(async (transaction) => {
    const sealing = await readSealing(transaction, pepper);
    if (sealing === undefined) throw refused("This service does not accept provider keys.");
    await lockAccounts(transaction, [accountId]);
    await checkActive(transaction, accountId);
    await admitChange(transaction, "provider_key", actor, "manageProviderKeys");
    const [known] = await transaction.query({
      text: `SELECT id, origin, state, falls_back AS "fallsBack" FROM provider_key WHERE account_id = $1 AND provider = $2`,
      values: [accountId, provider],
      row: knownRow,
    });
    // Entered for another server, it is another key: what runs with the one before must not get this one. So is one in place of a key
    // that cannot be used: the name of a cluster that an Envoy rejected stays rejected.
    const isReplaced = known !== undefined && known.origin === origin && known.state !== "unusable";
    const id = isReplaced ? known.id : uuidv7();
    if (known !== undefined && !isReplaced) await transaction.execute("DELETE FROM provider_key WHERE id = $1", [known.id]);
    if (!isReplaced) {
      await checkCredit(transaction, { accountId, remedy: FEES, field: "provider" });
      await checkRoom(transaction, { accountId, provider, origin, maxClusters: sealing.maxClusters });
    }
    // Processes know them before a server can repeat the key.
    const fingerprints = JSON.stringify(providerKeyFingerprints(value, pepper));
    const sealed = sealTo(sealing.publicKey, value, aboutProviderKey({ id, accountId, provider, origin }, pepper));
    await transaction.execute(
      `INSERT INTO provider_key AS known (id, account_id, provider, origin, sealing_key_id, sealed, last_four, fingerprints, falls_back)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (id) DO UPDATE
       SET sealing_key_id = excluded.sealing_key_id, sealed = excluded.sealed, last_four = excluded.last_four,
         fingerprints = excluded.fingerprints,
         version = known.version + 1, replaced_at = now(),
         state = CASE WHEN known.state = 'active' THEN 'active' ELSE 'pending' END`,
      [id, accountId, provider, origin, sealing.keyId, sealed, value.slice(-4), fingerprints, known?.fallsBack ?? false],
    );
    await refreshAccounts(transaction, [accountId]);
    await noteAction(transaction, {
      ...actor,
      action: isReplaced ? "provider_key.replaced" : "provider_key.entered",
      subject: `${provider} (${origin})`,
    });
    return findProviderKey(transaction, { accountId, provider });
  });
}

/** In any other account a key would only take room; of one that closes meanwhile it would stay. */
async function checkActive(transaction: Queryable, accountId: string): Promise<void> {
  const active = await transaction.execute("SELECT FROM account WHERE id = $1 AND status = 'active'", [accountId]);
  if (active === 0)
    throw new GatewayError("invalid_request", "This account is suspended or closed. Contact the operator of this service.");
}

const roomRow = z.strictObject({ used: z.int(), own: z.int(), wanted: z.int(), keys: z.int() });

/**
 * An account's first key is taken while there is room; further ones while as much stays free for others as the account takes itself,
 * so that no few accounts fill the room. Two accounts that enter a key at once may both fit by this count, and one of them not: the
 * operator decides.
 */
async function checkRoom(
  transaction: Queryable,
  { accountId, provider, origin, maxClusters }: { accountId: string; provider: string; origin: string; maxClusters: number },
): Promise<void> {
  const [room] = await transaction.query({
    text: `WITH offered AS (${OFFERED}), servers AS (
             SELECT provider, origin, count(DISTINCT endpoint)::integer AS clusters FROM offered GROUP BY provider, origin
           )
           SELECT (SELECT coalesce(sum(clusters), 0)::integer FROM provider_key JOIN servers USING (provider, origin)
               JOIN account ON account.id = account_id WHERE status = 'active') AS used,
             (SELECT coalesce(sum(clusters), 0)::integer FROM provider_key JOIN servers USING (provider, origin)
               WHERE account_id = $3) AS own,
             (SELECT coalesce(sum(clusters), 0)::integer FROM servers WHERE provider = $1 AND origin = $2) AS wanted,
             (SELECT count(*)::integer FROM provider_key WHERE account_id = $3) AS keys`,
    values: [provider, origin, accountId],
    row: roomRow,
  });
  if (room === undefined || room.wanted === 0)
    throw refused(`No model accepts a key for the provider ${provider} at ${origin}. Choose one from the list of providers.`);
  if (room.keys >= ACCOUNT_BOUNDS.providerKeys)
    throw refused(`An account can have at most ${ACCOUNT_BOUNDS.providerKeys} provider keys. Delete one first.`);
  if (room.used + room.wanted > maxClusters)
    throw refused(
      "This service has no capacity for another provider key. Contact its operator; you can use its models without your own key.",
    );
  if (room.keys > 0 && room.own + room.wanted > maxClusters - room.used - room.wanted)
    throw refused(
      "The remaining capacity for provider keys is reserved for other accounts. Delete a key that you do not use, or contact this service's operator.",
    );
}

/**
 * Lets requests be sent with the gateway's credential, at the model's price, while a key cannot be used; or no longer.
 * @throws GatewayError `not_found` if the account has none for this provider; `rate_limited` for too many changes in a day.
 */
export async function setFallback(
  database: Database,
  actor: ProviderKeyActor,
  { provider, fallsBack }: { provider: string; fallsBack: boolean },
): Promise<ProviderKey> {
  const { accountId } = actor;
  return database.transaction(async (transaction) => {
    await lockForChange(transaction, actor, "manageProviderKeys");
    const key = await findProviderKey(transaction, { accountId, provider });
    if (key.fallsBack === fallsBack) return key;
    // To refuse requests again is always possible.
    if (fallsBack) await admitChange(transaction, "provider_key", actor, "manageProviderKeys");
    await transaction.execute("UPDATE provider_key SET falls_back = $2 WHERE id = $1", [key.id, fallsBack]);
    await refreshAccounts(transaction, [accountId]);
    const action = fallsBack ? "provider_key.fallback_allowed" : "provider_key.fallback_ended";
    await noteAction(transaction, { ...actor, action, subject: `${provider} (${key.origin})` });
    return { ...key, fallsBack };
  });
}

/**
 * From now on requests are sent with the gateway's own credential again, at the model's price.
 * @throws GatewayError `not_found` if the account has none for this provider.
 */
export async function deleteProviderKey(database: Database, actor: ProviderKeyActor, provider: string): Promise<ProviderKey> {
  const { accountId } = actor;
  return database.transaction(async (transaction) => {
    await lockForChange(transaction, actor, "manageProviderKeys");
    const key = await findProviderKey(transaction, { accountId, provider });
    await transaction.execute("DELETE FROM provider_key WHERE id = $1", [key.id]);
    await refreshAccounts(transaction, [accountId]);
    await noteAction(transaction, { ...actor, action: "provider_key.deleted", subject: `${provider} (${key.origin})` });
    return key;
  });
}

/** Of an account that closes. */
export async function deleteProviderKeys(transaction: Queryable, accountId: string): Promise<void> {
  await lockAccounts(transaction, [accountId]);
  await transaction.execute("DELETE FROM provider_key WHERE account_id = $1", [accountId]);
  await refreshAccounts(transaction, [accountId]);
}

/** Always before rows of provider_key, in sorted order: writers wait for one another, but cannot deadlock. */
export async function lockAccounts(transaction: Queryable, accountIds: readonly string[]): Promise<void> {
  await transaction.execute("SELECT FROM account WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE", [accountIds]);
}

/** What every process mirrors (feed/pages.ts). */
export async function refreshAccounts(transaction: Queryable, accountIds: readonly string[]): Promise<void> {
  await transaction.execute(
    `UPDATE account SET provider_keys = coalesce((
       SELECT jsonb_agg(jsonb_build_object('id', id, 'provider', provider, 'origin', origin, 'state', state,
         'fingerprints', fingerprints)
         || CASE WHEN falls_back THEN '{"fallsBack": true}'::jsonb ELSE '{}'::jsonb END ORDER BY provider)
       FROM provider_key WHERE account_id = account.id), '[]')
     WHERE id = ANY($1)`,
    [accountIds],
  );
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { field: "provider" });
}

function notFound(): GatewayError {
  return new GatewayError("not_found", "This account has no key for this provider.");
}
