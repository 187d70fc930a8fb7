import { listMembers } from "../../ledger/people/members.ts";
import type { Reader } from "../../ledger/postgres/database.ts";

/** Names of key creators in reports: members by their address. */
export async function readMemberNames(
  database: Reader,
  accountId: string,
  personIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const members = await listMembers(database, accountId);
  const known = members.map(({ personId, email }): [string, string] => [personId, email]);
  return new Map([...personIds.map((id): [string, string] => [id, "Former member"]), ["", "No member"], ...known]);
}
