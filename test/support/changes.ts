import type { Database } from "../../ledger/postgres/database.ts";
import { readChanges as readPages, readHorizon, type ChangePage } from "../../ledger/feed/changes.ts";

/** All that changed, in one piece, and where the next reading begins. */
export async function readChanges(database: Database, sinceXid: bigint): Promise<ChangePage & { nextXid: bigint }> {
  const nextXid = await readHorizon(database);
  const all: ChangePage & { nextXid: bigint } = { nextXid, accounts: [], keys: [], models: [], unreadableModels: [] };
  for await (const { accounts, keys, models, unreadableModels } of readPages(database, sinceXid)) {
    all.accounts.push(...accounts);
    all.keys.push(...keys);
    all.models.push(...models);
    all.unreadableModels.push(...unreadableModels);
  }
  return all;
}
