import * as z from "zod";
import { catalogueModelSchema, type CatalogueModel } from "../contract/catalogue.ts";
import { limitsSchema, type Limits } from "../contract/limits.ts";
import type { PriceVersion } from "./catalogue.ts";
import type { Database, Queryable } from "./database.ts";
import { scheduleColumn } from "./price-schedule.ts";

/** What changed, as whole rows. A row may come again unchanged, and never too late for its successor. */
export interface Change {
  accounts: AccountRow[];
  keys: KeyRow[];
  models: ModelRow[];
}

export interface AccountRow {
  accountId: string;
  isSuspended: boolean;
  postedNanoUsd: bigint;
  overdraftNanoUsd: bigint;
  /** Of the balance: rises with each change. */
  version: bigint;
  limits: Limits;
  leasing?: Leasing;
}

/** How an account's credit stands, for whoever has leased some of it. */
export interface Leasing {
  /** What nobody has leased; below zero where more is leased than there is, because credit was taken away. */
  freeNanoUsd: bigint;
  /** What a process asked others to give back, and when, Unix ms; null: never. */
  recall: { nanoUsd: bigint; atMs: number } | null;
}

export interface KeyRow {
  publicId: string;
  accountId: string;
  name: string;
  /** HMAC-SHA256 of the secret part. */
  secretHash: Buffer;
  /** The secret that a rotation replaced, while it still counts. */
  previousSecret: { hash: Buffer; until: Date } | null;
  isRevoked: boolean;
  isDisabled: boolean;
  expiresAt: Date | null;
  /** null: all models. */
  allowedModels: string[] | null;
  limits: Limits;
}

export type ModelRow = { model: CatalogueModel; price: PriceVersion } | { name: string; isWithdrawn: true };

/** A change, and where the next reading begins. */
export interface ReadChanges extends Change {
  /** Lowest transaction id that was open, or had not begun, when this was read. */
  nextXid: bigint;
  /** Models whose spec this program cannot read: a newer operator wrote them. */
  unreadableModels: { name: string; error: unknown }[];
}

/**
 * Reads the mirrored rows that were changed by transaction `sinceXid` or a later one; all rows for 0n. One snapshot gives
 * the rows and the next start, so that a transaction that commits late is in the next reading (migrations/0001).
 */
export async function readChanges(database: Database, sinceXid: bigint): Promise<ReadChanges> {
  return database.transaction(
    async (transaction) => {
      const [snapshot] = await transaction.query({
        text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS "nextXid"`,
        row: z.strictObject({ nextXid: z.bigint() }),
      });
      if (snapshot === undefined) throw new Error("A snapshot has no xmin.");
      return {
        nextXid: snapshot.nextXid,
        accounts: await readAccounts(transaction, sinceXid),
        keys: await readKeys(transaction, sinceXid),
        ...(await readModels(transaction, sinceXid)),
      };
    },
    { isolation: "repeatable read", isReadOnly: true },
  );
}

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

async function readAccounts(transaction: Queryable, sinceXid: bigint): Promise<AccountRow[]> {
  const rows = await transaction.query({
    text: `SELECT id AS "accountId", status = 'suspended' AS "isSuspended", posted_nano_usd AS "postedNanoUsd",
             overdraft_nano_usd AS "overdraftNanoUsd", version, limits, leased_nano_usd AS "leasedNanoUsd",
             recalled_nano_usd AS "recalledNanoUsd", recalled_at AS "recalledAt"
           FROM account JOIN account_balance ON account_id = id
           WHERE id IN (
             SELECT id FROM account WHERE changed_xid >= $1
             UNION SELECT account_id FROM account_balance WHERE changed_xid >= $1
           )`,
    values: [sinceXid],
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
  name: z.string(),
  secretHash: z.instanceof(Buffer),
  previousHash: z.instanceof(Buffer).nullable(),
  previousUntil: z.date().nullable(),
  isRevoked: z.boolean(),
  isDisabled: z.boolean(),
  expiresAt: z.date().nullable(),
  allowedModels: z.array(z.string()).nullable(),
  limits: limitsSchema,
});

async function readKeys(transaction: Queryable, sinceXid: bigint): Promise<KeyRow[]> {
  const rows = await transaction.query({
    text: `SELECT public_id AS "publicId", account_id AS "accountId", name, secret_hash AS "secretHash",
             previous_secret_hash AS "previousHash", previous_until AS "previousUntil", revoked_at IS NOT NULL AS "isRevoked", disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt",
             allowed_models AS "allowedModels", limits
           FROM api_key WHERE changed_xid >= $1`,
    values: [sinceXid],
    row: keyRow,
  });
  return rows.map(({ previousHash, previousUntil, ...row }) => ({
    ...row,
    previousSecret: previousHash === null || previousUntil === null ? null : { hash: previousHash, until: previousUntil },
  }));
}

const modelRow = z.strictObject({
  name: z.string(),
  spec: z.unknown(),
  isWithdrawn: z.boolean(),
  id: z.bigint(),
  version: z.int(),
  inputPicoUsd: z.bigint(),
  cachedInputPicoUsd: z.bigint(),
  cacheWritePicoUsd: z.bigint(),
  outputPicoUsd: z.bigint(),
  schedule: scheduleColumn,
});

async function readModels(transaction: Queryable, sinceXid: bigint): Promise<Pick<ReadChanges, "models" | "unreadableModels">> {
  const rows = await transaction.query({
    text: `SELECT name, spec, withdrawn_at IS NOT NULL AS "isWithdrawn", id, version, input_pico_usd AS "inputPicoUsd",
             cached_input_pico_usd AS "cachedInputPicoUsd", cache_write_pico_usd AS "cacheWritePicoUsd",
             output_pico_usd AS "outputPicoUsd", schedule
           FROM model JOIN price_version ON id = price_version_id WHERE changed_xid >= $1`,
    values: [sinceXid],
    row: modelRow,
  });
  const models: ModelRow[] = [];
  const unreadableModels: ReadChanges["unreadableModels"] = [];
  for (const { name, spec, isWithdrawn, ...price } of rows) {
    const model = catalogueModelSchema.safeParse(spec);
    if (isWithdrawn) models.push({ name, isWithdrawn });
    else if (model.success) models.push({ model: model.data, price });
    else unreadableModels.push({ name, error: model.error });
  }
  return { models, unreadableModels };
}
