import { GatewayError } from "../../contract/errors.ts";
import type { CatalogueModel } from "../../contract/catalogue.ts";
import type { Limits } from "../../contract/limits.ts";
import type { PriceVersion } from "../../ledger/models/catalogue.ts";
import type { AccountRow, Change, KeyRow, ModelRow, UnreadableKind, UnreadableRow } from "../../ledger/feed/rows.ts";
import { batchPriceOf } from "../../ledger/models/batch-price.ts";
import { priceAt } from "../../ledger/models/price-schedule.ts";
import type { SettledBalance } from "../../ledger/settlement/settled-balances.ts";
import { createInterner } from "./interner.ts";
import { createKeyTable, type WorldKey } from "./key-table.ts";
import { createKnownCredentials, type Fingerprints } from "./known-credentials.ts";
import { createRecentMap } from "./recent-map.ts";

export type { WorldKey };
/** How its credit is leased is for the wallets (credit/credit.ts). */
export type WorldAccount = Omit<AccountRow, "leasing">;
export interface WorldModel extends CatalogueModel {
  price: PriceVersion;
  /** Headers of every answer from it: made once, not for each request. */
  notice: Readonly<Record<string, string>>;
}

/**
 * What extproc knows of keys, accounts and models: a copy in memory that a feed keeps current, so that a
 * request needs no database.
 */
export interface World {
  findKey(publicId: string): WorldKey | undefined;
  /** undefined also if a newer version wrote its row: nobody is served within limits that cannot be read. */
  findAccount(accountId: string): WorldAccount | undefined;
  /** By name or alias. */
  findModel(name: string): WorldModel | undefined;
  /** The model of this name or alias whose row a newer version wrote, if there is no older row of it: its name. */
  findUnreadableModel(name: string): string | undefined;
  /** All served models, by name. */
  models(): readonly WorldModel[];
  /** Does any of them store responses? */
  readonly storesResponses: boolean;
  /** Has the feed heard from the database lately enough for "unknown" to mean "does not exist"? */
  isCurrent(nowMs: number): boolean;
  /** Whether a key is bound to this origin: pages of others need not be answered. */
  hasOrigin(origin: string): boolean;
  /** How many keys there are that were not deleted. */
  readonly keys: number;
  /** How many rows a newer version wrote. */
  readonly unreadable: Readonly<Record<UnreadableKind, number>>;
  /** Of the credentials that model servers may repeat in this account's answers; the gateway's alone if it is not known. */
  fingerprints(accountId: string | undefined): Fingerprints;
  apply(change: Change): void;
  /** Everything is sent once more; at its end, keys that were not among it are gone. */
  reload(phase: "begin" | "end"): void;
  /** Balances that a settlement returned, ahead of the feed. */
  applyBalances(balances: ReadonlyMap<string, SettledBalance>): void;
}

/** Without news for longer than this, the database is away: what is known stays in force, and what is not known may exist. */
const CURRENT_FOR_MS = 10_000;
/** About 2 MB of them, and as many that were used before. */
const MAX_RECENT_KEYS = 4_096;

export interface WorldDeps {
  /** When the feed last heard from the database, Unix ms; null before the first load. */
  lastHeardMs(): number | null;
}

export function createWorld({ lastHeardMs }: WorldDeps): World {
  const keys = createKeyTable();
  /** Most requests come with a key that was used a moment ago: nothing is made for it again. */
  const recentKeys = createRecentMap<WorldKey>(MAX_RECENT_KEYS);
  const accounts = new Map<string, WorldAccount>();
  /** It may come from another server, or from the same one restored, whose versions do not continue those that are known. */
  let isReloading = false;
  const limits = createInterner<Limits>((value) => JSON.stringify(value));
  const byName = new Map<string, WorldModel>();
  let byNameOrAlias = new Map<string, WorldModel>();
  let sorted: readonly WorldModel[] = [];
  let storesResponses = false;
  const unreadableAccounts = new Set<string>();
  /** With their aliases. */
  const unreadableModels = new Map<string, readonly string[]>();
  const credentials = createKnownCredentials();

  function applyModels(rows: readonly ModelRow[]): void {
    for (const row of rows) {
      unreadableModels.delete("isWithdrawn" in row ? row.name : row.model.name);
      if ("isWithdrawn" in row) byName.delete(row.name);
      else byName.set(row.model.name, { ...row.model, price: row.price, notice: noticeOf(row.model) });
    }
    const backends = rows.flatMap((row) => ("isWithdrawn" in row ? [] : row.model.backends));
    credentials.learn(backends.flatMap((backend) => backend.fingerprints ?? []));
    sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    storesResponses = sorted.some(({ storeHours }) => storeHours !== undefined);
    byNameOrAlias = new Map(sorted.flatMap((model) => model.aliases.map((alias) => [alias, model] as const)));
    // A name is stronger than another model's alias.
    for (const model of sorted) byNameOrAlias.set(model.name, model);
  }

  function findKey(publicId: string): WorldKey | undefined {
    const recent = recentKeys.get(publicId);
    if (recent !== undefined) return recent;
    const key = keys.find(publicId);
    if (key !== undefined) recentKeys.set(publicId, key);
    return key;
  }

  function applyKey(key: KeyRow): void {
    recentKeys.delete(key.publicId);
    if (key.isRevoked) return keys.delete(key.publicId);
    const allowedModels = key.allowedModels?.map((name) => byName.get(name)?.name ?? name) ?? null;
    // The account's own text, not a copy of it for each key.
    const accountId = accounts.get(key.accountId)?.accountId ?? key.accountId;
    keys.set({ ...key, isUnreadable: false, accountId, allowedModels });
  }

  function applyAccount(row: AccountRow): void {
    const account = withoutLeasing(row);
    unreadableAccounts.delete(account.accountId);
    if (account.providerKeys !== undefined) credentials.learnKeys(account.accountId, account.providerKeys);
    const known = accounts.get(account.accountId);
    if (known !== undefined) limits.release(known.limits);
    const shared = { ...account, accountId: known?.accountId ?? account.accountId, limits: limits.take(account.limits) };
    // A reading that began before a settlement may arrive after it.
    const isOlder = !isReloading && known !== undefined && account.version < known.version;
    accounts.set(shared.accountId, isOlder ? { ...shared, ...balanceOf(known) } : shared);
  }

  function applyUnreadable({ kind, id, aliases = [] }: UnreadableRow): void {
    switch (kind) {
      case "account":
        return void unreadableAccounts.add(id);
      case "key":
        recentKeys.delete(id);
        return keys.set({ ...UNREADABLE_KEY, publicId: id });
      case "model":
        // One that was served stays as it was.
        return void unreadableModels.set(id, aliases);
    }
  }

  return {
    fingerprints: credentials.of,
    findKey,
    findAccount: (accountId) => (unreadableAccounts.has(accountId) ? undefined : accounts.get(accountId)),
    findModel: (name) => byNameOrAlias.get(name),
    findUnreadableModel(name) {
      if (byNameOrAlias.has(name)) return undefined;
      if (unreadableModels.has(name)) return name;
      return [...unreadableModels].find(([, aliases]) => aliases.includes(name))?.[0];
    },
    models: () => sorted,
    hasOrigin: keys.hasOrigin,
    get storesResponses() {
      return storesResponses;
    },
    get keys() {
      return keys.size;
    },
    get unreadable() {
      return { account: unreadableAccounts.size, key: keys.unreadable, model: unreadableModels.size };
    },
    isCurrent(nowMs) {
      const heardMs = lastHeardMs();
      return heardMs !== null && nowMs - heardMs < CURRENT_FOR_MS;
    },
    apply(change) {
      // A key's models and account are shared with these.
      if (change.models.length > 0) applyModels(change.models);
      for (const account of change.accounts) applyAccount(account);
      for (const key of change.keys) applyKey(key);
      for (const row of change.unreadable) applyUnreadable(row);
    },
    reload(phase) {
      isReloading = phase === "begin";
      if (isReloading) return keys.beginGeneration();
      for (const publicId of keys.deleteOlder()) recentKeys.delete(publicId);
    },
    applyBalances(balances) {
      for (const [accountId, balance] of balances) {
        const account = accounts.get(accountId);
        if (account !== undefined && balance.version > account.version) accounts.set(accountId, { ...account, ...balance });
      }
    },
  };
}

/** Good for nothing, whoever forgets to ask whether it can be read. */
const UNREADABLE_KEY = {
  accountId: "",
  secretHash: Buffer.alloc(32),
  previousSecret: null,
  isDisabled: true,
  isUnreadable: true,
  expiresAt: null,
  allowedModels: [],
  limits: {},
  hasPromptLog: false,
  allowedAddresses: null,
  allowedOrigins: null,
};

function withoutLeasing(row: AccountRow): WorldAccount {
  const { accountId, isSuspended, postedNanoUsd, overdraftNanoUsd, version, limits, keepsLabels, providerKeys } = row;
  const account = { accountId, isSuspended, postedNanoUsd, overdraftNanoUsd, version, limits };
  const labelled = keepsLabels === true ? { ...account, keepsLabels } : account;
  return providerKeys === undefined ? labelled : { ...labelled, providerKeys };
}

function balanceOf({ postedNanoUsd, version }: SettledBalance): SettledBalance {
  return { postedNanoUsd, version };
}

/** That the model will go, as RFC 9745 and RFC 8594 say it. */
function noticeOf({ deprecation }: CatalogueModel): Readonly<Record<string, string>> {
  const { sinceSeconds, sunsetSeconds } = deprecation ?? {};
  return {
    ...(sinceSeconds === undefined ? {} : { deprecation: `@${sinceSeconds}` }),
    ...(sunsetSeconds === undefined ? {} : { sunset: new Date(sunsetSeconds * 1000).toUTCString() }),
  };
}

/** The model as a request finds it that is admitted now: with the price of this moment, which it keeps (S28). */
export function pricedAt(model: WorldModel, nowMs: number): WorldModel {
  const { price } = model;
  return price.schedule.length === 0
    ? model
    : { ...model, price: { ...price, imagePrices: [], ...priceAt({ price, schedule: price.schedule }, nowMs) } };
}

/** The same for a request of a batch. @throws GatewayError `invalid_request` if the Model accepts none. */
export function pricedForBatch(model: WorldModel, nowMs: number): WorldModel {
  if (model.takesBatches !== true)
    throw new GatewayError(
      "invalid_request",
      `The model ${JSON.stringify(model.name)} does not accept batches. Send it single requests, or choose a model that GET /v1/models lists with \`batch_pricing\`.`,
      { field: "model" },
    );
  const priced = pricedAt(model, nowMs);
  return { ...priced, price: { ...priced.price, ...batchPriceOf(priced.price, priced.price.batch) } };
}
