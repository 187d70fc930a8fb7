import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { ACCESS_NAMES, storedKeyLimitsSchema, type KeyAccess } from "../../contract/key-access.ts";
import type { Limits } from "../../contract/limits.ts";
import type { Queryable } from "../postgres/database.ts";
import { keysOfProject } from "../projects/project-keys.ts";
import { CREATED_BY } from "./key-creators.ts";
import { maskApiKey } from "./keys.ts";
import { cutPage } from "../postgres/page.ts";

/** A key as its account's page shows it (S24): never any part of the secret. */
export interface ListedKey extends KeyAccess {
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
  /** For how many days prompts and answers are kept; null: they are not recorded. */
  promptLogDays: number | null;
  /** Names of limits set by a newer version: they apply there, and cannot be shown or changed here. */
  unknownLimits: string[];
  /** While the secret before the last rotation is still accepted. */
  previousUntil: Date | null;
  spentTodayNanoUsd: bigint;
  spentThisMonthNanoUsd: bigint;
  spentNanoUsd: bigint;
  /** Created by the gateway for a member's playground; its value changes with every use of that page. */
  isPlayground: boolean;
  /** null: none. */
  projectId: string | null;
  projectName: string | null;
  /** Email address of its creator; null: an ApiKey resource, or the service itself. */
  createdBy: string | null;
}

const keyRow = z.strictObject({
  publicId: z.string(),
  name: z.string(),
  status: z.enum(["active", "disabled", "expired"]),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: storedKeyLimitsSchema,
  promptLogDays: z.int().nullable(),
  previousUntil: z.date().nullable(),
  spentTodayNanoUsd: z.bigint(),
  spentThisMonthNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
  isPlayground: z.boolean(),
  projectId: z.string().nullable(),
  projectName: z.string().nullable(),
  createdBy: z.string().nullable(),
});

export interface KeyPage {
  /** Newest first. */
  keys: ListedKey[];
  /** Id of the last key of this page, if another page follows. */
  next: string | null;
}

export interface KeyListing {
  accountId: string;
  limit: number;
  /** Continues after the key of this id. */
  afterId?: string | undefined;
  /** Only keys with limits. */
  hasLimits?: boolean;
  /** Only keys in this project. */
  projectId?: string | undefined;
}

const SELECT = `SELECT public_id AS "publicId", name, (SELECT email FROM person WHERE person.id = (${CREATED_BY})) AS "createdBy",
    CASE WHEN disabled_at IS NOT NULL THEN 'disabled' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END AS status,
    created_at AS "createdAt", last_used_at AS "lastUsedAt", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits,
    prompt_log_days AS "promptLogDays",
    CASE WHEN previous_until > now() THEN previous_until END AS "previousUntil",
    coalesce(today, 0)::bigint AS "spentTodayNanoUsd", coalesce(month, 0)::bigint AS "spentThisMonthNanoUsd",
    coalesce(total, 0)::bigint AS "spentNanoUsd",
    EXISTS (SELECT FROM playground_key WHERE playground_key.public_id = page.public_id) AS "isPlayground",
    "projectId", "projectName"
  FROM page LEFT JOIN LATERAL (
    SELECT sum(charge_nano_usd) AS total,
      sum(charge_nano_usd) FILTER (WHERE day = (now() AT TIME ZONE 'UTC')::date) AS today,
      sum(charge_nano_usd) FILTER (WHERE day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
    FROM usage_by_day WHERE key_id = public_id
  ) AS spent ON true
  LEFT JOIN (
    SELECT public_id AS key_in_project, project.id AS "projectId", project.name AS "projectName"
    FROM project_key JOIN project ON project.id = project_id
  ) AS grouped ON key_in_project = public_id`;
const NEWEST_FIRST = "ORDER BY created_at DESC, public_id DESC";

/** A page of an account's keys, excluding deleted ones. Spend is added up for the page's keys alone. Days and months are UTC. */
export async function listKeys(
  database: Queryable,
  { accountId, limit, afterId, hasLimits = false, projectId }: KeyListing,
): Promise<KeyPage> {
  const rows = await database.query({
    text: `WITH page AS (
             SELECT * FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND ($2::text IS NULL
               OR (created_at, public_id) < (SELECT created_at, public_id FROM api_key WHERE account_id = $1 AND public_id = $2))
               AND (NOT $4 OR limits - $6::text[] <> '{}') AND ($5::uuid IS NULL OR public_id IN (${keysOfProject(5)}))
             ORDER BY created_at DESC, public_id DESC LIMIT $3
           ) ${SELECT} ${NEWEST_FIRST}`,
    values: [accountId, afterId ?? null, limit + 1, hasLimits, projectId ?? null, ACCESS_NAMES],
    row: keyRow,
  });
  const { page, next } = cutPage(rows, limit, ({ publicId }) => publicId);
  return { keys: page.map(toListedKey), next };
}

/** The sort order of a list of keys: newest first, by name, last used first, or highest charge of the UTC month first. */
export const KEY_ORDERS = ["created", "name", "used", "spend"] as const;
export type KeyOrder = (typeof KEY_ORDERS)[number];

const ORDERS = {
  created: "created_at DESC, public_id DESC",
  name: "lower(name), public_id",
  used: "last_used_at DESC NULLS LAST, public_id",
  spend: "coalesce(spent_this_month, 0) DESC, public_id",
} as const satisfies Record<KeyOrder, string>;

/** Added up for all keys in one pass. */
const SPENT_THIS_MONTH = `LEFT JOIN (
    SELECT key_id, sum(charge_nano_usd) AS spent_this_month FROM usage_by_day
    WHERE account_id = $1 AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date GROUP BY key_id
  ) AS used ON key_id = public_id`;

export interface KeySearch {
  accountId: string;
  /** Part of a name, or a key as shown or sent: its secret is ignored. "": all. */
  search: string;
  order: KeyOrder;
  /** Only keys in this project. */
  projectId?: string | undefined;
  limit: number;
  /** The number of keys on the pages before. */
  offset: number;
}

const MATCHES = `account_id = $1 AND revoked_at IS NULL
  AND ($3 = '' OR name ILIKE $2 OR public_id = $3 OR (left(public_id, 4) = $4 AND right(public_id, 4) = $5))
  AND ($6::uuid IS NULL OR public_id IN (${keysOfProject(6)}))`;

/** A page of an account's matching keys, and their number, excluding deleted ones. An account has a bounded number of keys. */
export async function searchKeys(
  database: Queryable,
  { accountId, search, order, projectId, limit, offset }: KeySearch,
): Promise<{ keys: ListedKey[]; total: number }> {
  const [, head, tail] = /^sk-mg-([0-9A-Za-z]{4})(?:\*{4}|[0-9A-Za-z]{4})([0-9A-Za-z]{4})/.exec(search) ?? [];
  const pattern = `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
  const asked = [accountId, pattern, search, head ?? null, tail ?? null, projectId ?? null];
  const [rows, [counted]] = await Promise.all([
    database.query({
      text: `WITH page AS (
               SELECT api_key.*, row_number() OVER (ORDER BY ${ORDERS[order]}) AS position
               FROM api_key ${order === "spend" ? SPENT_THIS_MONTH : ""}
               WHERE ${MATCHES} ORDER BY position LIMIT $7 OFFSET $8
             ) ${SELECT} ORDER BY position`,
      values: [...asked, limit, offset],
      row: keyRow,
    }),
    database.query({
      text: `SELECT count(*)::int AS total FROM api_key WHERE ${MATCHES}`,
      values: asked,
      row: z.strictObject({ total: z.int() }),
    }),
  ]);
  return { keys: rows.map(toListedKey), total: counted?.total ?? 0 };
}

/** One of an account's keys; undefined if it has no such key, or it was deleted. */
export async function findKey(
  database: Queryable,
  { accountId, publicId }: { accountId: string; publicId: string },
): Promise<ListedKey | undefined> {
  const [row] = await database.query({
    text: `WITH page AS (SELECT * FROM api_key WHERE account_id = $1 AND public_id = $2 AND revoked_at IS NULL) ${SELECT}`,
    values: [accountId, publicId],
    row: keyRow,
  });
  return row && toListedKey(row);
}

function toListedKey(row: z.infer<typeof keyRow>): ListedKey {
  return { ...row, ...row.limits, masked: maskApiKey(row.publicId) };
}

/** A key's name. */
export interface NamedKey {
  publicId: string;
  name: string;
}
const namedRow = z.strictObject({ publicId: z.string(), name: z.string() });

/** Of an account's newest keys, up to the maximum, to choose one of them, excluding deleted ones. */
export async function listKeyNames(database: Queryable, accountId: string): Promise<NamedKey[]> {
  return database.query({
    text: `SELECT public_id AS "publicId", name FROM api_key WHERE account_id = $1 AND revoked_at IS NULL
           ORDER BY created_at DESC, public_id DESC LIMIT $2`,
    values: [accountId, ACCOUNT_BOUNDS.keys],
    row: namedRow,
  });
}

/** Of these keys of an account, deleted or not. */
export async function readKeyNames(
  database: Queryable,
  { accountId, publicIds }: { accountId: string; publicIds: readonly string[] },
): Promise<NamedKey[]> {
  return database.query({
    text: `SELECT public_id AS "publicId", name FROM api_key WHERE account_id = $1 AND public_id = ANY($2)`,
    values: [accountId, publicIds],
    row: namedRow,
  });
}

/** Of rows of `api_key`: not a playground's. */
export const IS_MADE_BY_HAND = "NOT EXISTS (SELECT FROM playground_key WHERE playground_key.public_id = api_key.public_id)";

/** The number of an account's keys, excluding deleted ones and those of playgrounds. */
export async function countKeys(database: Queryable, accountId: string): Promise<number> {
  const [row] = await database.query({
    text: `SELECT count(*)::int AS keys FROM api_key WHERE account_id = $1 AND revoked_at IS NULL AND ${IS_MADE_BY_HAND}`,
    values: [accountId],
    row: z.strictObject({ keys: z.int() }),
  });
  return row?.keys ?? 0;
}
