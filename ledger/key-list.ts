import * as z from "zod";
import { limitsSchema, type Limits } from "../contract/limits.ts";
import type { Queryable } from "./database.ts";
import { maskApiKey } from "./keys.ts";

/** A key as its account's page shows it (S24): never anything of the secret. */
export interface ListedKey {
  publicId: string;
  masked: string;
  name: string;
  status: "active" | "disabled" | "expired";
  createdAt: Date;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  /** null: all models. */
  allowedModels: string[] | null;
  limits: Limits;
  /** While the secret before the last rotation still counts. */
  previousUntil: Date | null;
  spentTodayNanoUsd: bigint;
  spentThisMonthNanoUsd: bigint;
  spentNanoUsd: bigint;
}

const keyRow = z.strictObject({
  publicId: z.string(),
  name: z.string(),
  status: z.enum(["active", "disabled", "expired"]),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: limitsSchema,
  previousUntil: z.date().nullable(),
  spentTodayNanoUsd: z.bigint(),
  spentThisMonthNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
});

/** An account's keys, newest first, or the one of a public id. Deleted ones are left out. Days and months are UTC. */
export async function listKeys(
  database: Queryable,
  { accountId, publicId }: { accountId: string; publicId?: string },
): Promise<ListedKey[]> {
  const rows = await database.query({
    text: `SELECT public_id AS "publicId", name,
             CASE WHEN disabled_at IS NOT NULL THEN 'disabled' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END AS status,
             created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits,
             CASE WHEN previous_until > now() THEN previous_until END AS "previousUntil",
             coalesce(today, 0)::bigint AS "spentTodayNanoUsd", coalesce(month, 0)::bigint AS "spentThisMonthNanoUsd",
             coalesce(total, 0)::bigint AS "spentNanoUsd"
           FROM api_key LEFT JOIN LATERAL (
             SELECT sum(charge_nano_usd) AS total,
               sum(charge_nano_usd) FILTER (WHERE day = (now() AT TIME ZONE 'UTC')::date) AS today,
               sum(charge_nano_usd) FILTER (WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
             FROM usage_by_day WHERE key_id = public_id
           ) AS spent ON true
           WHERE account_id = $1 AND revoked_at IS NULL AND ($2::text IS NULL OR public_id = $2)
           ORDER BY created_at DESC, public_id`,
    values: [accountId, publicId ?? null],
    row: keyRow,
  });
  return rows.map((row) => ({ ...row, masked: maskApiKey(row.publicId) }));
}
