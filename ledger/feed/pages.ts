import * as z from "zod";
import { catalogueModelSchema } from "../../contract/catalogue.ts";
import { keyLimitsSchema } from "../../contract/key-access.ts";
import { limitsSchema } from "../../contract/limits.ts";
import { providerKeysSchema } from "../../contract/provider-key.ts";
import type { Queryable } from "../postgres/database.ts";
import { PRICE_VERSION_SELECT, priceVersionColumns } from "../models/price-schedule.ts";
import { readEach } from "./read-each.ts";
import type { AccountRow, KeyRow, ModelRow, UnreadableRow } from "./rows.ts";

/**
 * Rows in a page. A key with every allowed model at its full length has some 25 KB, so a page stays below 50 MB even
 * when every key of it does, and its statement far below the timeout.
 */
export const PAGE_ROWS = 2_000;

const accountRow = z.strictObject({
  accountId: z.string(),
  isSuspended: z.boolean(),
  postedNanoUsd: z.bigint(),
  overdraftNanoUsd: z.bigint(),
  version: z.bigint(),
  limits: limitsSchema,
  leasedNanoUsd: z.bigint(),
  recalledNanoUsd: z.bigint(),
  recalledAt: z.date().nullable(),
  keepsLabels: z.boolean(),
  providerKeys: providerKeysSchema,
});
// A status added by a newer version does not count as one in which an account is served.
const SELECT_ACCOUNTS = `SELECT id AS "accountId", status <> 'active' AS "isSuspended", posted_nano_usd AS "postedNanoUsd",
    overdraft_nano_usd AS "overdraftNanoUsd", version, limits, leased_nano_usd AS "leasedNanoUsd",
    recalled_nano_usd AS "recalledNanoUsd", recalled_at AS "recalledAt", labels = 'kept' AS "keepsLabels", provider_keys AS "providerKeys"
  FROM account JOIN account_balance ON account_id = id`;
const CHANGED_ACCOUNTS = `SELECT id FROM account WHERE changed_xid >= $3
  UNION SELECT account_id FROM account_balance WHERE changed_xid >= $3`;

/**
 * The accounts after `afterId`, in the order of their ids.
 * @param sinceXid only those that this transaction or a later one changed.
 */
export async function readAccountPage(
  database: Queryable,
  { afterId, sinceXid }: { afterId: string; sinceXid?: bigint },
): Promise<{ accounts: AccountRow[]; unreadable: UnreadableRow[]; rows: number; next: string | null }> {
  const rows = await database.query({
    name: sinceXid === undefined ? "feed-accounts" : "feed-changed-accounts",
    text: `${SELECT_ACCOUNTS} WHERE id > $1 ${sinceXid === undefined ? "" : `AND id IN (${CHANGED_ACCOUNTS})`} ORDER BY id LIMIT $2`,
    values: [afterId, PAGE_ROWS, ...(sinceXid === undefined ? [] : [sinceXid])],
    row: z.looseObject({ accountId: z.string() }),
  });
  const { readable, unreadable } = readEach(rows, { kind: "account", schema: accountRow, idOf: (row) => row.accountId });
  return { accounts: readable.map(toAccountRow), unreadable, rows: rows.length, next: endOf(rows)?.accountId ?? null };
}

function toAccountRow({
  leasedNanoUsd,
  recalledNanoUsd,
  recalledAt,
  providerKeys,
  ...account
}: z.infer<typeof accountRow>): AccountRow {
  return {
    ...account,
    ...(providerKeys.length > 0 && { providerKeys }),
    leasing: {
      freeNanoUsd: account.postedNanoUsd + account.overdraftNanoUsd - leasedNanoUsd,
      recall: recalledAt === null ? null : { nanoUsd: recalledNanoUsd, atMs: recalledAt.getTime() },
    },
  };
}

/** The last row of a page that another one may follow. */
function endOf<Row>(rows: readonly Row[]): Row | undefined {
  return rows.length < PAGE_ROWS ? undefined : rows.at(-1);
}

const keyRow = z.strictObject({
  publicId: z.string(),
  accountId: z.string(),
  secretHash: z.instanceof(Buffer),
  previousHash: z.instanceof(Buffer).nullable(),
  previousUntil: z.date().nullable(),
  isRevoked: z.literal(false),
  isDisabled: z.boolean(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: keyLimitsSchema,
  hasPromptLog: z.boolean(),
});
/** The fields that are read even from an unreadable row. */
const keyHead = z.looseObject({ publicId: z.string(), isRevoked: z.boolean() });
const changedKeyHead = keyHead.extend({ changedXid: z.bigint() });
const SELECT_KEYS = `SELECT public_id AS "publicId", account_id AS "accountId", secret_hash AS "secretHash",
    previous_secret_hash AS "previousHash", previous_until AS "previousUntil", revoked_at IS NOT NULL AS "isRevoked",
    disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits,
    prompt_log_days IS NOT NULL AS "hasPromptLog"`;

/** The keys after `afterId` that were not deleted, in the order of their ids. */
export async function readActiveKeyPage(
  database: Queryable,
  { afterId }: { afterId: string },
): Promise<KeyRows & { rows: number; next: string | null }> {
  const rows = await database.query({
    name: "feed-keys",
    text: `${SELECT_KEYS} FROM api_key WHERE revoked_at IS NULL AND public_id > $1 ORDER BY public_id LIMIT $2`,
    values: [afterId, PAGE_ROWS],
    row: keyHead,
  });
  return { ...toKeyRows(rows), rows: rows.length, next: endOf(rows)?.publicId ?? null };
}

/** Position after the last row of a page of changed keys. */
export interface KeyChangePosition {
  xid: bigint;
  publicId: string;
}

/** The keys that were changed after this position, deleted ones too, in the order of their changes. */
export async function readChangedKeyPage(
  database: Queryable,
  after: KeyChangePosition,
): Promise<KeyRows & { next: KeyChangePosition | null }> {
  const rows = await database.query({
    name: "feed-changed-keys",
    text: `${SELECT_KEYS}, changed_xid AS "changedXid" FROM api_key WHERE (changed_xid, public_id) > ($1, $2) ORDER BY changed_xid, public_id LIMIT $3`,
    values: [after.xid, after.publicId, PAGE_ROWS],
    row: changedKeyHead,
  });
  const end = endOf(rows);
  const next = end === undefined ? null : { xid: end.changedXid, publicId: end.publicId };
  return { ...toKeyRows(rows.map(({ changedXid: _position, ...row }) => row)), next };
}

interface KeyRows {
  keys: KeyRow[];
  unreadable: UnreadableRow[];
}

function toKeyRows(rows: readonly z.infer<typeof keyHead>[]): KeyRows {
  // A deleted key needs no more than its name.
  const deleted = rows.filter((row) => row.isRevoked).map(({ publicId }) => ({ publicId, isRevoked: true }) as const);
  const kept = rows.filter((row) => !row.isRevoked);
  const { readable, unreadable } = readEach(kept, { kind: "key", schema: keyRow, idOf: (row) => row.publicId });
  return { keys: [...deleted, ...readable.map(toKeyRow)], unreadable };
}

function toKeyRow({ previousHash, previousUntil, ...row }: z.infer<typeof keyRow>): KeyRow {
  return {
    ...row,
    ...row.limits,
    previousSecret: previousHash === null || previousUntil === null ? null : { hash: previousHash, until: previousUntil },
  };
}

/** The fields that are read even from an unreadable row. */
const modelHead = z.object({ spec: z.object({ aliases: z.array(z.string()) }) });
const modelRow = z.strictObject({
  name: z.string(),
  spec: catalogueModelSchema,
  isWithdrawn: z.boolean(),
  ...priceVersionColumns,
});

/** Models that were changed by transaction `sinceXid` or a later one; the catalogue is small enough for one statement. */
export async function readModels(
  database: Queryable,
  sinceXid: bigint,
): Promise<{ models: ModelRow[]; unreadable: UnreadableRow[] }> {
  const rows = await database.query({
    name: "feed-models",
    text: `SELECT name, spec, withdrawn_at IS NOT NULL AS "isWithdrawn", ${PRICE_VERSION_SELECT}
           FROM model JOIN price_version ON id = price_version_id WHERE changed_xid >= $1`,
    values: [sinceXid],
    row: z.looseObject({ name: z.string(), isWithdrawn: z.boolean() }),
  });
  const withdrawn = rows.filter((row) => row.isWithdrawn).map(({ name }) => ({ name, isWithdrawn: true }) as const);
  const served = rows.filter((row) => !row.isWithdrawn);
  const { readable, unreadable } = readEach(served, { kind: "model", schema: modelRow, idOf: (row) => row.name });
  const models = readable.map(({ name: _name, spec, isWithdrawn: _isWithdrawn, ...price }) => ({ model: spec, price }));
  const aliasesOf = new Map(served.map((row) => [row.name, modelHead.safeParse(row).data?.spec.aliases ?? []]));
  return {
    models: [...withdrawn, ...models],
    unreadable: unreadable.map((row) => ({ ...row, aliases: aliasesOf.get(row.id) ?? [] })),
  };
}
