import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/**
 * An account's stored responses, by sizes: readParts reads those that there is room for. Nothing of another account is ever
 * found.
 */
export interface ConversationQuery {
  accountId: string;
  /** The last response of the conversation. */
  responseId: string;
  maxResponses: number;
}

export type StoredConversation =
  | { kind: "found"; turns: SizedTurn[] }
  /** `missingId`: the response asked for, or one that it continues. */
  | { kind: "missing"; missingId: string }
  | { kind: "too_long" };

/** Sizes are those of the encrypted parts. */
interface SizedTurn {
  responseId: string;
  inputBytes: number;
  responseBytes: number;
}

const turnRow = z.strictObject({
  responseId: z.string(),
  previousResponseId: z.string().nullable(),
  inputBytes: z.int(),
  responseBytes: z.int(),
});

/** The response and all that it continues, the first one first. */
export async function sizeConversation(
  database: Queryable,
  { accountId, responseId, maxResponses }: ConversationQuery,
): Promise<StoredConversation> {
  const rows = await database.query({
    text: `WITH RECURSIVE chain AS (
             SELECT response_id, previous_response_id, 1 AS depth FROM stored_response
             WHERE account_id = $1 AND response_id = $2 AND expires_at > now()
             UNION ALL
             SELECT earlier.response_id, earlier.previous_response_id, chain.depth + 1
             FROM chain JOIN stored_response AS earlier
               ON earlier.account_id = $1 AND earlier.response_id = chain.previous_response_id AND earlier.expires_at > now()
             WHERE chain.depth < $3
           )
           SELECT stored.response_id AS "responseId", stored.previous_response_id AS "previousResponseId",
             octet_length(input) AS "inputBytes", octet_length(response) AS "responseBytes"
           FROM chain JOIN stored_response AS stored ON stored.account_id = $1 AND stored.response_id = chain.response_id
           ORDER BY depth DESC`,
    values: [accountId, responseId, maxResponses],
    row: turnRow,
  });
  const [first] = rows;
  if (first === undefined) return { kind: "missing", missingId: responseId };
  if (first.previousResponseId !== null)
    return rows.length === maxResponses ? { kind: "too_long" } : { kind: "missing", missingId: first.previousResponseId };
  return { kind: "found", turns: rows };
}

/** A response that has some of the requested items. */
export interface SizedItems {
  responseId: string;
  itemIds: string[];
  responseBytes: number;
}

const itemsRow = z.strictObject({ responseId: z.string(), itemIds: z.array(z.string()), responseBytes: z.int() });

export async function sizeItems(
  database: Queryable,
  { accountId, itemIds }: { accountId: string; itemIds: readonly string[] },
): Promise<SizedItems[]> {
  return database.query({
    text: `WITH named AS (
             SELECT response_id, array_agg(item_id) AS item_ids FROM stored_item
             WHERE account_id = $1 AND item_id = ANY($2) GROUP BY response_id
           )
           SELECT response_id AS "responseId", item_ids AS "itemIds", octet_length(response) AS "responseBytes"
           FROM named JOIN stored_response AS stored USING (response_id)
           WHERE stored.account_id = $1 AND expires_at > now()`,
    values: [accountId, itemIds],
    row: itemsRow,
  });
}

interface ResponseName {
  accountId: string;
  responseId: string;
}

/** @returns the size of one encrypted part of a response; undefined if there is no such response. */
export async function sizePart(
  database: Queryable,
  { accountId, responseId, part }: ResponseName & { part: "input" | "response" },
): Promise<number | undefined> {
  const [row] = await database.query({
    text: `SELECT octet_length(CASE WHEN $3 = 'input' THEN input ELSE response END) AS bytes
           FROM stored_response WHERE account_id = $1 AND response_id = $2 AND expires_at > now()`,
    values: [accountId, responseId, part],
    row: z.strictObject({ bytes: z.int() }),
  });
  return row?.bytes;
}

/** @returns whether there was one. */
export async function deleteResponse(database: Queryable, { accountId, responseId }: ResponseName): Promise<boolean> {
  const deleted = await database.execute(
    "DELETE FROM stored_response WHERE account_id = $1 AND response_id = $2 AND expires_at > now()",
    [accountId, responseId],
  );
  return deleted > 0;
}
