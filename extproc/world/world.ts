import type { CatalogueModel } from "../../contract/catalogue.ts";
import type { AccountRow, FeedChange, KeyRow, ModelRow } from "../../ledger/feed.ts";
import type { PriceVersion } from "../../ledger/catalogue.ts";
import { priceAt } from "../../ledger/price-schedule.ts";
import type { SettledBalance } from "../../ledger/settle.ts";

export type WorldKey = KeyRow;
export type WorldAccount = AccountRow;
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
  findAccount(accountId: string): WorldAccount | undefined;
  /** By name or alias. */
  findModel(name: string): WorldModel | undefined;
  /** All served models, by name. */
  models(): readonly WorldModel[];
  /** Has the feed heard from the database lately enough for "unknown" to mean "does not exist"? */
  isCurrent(nowMs: number): boolean;
  apply(change: FeedChange): void;
  /** Balances that a settlement returned, ahead of the feed. */
  applyBalances(balances: ReadonlyMap<string, SettledBalance>): void;
}

/** A key made elsewhere reaches the feed well within this. */
const CURRENT_FOR_MS = 10_000;

export interface WorldDeps {
  /** When the feed last heard from the database, Unix ms; null before the first load. */
  lastHeardMs(): number | null;
}

export function createWorld({ lastHeardMs }: WorldDeps): World {
  const keys = new Map<string, WorldKey>();
  const accounts = new Map<string, WorldAccount>();
  const byName = new Map<string, WorldModel>();
  let byNameOrAlias = new Map<string, WorldModel>();
  let sorted: readonly WorldModel[] = [];

  function applyModels(rows: readonly ModelRow[]): void {
    for (const row of rows) {
      if ("isWithdrawn" in row) byName.delete(row.name);
      else byName.set(row.model.name, { ...row.model, price: row.price, notice: noticeOf(row.model) });
    }
    sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    byNameOrAlias = new Map(sorted.flatMap((model) => model.aliases.map((alias) => [alias, model] as const)));
    // A name is stronger than another model's alias.
    for (const model of sorted) byNameOrAlias.set(model.name, model);
  }

  return {
    findKey: (publicId) => keys.get(publicId),
    findAccount: (accountId) => accounts.get(accountId),
    findModel: (name) => byNameOrAlias.get(name),
    models: () => sorted,
    isCurrent(nowMs) {
      const heardMs = lastHeardMs();
      return heardMs !== null && nowMs - heardMs < CURRENT_FOR_MS;
    },
    apply(change) {
      for (const key of change.keys) keys.set(key.publicId, key);
      for (const account of change.accounts) {
        const known = accounts.get(account.accountId);
        // A reading that began before a settlement may arrive after it.
        const isOlder = known !== undefined && account.version < known.version;
        accounts.set(account.accountId, isOlder ? { ...account, ...balanceOf(known) } : account);
      }
      if (change.models.length > 0) applyModels(change.models);
    },
    applyBalances(balances) {
      for (const [accountId, balance] of balances) {
        const account = accounts.get(accountId);
        if (account !== undefined && balance.version > account.version) accounts.set(accountId, { ...account, ...balance });
      }
    },
  };
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
    : { ...model, price: { ...price, ...priceAt({ price, schedule: price.schedule }, nowMs) } };
}
