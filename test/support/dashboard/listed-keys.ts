import type { Database } from "../../../ledger/postgres/database.ts";
import { findKey, listKeys, type ListedKey } from "../../../ledger/keys/key-list.ts";

/** All keys of an account, or the one of a public id. */
export async function listAllKeys(
  database: Database,
  { accountId, publicId }: { accountId: string; publicId?: string },
): Promise<ListedKey[]> {
  if (publicId === undefined) return (await listKeys(database, { accountId, limit: 1_000 })).keys;
  const key = await findKey(database, { accountId, publicId });
  return key === undefined ? [] : [key];
}
