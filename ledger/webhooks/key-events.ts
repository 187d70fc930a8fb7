import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { EventType } from "./event-types.ts";
import { queueEvent } from "./events.ts";

/** Who changed a key; null twice: its ApiKey resource. */
export interface KeyChanger {
  personId: string | null;
  tokenId: string | null;
}

export const RESOURCE: KeyChanger = { personId: null, tokenId: null };

/** Tells of a change to a key, in the transaction of the change. */
export async function queueKeyEvent(
  transaction: Queryable,
  type: EventType & `key.${string}`,
  { publicId, personId, tokenId }: KeyChanger & { publicId: string },
): Promise<void> {
  const [key] = await transaction.query({
    text: `SELECT account_id AS "accountId", name FROM api_key WHERE public_id = $1`,
    values: [publicId],
    row: z.strictObject({ accountId: z.string(), name: z.string() }),
  });
  if (key === undefined) return;
  const data = { key_id: publicId, key_name: key.name, by_member_id: personId, by_token_id: tokenId };
  await queueEvent(transaction, { accountId: key.accountId, type, data });
}
