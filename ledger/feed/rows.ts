import type { CatalogueModel } from "../../contract/catalogue.ts";
import type { KeyAccess } from "../../contract/key-access.ts";
import type { Limits } from "../../contract/limits.ts";
import type { ProviderKeys } from "../../contract/provider-key.ts";
import type { PriceVersion } from "../models/catalogue.ts";

/** Rows of the tables that extproc keeps in memory. */
export interface Change {
  accounts: AccountRow[];
  keys: KeyRow[];
  models: ModelRow[];
  unreadable: UnreadableRow[];
}

/** A row that this version cannot read: a newer one wrote it. It affects no other row. */
export interface UnreadableRow {
  kind: UnreadableKind;
  id: string;
  /** Further names of a model. */
  aliases?: readonly string[];
  reason: string;
}
export type UnreadableKind = "account" | "key" | "model";

export interface AccountRow {
  accountId: string;
  isSuspended: boolean;
  postedNanoUsd: bigint;
  overdraftNanoUsd: bigint;
  /** Of the balance: rises with each change. */
  version: bigint;
  limits: Limits;
  /** Tags and end users are kept with its requests. */
  keepsLabels?: boolean;
  /** Absent if it has none. */
  providerKeys?: ProviderKeys;
  leasing?: Leasing;
}

/** An account's unleased credit, for processes that have leased some of it. */
export interface Leasing {
  /** Credit that is not leased; negative if more is leased than available, because credit was deducted. */
  freeNanoUsd: bigint;
  /** The amount that a process asked others to return, and when, Unix ms; null: never. */
  recall: { nanoUsd: bigint; atMs: number } | null;
}

export type KeyRow = KeptKeyRow | { publicId: string; isRevoked: true };

interface KeptKeyRow extends KeyAccess {
  publicId: string;
  accountId: string;
  /** HMAC-SHA256 of the secret part. */
  secretHash: Buffer;
  /** The secret before the last rotation, while it is still accepted. */
  previousSecret: { hash: Buffer; until: Date } | null;
  isRevoked: false;
  isDisabled: boolean;
  expiresAt: Date | null;
  /** null: all models. */
  allowedModels: string[] | null;
  limits: Limits;
  /** Prompts and answers are recorded. */
  hasPromptLog: boolean;
}

export type ModelRow = { model: CatalogueModel; price: PriceVersion } | { name: string; isWithdrawn: true };
