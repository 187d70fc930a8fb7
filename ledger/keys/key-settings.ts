import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { ACCESS_NAMES, encodeAccess, type KeyAccess } from "../../contract/key-access.ts";
import { LIMIT_NAMES, type Limits } from "../../contract/limits.ts";
import { countEarlierSpend } from "../leases/earlier-spend.ts";
import type { Queryable } from "../postgres/database.ts";
import { findKey, IS_MADE_BY_HAND } from "./key-list.ts";

/** All settings that a key's owner can change. */
export interface KeySettings extends KeyAccess {
  name: string;
  /** null: all models. */
  allowedModels: readonly string[] | null;
  expiresAt: Date | null;
  limits: Limits;
  /** For how many days prompts and answers are kept (contract/prompt-log.ts); null: they are not recorded. */
  promptLogDays: number | null;
  isDisabled: boolean;
  /** null: none. Stored apart, by `assignProject`. */
  projectId: string | null;
}

/** Absent or undefined fields stay unchanged. */
export type KeyChange = { [Name in keyof KeySettings]?: KeySettings[Name] | undefined };

/** Disables those of the keys that are enabled. @returns their ids. */
export async function disableKeys(
  database: Queryable,
  { accountId, publicIds }: { accountId: string; publicIds: readonly string[] },
): Promise<string[]> {
  const rows = await database.query({
    text: `UPDATE api_key SET disabled_at = now()
           WHERE account_id = $1 AND public_id = ANY($2) AND revoked_at IS NULL AND disabled_at IS NULL RETURNING public_id AS "publicId"`,
    values: [accountId, publicIds],
    row: z.strictObject({ publicId: z.string() }),
  });
  return rows.map(({ publicId }) => publicId);
}

/**
 * Sets the given fields, except for the project, and leaves the others unchanged: renaming a key must not undo a concurrent disabling. A playground's key
 * keeps its expiry.
 * @throws GatewayError `not_found` when the account has no such key, or it was deleted; `invalid_request` when limits are set and
 * the key has one that only a newer version knows: it would be lost.
 */
export async function changeKey(
  database: Queryable,
  { accountId, publicId }: { accountId: string; publicId: string },
  { name, allowedModels, expiresAt, limits, promptLogDays, isDisabled, allowedAddresses, allowedOrigins }: KeyChange,
): Promise<void> {
  if (limits !== undefined) {
    await checkLimitsAreKnown(database, { accountId, publicId });
    await countEarlierSpend(database, { noun: "key", id: publicId, limits });
  }
  const changed = await database.execute(
    `UPDATE api_key SET name = coalesce($3, name),
       limits = CASE WHEN $4::jsonb IS NULL THEN limits ELSE limits - $10::text[] || $4::jsonb END - $11::text[] || $12::jsonb,
       allowed_models = CASE WHEN $5::boolean THEN $6::text[] ELSE allowed_models END,
       expires_at = CASE WHEN $7::boolean AND ${IS_MADE_BY_HAND} THEN $8::timestamptz ELSE expires_at END,
       disabled_at = CASE $9::boolean WHEN true THEN coalesce(disabled_at, now()) WHEN false THEN NULL ELSE disabled_at END,
       prompt_log_days = CASE WHEN $13::boolean THEN $14::smallint ELSE prompt_log_days END
     WHERE account_id = $1 AND public_id = $2 AND revoked_at IS NULL`,
    [
      accountId,
      publicId,
      name ?? null,
      limits === undefined ? null : JSON.stringify(limits),
      allowedModels !== undefined,
      allowedModels ?? null,
      expiresAt !== undefined,
      expiresAt ?? null,
      isDisabled ?? null,
      LIMIT_NAMES,
      ...accessValues({ allowedAddresses, allowedOrigins }),
      promptLogDays !== undefined,
      promptLogDays ?? null,
    ],
  );
  if (changed === 0) throw new GatewayError("not_found", "This account has no such key.");
}

/** The names to remove from the column, and the members to add. */
function accessValues(change: { [Name in keyof KeyAccess]: KeyAccess[Name] | undefined }): [string[], string] {
  const { allowedAddresses = null, allowedOrigins = null } = change;
  const changed = ACCESS_NAMES.filter((name) => change[name] !== undefined);
  return [changed, JSON.stringify(encodeAccess({ allowedAddresses, allowedOrigins }))];
}

async function checkLimitsAreKnown(database: Queryable, key: { accountId: string; publicId: string }): Promise<void> {
  const { unknownLimits = [] } = (await findKey(database, key)) ?? {};
  if (unknownLimits.length > 0)
    throw new GatewayError(
      "invalid_request",
      `This key has a limit set by a newer version of the gateway (${unknownLimits.join(", ")}). Its limits can be changed when the upgrade is complete.`,
    );
}
