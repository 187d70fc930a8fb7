import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** What an account has stored, still encrypted. Nothing of another account is ever found. */
export interface ConversationQuery {
  accountId: string;
  /** The last response of the conversation. */
  responseId: string;
  maxResponses: number;
  /** Beyond it, nothing is read. */
  maxBytes: number;
}

export type StoredConversation =
  | { kind: "found"; responses: SealedTurn[] }
  /** `missingId`: the response asked for, or one that it continues. */
  | { kind: "missing"; missingId: string }
  | { kind: "too_large" };

interface SealedTurn {
  responseId: string;
  /** Encrypted. */
  input: Buffer;
  /** Encrypted. */
  response: Buffer;
}

const bytes = z.instanceof(Buffer).nullable();

const turnRow = z.strictObject({
  responseId: z.string(),
  previousResponseId: z.string().nullable(),
  input: bytes,
  response: bytes,
});

/** The response and all that it continues, the first one first. */
export async function readConversation(
  database: Queryable,
  { accountId, responseId, maxResponses, maxBytes }: ConversationQuery,
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
           ), sized AS (
             SELECT depth, stored.*, sum(octet_length(input) + octet_length(response)) OVER () <= $4 AS fits
             FROM chain JOIN stored_response AS stored ON stored.account_id = $1 AND stored.response_id = chain.response_id
           )
           SELECT response_id AS "responseId", previous_response_id AS "previousResponseId",
             CASE WHEN fits THEN input END AS input, CASE WHEN fits THEN response END AS response
           FROM sized ORDER BY depth DESC`,
    values: [accountId, responseId, maxResponses, maxBytes],
    row: turnRow,
  });
  const [first] = rows;
  if (first === undefined) return { kind: "missing", missingId: responseId };
  if (first.previousResponseId !== null)
    return rows.length === maxResponses ? { kind: "too_large" } : { kind: "missing", missingId: first.previousResponseId };
  const responses = rows.flatMap(({ responseId, input, response }) =>
    input === null || response === null ? [] : [{ responseId, input, response }],
  );
  return responses.length === rows.length ? { kind: "found", responses } : { kind: "too_large" };
}

/** A response that has some of the items that were asked for. */
export interface StoredItems {
  responseId: string;
  itemIds: string[];
  /** Encrypted; null if all of them together are larger than was allowed. */
  response: Buffer | null;
}

const itemsRow = z.strictObject({ responseId: z.string(), itemIds: z.array(z.string()), response: bytes });

export async function readItems(
  database: Queryable,
  { accountId, itemIds, maxBytes }: { accountId: string; itemIds: readonly string[]; maxBytes: number },
): Promise<StoredItems[]> {
  return database.query({
    text: `WITH named AS (
             SELECT response_id, array_agg(item_id) AS item_ids FROM stored_item
             WHERE account_id = $1 AND item_id = ANY($2) GROUP BY response_id
           ), sized AS (
             SELECT response_id, item_ids, response, sum(octet_length(response)) OVER () <= $3 AS fits
             FROM named JOIN stored_response AS stored USING (response_id)
             WHERE stored.account_id = $1 AND expires_at > now()
           )
           SELECT response_id AS "responseId", item_ids AS "itemIds", CASE WHEN fits THEN response END AS response FROM sized`,
    values: [accountId, itemIds, maxBytes],
    row: itemsRow,
  });
}

interface ResponseName {
  accountId: string;
  responseId: string;
}

/** @returns one part of it, encrypted. */
export async function findResponse(
  database: Queryable,
  { accountId, responseId, part }: ResponseName & { part: "input" | "response" },
): Promise<Buffer | undefined> {
  const [row] = await database.query({
    text: `SELECT CASE WHEN $3 = 'input' THEN input ELSE response END AS sealed
           FROM stored_response WHERE account_id = $1 AND response_id = $2 AND expires_at > now()`,
    values: [accountId, responseId, part],
    row: z.strictObject({ sealed: z.instanceof(Buffer) }),
  });
  return row?.sealed;
}

/** @returns whether there was one. */
export async function deleteResponse(database: Queryable, { accountId, responseId }: ResponseName): Promise<boolean> {
  const deleted = await database.execute(
    "DELETE FROM stored_response WHERE account_id = $1 AND response_id = $2 AND expires_at > now()",
    [accountId, responseId],
  );
  return deleted > 0;
}
