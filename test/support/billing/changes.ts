import type { Database } from "../../../ledger/postgres/database.ts";
import { BEGINNING, readNews, type Snapshot } from "../../../ledger/feed/changes.ts";
import type { Change, KeyRow } from "../../../ledger/feed/rows.ts";

/** All that changed, in one piece, and from where the next reading goes on. @param seen everything if absent. */
export async function readChanges(database: Database, seen = BEGINNING): Promise<Change & { seen: Snapshot }> {
  const all: Change & { seen: Snapshot } = { seen, accounts: [], keys: [], models: [], unreadable: [] };
  all.seen = await readNews(database, seen, ({ accounts, keys, models, unreadable }) => {
    all.accounts.push(...accounts);
    all.keys.push(...keys);
    all.models.push(...models);
    all.unreadable.push(...unreadable);
  });
  return all;
}

/** @throws if there is no such key, or it was deleted. */
export function keptKey(row: KeyRow | undefined): KeyRow & { isRevoked: false } {
  if (row === undefined || row.isRevoked) throw new Error("The key is not in force.");
  return row;
}
