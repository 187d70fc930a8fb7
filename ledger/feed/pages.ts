import * as z from "zod";
import { catalogueModelSchema } from "../../contract/catalogue.ts";
import { limitsSchema } from "../../contract/limits.ts";
import type { Queryable } from "../postgres/database.ts";
import { PRICE_VERSION_SELECT, priceVersionColumns } from "../models/price-schedule.ts";
import type { AccountRow, KeyRow, ModelRow, UnreadableModel } from "./rows.ts";

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
});
const SELECT_ACCOUNTS = `SELECT id AS "accountId", status = 'suspended' AS "isSuspended", posted_nano_usd AS "postedNanoUsd",
    overdraft_nano_usd AS "overdraftNanoUsd", version, limits, leased_nano_usd AS "leasedNanoUsd",
    recalled_nano_usd AS "recalledNanoUsd", recalled_at AS "recalledAt"
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
): Promise<AccountRow[]> {
  const rows = await database.query({
    text: `${SELECT_ACCOUNTS} WHERE id > $1 ${sinceXid === undefined ? "" : `AND id IN (${CHANGED_ACCOUNTS})`} ORDER BY id LIMIT $2`,
    values: [afterId, PAGE_ROWS, ...(sinceXid === undefined ? [] : [sinceXid])],
    row: accountRow,
  });
  return rows.map(({ leasedNanoUsd, recalledNanoUsd, recalledAt, ...account }) => ({
    ...account,
    leasing: {
      freeNanoUsd: account.postedNanoUsd + account.overdraftNanoUsd - leasedNanoUsd,
      recall: recalledAt === null ? null : { nanoUsd: recalledNanoUsd, atMs: recalledAt.getTime() },
    },
  }));
}

const keyRow = z.strictObject({
  publicId: z.string(),
  accountId: z.string(),
  secretHash: z.instanceof(Buffer),
  previousHash: z.instanceof(Buffer).nullable(),
  previousUntil: z.date().nullable(),
  isRevoked: z.boolean(),
  isDisabled: z.boolean(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: limitsSchema,
});
const changedKeyRow = keyRow.extend({ changedXid: z.bigint() });
const SELECT_KEYS = `SELECT public_id AS "publicId", account_id AS "accountId", secret_hash AS "secretHash",
    previous_secret_hash AS "previousHash", previous_until AS "previousUntil", revoked_at IS NOT NULL AS "isRevoked",
    disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits`;

/** The keys after `afterId` that were not deleted, in the order of their ids. */
export async function readActiveKeyPage(database: Queryable, { afterId }: { afterId: string }): Promise<KeyRow[]> {
  const rows = await database.query({
    text: `${SELECT_KEYS} FROM api_key WHERE revoked_at IS NULL AND public_id > $1 ORDER BY public_id LIMIT $2`,
    values: [afterId, PAGE_ROWS],
    row: keyRow,
  });
  return rows.map(toKeyRow);
}

/** Where a page of changed keys ends. */
export interface KeyChangePosition {
  xid: bigint;
  publicId: string;
}

/** The keys that were changed after this position, deleted ones too, in the order of their changes. */
export async function readChangedKeyPage(
  database: Queryable,
  after: KeyChangePosition,
): Promise<{ keys: KeyRow[]; next: KeyChangePosition | null }> {
  const rows = await database.query({
    text: `${SELECT_KEYS}, changed_xid AS "changedXid" FROM api_key WHERE (changed_xid, public_id) > ($1, $2) ORDER BY changed_xid, public_id LIMIT $3`,
    values: [after.xid, after.publicId, PAGE_ROWS],
    row: changedKeyRow,
  });
  let last: KeyChangePosition | null = null;
  const keys = rows.map(({ changedXid, ...row }) => {
    last = { xid: changedXid, publicId: row.publicId };
    return toKeyRow(row);
  });
  return { keys, next: rows.length < PAGE_ROWS ? null : last };
}

function toKeyRow({ previousHash, previousUntil, ...row }: z.infer<typeof keyRow>): KeyRow {
  return {
    ...row,
    previousSecret: previousHash === null || previousUntil === null ? null : { hash: previousHash, until: previousUntil },
  };
}

const modelRow = z.strictObject({
  name: z.string(),
  spec: z.unknown(),
  isWithdrawn: z.boolean(),
  ...priceVersionColumns,
});

/** Models that were changed by transaction `sinceXid` or a later one; the catalogue is small enough for one statement. */
export async function readModels(
  database: Queryable,
  sinceXid: bigint,
): Promise<{ models: ModelRow[]; unreadableModels: UnreadableModel[] }> {
  const rows = await database.query({
    text: `SELECT name, spec, withdrawn_at IS NOT NULL AS "isWithdrawn", ${PRICE_VERSION_SELECT}
           FROM model JOIN price_version ON id = price_version_id WHERE changed_xid >= $1`,
    values: [sinceXid],
    row: modelRow,
  });
  const models: ModelRow[] = [];
  const unreadableModels: UnreadableModel[] = [];
  for (const { name, spec, isWithdrawn, ...price } of rows) {
    const model = catalogueModelSchema.safeParse(spec);
    if (isWithdrawn) models.push({ name, isWithdrawn });
    else if (model.success) models.push({ model: model.data, price });
    else unreadableModels.push({ name, error: model.error });
  }
  return { models, unreadableModels };
}
