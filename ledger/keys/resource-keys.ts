import * as z from "zod";
import { encodeAccess, storedKeyLimitsSchema, type KeyAccess } from "../../contract/key-access.ts";
import type { Limits } from "../../contract/limits.ts";
import { countEarlierSpend } from "../leases/earlier-spend.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { assignProject } from "../projects/project-keys.ts";
import { hasRoomForResourceKey } from "./key-bounds.ts";
import { queueKeyEvent, RESOURCE } from "../webhooks/key-events.ts";
import { hashSecret, replaceSecret } from "./keys.ts";

/** The key of an ApiKey resource. */
export interface ResourceKey {
  publicId: string;
  accountId: string;
  secretHash: Buffer;
  /** When the secret before the last rotation expires. */
  previousUntil: Date | null;
  rotation: number;
  /** The installation of the operator that saw the resource last. */
  origin: string;
  /** ms since it was revoked; null if it was not. By the database's clock, which all replicas use. */
  revokedForMs: number | null;
  settings: ResourceKeySettings;
  /** Names of limits that a newer version has set. */
  unknownLimits: string[];
  /** UTC day and month until now. */
  spent: { dayNanoUsd: bigint; monthNanoUsd: bigint };
  /** Whether it is in the project that its resource names, or its resource names none. */
  isInProject: boolean;
}

/** A resource's specification of its key. */
export interface ResourceKeySettings extends KeyAccess {
  name: string;
  isDisabled: boolean;
  expiresAt: Date | null;
  /** null: all models. */
  allowedModels: string[] | null;
  limits: Limits;
  /** null: prompts and answers are not recorded. */
  promptLogDays: number | null;
}

/** A resource, and the installation of the operator that saw it. */
export interface ResourceIdentity {
  uid: string;
  origin: string;
  namespace: string;
  resourceName: string;
}

/** null if it was not revoked. */
const REVOKED_FOR_MS = "extract(epoch FROM clock_timestamp() - revoked_at)::float8 * 1000";

const keyRow = z.strictObject({
  publicId: z.string(),
  accountId: z.string(),
  secretHash: z.instanceof(Buffer),
  previousUntil: z.date().nullable(),
  rotation: z.bigint().transform(Number),
  origin: z.string(),
  revokedForMs: z.number().nullable(),
  name: z.string(),
  isDisabled: z.boolean(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: storedKeyLimitsSchema,
  promptLogDays: z.int().nullable(),
  dayNanoUsd: z.bigint(),
  monthNanoUsd: z.bigint(),
  isInProject: z.boolean(),
});

/**
 * The key of a resource, and whether the account named by the resource exists.
 * @param project the name in the resource, if any.
 */
export async function readResourceKey(
  database: Database,
  { uid, accountId, project }: { uid: string; accountId: string; project: string | undefined },
): Promise<{ hasAccount: boolean; key: ResourceKey | null }> {
  const accounts = await database.query({
    text: "SELECT id FROM account WHERE id = $1",
    values: [accountId],
    row: z.strictObject({ id: z.string() }),
  });
  const [row] = await database.query({
    text: `SELECT public_id AS "publicId", account_id AS "accountId", secret_hash AS "secretHash", previous_until AS "previousUntil",
             rotation, origin, ${REVOKED_FOR_MS} AS "revokedForMs", api_key.name,
             disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits,
             prompt_log_days AS "promptLogDays",
             "dayNanoUsd", "monthNanoUsd",
             $2::text IS NULL OR EXISTS (
               SELECT FROM project_key JOIN project ON project.id = project_id
               WHERE project_key.public_id = api_key.public_id AND lower(project.name) = lower($2)
             ) AS "isInProject"
           FROM resource_key JOIN api_key USING (public_id), LATERAL (${SPENT}) AS spent WHERE uid = $1`,
    values: [uid, project ?? null],
    row: keyRow,
  });
  return { hasAccount: accounts.length > 0, key: row === undefined ? null : toResourceKey(row) };
}

/** Of the key in the row around it. */
const SPENT = `
  SELECT coalesce(sum(charge_nano_usd) FILTER (WHERE day = (now() AT TIME ZONE 'UTC')::date), 0)::bigint AS "dayNanoUsd",
    coalesce(sum(charge_nano_usd), 0)::bigint AS "monthNanoUsd"
  FROM usage_by_day WHERE key_id = api_key.public_id AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date`;

function toResourceKey(row: z.infer<typeof keyRow>): ResourceKey {
  const { name, isDisabled, expiresAt, allowedModels, limits: stored, promptLogDays, dayNanoUsd, monthNanoUsd, ...key } = row;
  const { unknownLimits, ...settled } = stored;
  const settings = { name, isDisabled, expiresAt, allowedModels, promptLogDays, ...settled };
  return { ...key, settings, unknownLimits, spent: { dayNanoUsd, monthNanoUsd } };
}

export interface NewResourceKey extends ResourceIdentity {
  accountId: string;
  publicId: string;
  secret: string;
  pepper: Buffer;
  rotation: number;
  settings: ResourceKeySettings;
}

/**
 * Stores the key in a resource's Secret. Repeating it changes nothing.
 * @returns "foreign": the public id is another key's, and the Secret's author did not take the value from here. "no room": the
 * account has the maximum number of resource keys.
 */
export async function addResourceKey(database: Database, key: NewResourceKey): Promise<"stored" | "foreign" | "no room"> {
  const { publicId, accountId, secret, pepper, settings, uid, origin, namespace, resourceName, rotation } = key;
  return database.transaction(async (transaction) => {
    const before = await ownerOf(transaction, publicId);
    if (before !== undefined) return before === uid ? "stored" : "foreign";
    if (!(await hasRoomForResourceKey(transaction, accountId))) return "no room";
    const inserted = await transaction.execute(
      `INSERT INTO api_key (public_id, account_id, name, secret_hash, disabled_at, expires_at, allowed_models, limits, prompt_log_days)
       VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN now() END, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
      [publicId, accountId, settings.name, hashSecret(pepper, secret), ...settingValues(settings)],
    );
    if (inserted > 0) {
      await transaction.execute(
        "INSERT INTO resource_key (uid, public_id, origin, namespace, name, rotation) VALUES ($1, $2, $3, $4, $5, $6)",
        [uid, publicId, origin, namespace, resourceName, rotation],
      );
      await queueKeyEvent(transaction, "key.created", { ...RESOURCE, publicId });
    }
    return (await ownerOf(transaction, publicId)) === uid ? "stored" : "foreign";
  });
}

/** Uid of the resource whose key this is. */
async function ownerOf(transaction: Queryable, publicId: string): Promise<string | undefined> {
  const [owner] = await transaction.query({
    text: "SELECT uid FROM resource_key WHERE public_id = $1",
    values: [publicId],
    row: z.strictObject({ uid: z.string() }),
  });
  return owner?.uid;
}

/** Updates the key's settings to match its resource. A revoked key is left unchanged. */
export async function changeResourceKey(
  database: Database,
  { uid, origin, settings }: Pick<ResourceIdentity, "uid" | "origin"> & { settings: ResourceKeySettings },
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.execute("UPDATE resource_key SET origin = $2 WHERE uid = $1 AND origin <> $2", [uid, origin]);
    const [before] = await transaction.query({
      text: `SELECT public_id AS "publicId", disabled_at IS NOT NULL AS "isDisabled" FROM resource_key JOIN api_key USING (public_id)
             WHERE uid = $1 AND revoked_at IS NULL FOR NO KEY UPDATE OF api_key`,
      values: [uid],
      row: z.strictObject({ publicId: z.string(), isDisabled: z.boolean() }),
    });
    if (before === undefined) return;
    const { publicId, isDisabled } = before;
    await countEarlierSpend(transaction, { noun: "key", id: publicId, limits: settings.limits });
    await transaction.execute(
      `UPDATE api_key SET name = $2, disabled_at = CASE WHEN $3 THEN coalesce(disabled_at, now()) END, expires_at = $4,
         allowed_models = $5, limits = $6, prompt_log_days = $7 WHERE public_id = $1`,
      [publicId, settings.name, ...settingValues(settings)],
    );
    if (isDisabled !== settings.isDisabled)
      await queueKeyEvent(transaction, isDisabled ? "key.enabled" : "key.disabled", { ...RESOURCE, publicId });
  });
}

function settingValues(settings: ResourceKeySettings): unknown[] {
  const { isDisabled, expiresAt, allowedModels, limits, promptLogDays, ...access } = settings;
  return [isDisabled, expiresAt, allowedModels, JSON.stringify({ ...limits, ...encodeAccess(access) }), promptLogDays];
}

/**
 * Puts the key of a resource into the project of this name.
 * @returns false if its account has no such project.
 */
export async function assignResourceKeyProject(
  database: Database,
  { uid, project }: { uid: string; project: string },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [found] = await transaction.query({
      text: `SELECT account_id AS "accountId", public_id AS "publicId", project.id AS "projectId"
             FROM resource_key JOIN api_key USING (public_id) JOIN project USING (account_id)
             WHERE uid = $1 AND lower(project.name) = lower($2) AND deleted_at IS NULL FOR KEY SHARE OF project`,
      values: [uid, project],
      row: z.strictObject({ accountId: z.string(), publicId: z.string(), projectId: z.string() }),
    });
    if (found === undefined) return false;
    await assignProject(transaction, found);
    return true;
  });
}

/** Makes a rotation's secret the key's. Repeating it changes nothing, including the expiry of the previous one. */
export async function rotateResourceKey(
  database: Database,
  rotation: { uid: string; publicId: string; secret: string; pepper: Buffer; rotation: number; previousUntil: Date | null },
): Promise<void> {
  await database.transaction(async (transaction) => {
    const isReplaced = await replaceSecret(transaction, rotation);
    if (isReplaced) await queueKeyEvent(transaction, "key.rotated", { ...RESOURCE, publicId: rotation.publicId });
    await transaction.execute("UPDATE resource_key SET rotation = $2 WHERE uid = $1", [rotation.uid, rotation.rotation]);
  });
}

/** Revokes the key of a resource. Committed when this resolves; every extproc learns of it within a second (S25). */
export async function revokeResourceKey(database: Database, uid: string): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const [revoked] = await transaction.query({
      text: `UPDATE api_key SET revoked_at = now() FROM resource_key
             WHERE uid = $1 AND resource_key.public_id = api_key.public_id AND revoked_at IS NULL
             RETURNING api_key.public_id AS "publicId"`,
      values: [uid],
      row: z.strictObject({ publicId: z.string() }),
    });
    if (revoked !== undefined) await queueKeyEvent(transaction, "key.deleted", { ...RESOURCE, ...revoked });
    return revoked !== undefined;
  });
}

/** How long ago the key of a resource was revoked, by the database's clock; null if it was not, or there is none. */
export async function readRevokedForMs(database: Database, uid: string): Promise<number | null> {
  const [row] = await database.query({
    text: `SELECT ${REVOKED_FOR_MS} AS "revokedForMs"
           FROM resource_key JOIN api_key USING (public_id) WHERE uid = $1`,
    values: [uid],
    row: z.strictObject({ revokedForMs: z.number().nullable() }),
  });
  return row?.revokedForMs ?? null;
}

/** A key in use, and the resource that it came from. */
export interface KnownResource {
  uid: string;
  namespace: string;
  name: string;
}

/** How many resources are read at once. */
export const RESOURCE_PAGE = 1_000;
const FIRST_UID = "00000000-0000-0000-0000-000000000000";

/**
 * A page of the resources of this installation whose keys are not revoked, in the order of their uids.
 * @param place only those of this name.
 * @param afterUid continues after the resource of this uid.
 */
export async function listResourceKeys(
  database: Queryable,
  {
    origin,
    resource,
    afterUid = FIRST_UID,
  }: { origin: string; resource?: { namespace: string; name: string }; afterUid?: string },
): Promise<KnownResource[]> {
  return database.query({
    text: `SELECT uid, namespace, resource_key.name FROM resource_key JOIN api_key USING (public_id)
           WHERE revoked_at IS NULL AND origin = $1 AND ($2::text IS NULL OR (namespace = $2 AND resource_key.name = $3)) AND uid > $4
           ORDER BY uid LIMIT $5`,
    values: [origin, resource?.namespace ?? null, resource?.name ?? null, afterUid, RESOURCE_PAGE],
    row: z.strictObject({ uid: z.string(), namespace: z.string(), name: z.string() }),
  });
}

/** When a key was last used, and its spend. */
export interface KeyActivity extends KnownResource {
  lastUsedAt: Date | null;
  dayNanoUsd: bigint;
  monthNanoUsd: bigint;
}

/** A page of this installation's keys that have been used, in the order of their resources' uids. */
export async function readKeyActivity(database: Queryable, origin: string, afterUid = FIRST_UID): Promise<KeyActivity[]> {
  return database.query({
    text: `SELECT uid, namespace, resource_key.name, last_used_at AS "lastUsedAt", "dayNanoUsd", "monthNanoUsd"
           FROM resource_key JOIN api_key USING (public_id), LATERAL (${SPENT}) AS spent
           WHERE revoked_at IS NULL AND origin = $1 AND last_used_at IS NOT NULL AND uid > $2 ORDER BY uid LIMIT $3`,
    values: [origin, afterUid, RESOURCE_PAGE],
    row: z.strictObject({
      uid: z.string(),
      namespace: z.string(),
      name: z.string(),
      lastUsedAt: z.date().nullable(),
      dayNanoUsd: z.bigint(),
      monthNanoUsd: z.bigint(),
    }),
  });
}
