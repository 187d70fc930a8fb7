import { listKeyNames, readKeyNames, type NamedKey } from "../../ledger/keys/key-list.ts";
import type { Database } from "../../ledger/postgres/database.ts";

/**
 * An account's newest keys, for a filter. An account may have more, and a report may link to a deleted one: the chosen one is
 * always among them.
 * @param chosen public id of the key that is filtered by now.
 */
export async function listKeyChoices(database: Database, accountId: string, chosen: string | undefined): Promise<NamedKey[]> {
  const keys = await listKeyNames(database, accountId);
  if (chosen === undefined || keys.some(({ publicId }) => publicId === chosen)) return keys;
  const [found] = await readKeyNames(database, { accountId, publicIds: [chosen] });
  return [found ?? { publicId: chosen, name: chosen }, ...keys];
}
