import type { Database } from "../../../ledger/postgres/database.ts";
import { readChanges as readPages, readHorizon } from "../../../ledger/feed/changes.ts";
import type { Change, KeyRow } from "../../../ledger/feed/rows.ts";

/** All that changed, in one piece, and where the next reading begins. */
export async function readChanges(database: Database, sinceXid: bigint): Promise<Change & { nextXid: bigint }> {
  const nextXid = await readHorizon(database);
  const all: Change & { nextXid: bigint } = { nextXid, accounts: [], keys: [], models: [], unreadable: [] };
  for await (const { accounts, keys, models, unreadable } of readPages(database, sinceXid)) {
    all.accounts.push(...accounts);
    all.keys.push(...keys);
    all.models.push(...models);
    all.unreadable.push(...unreadable);
  }
  return all;
}

/** @throws if there is no such key, or it was deleted. */
export function keptKey(row: KeyRow | undefined): KeyRow & { isRevoked: false } {
  if (row === undefined || row.isRevoked) throw new Error("The key is not in force.");
  return row;
}
