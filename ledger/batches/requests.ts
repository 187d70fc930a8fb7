import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { BatchContent } from "./content.ts";

/** One request of a batch, as it arrives. */
export interface NewRequest {
  /** From 1, in the order of arrival. */
  number: number;
  customId: string;
  body: Buffer;
}

/** Of a request in the database, besides its name and its body: its row, and its entries in indexes. */
export const ROW_BYTES = 512;

/** What a request takes of its account's room, however short it is. Its body is freed when it has a result; the rest stays. */
export function bytesOfRequest({ customId, body }: Pick<NewRequest, "customId" | "body">): number {
  return ROW_BYTES + Buffer.byteLength(customId) + body.length;
}

/**
 * Adds requests to a batch that does not run yet.
 * @returns the names that were there before.
 */
export async function addRequests(
  database: Queryable,
  { batchId, requests, content }: { batchId: string; requests: readonly NewRequest[]; content: BatchContent },
): Promise<string[]> {
  const added = await database.query({
    text: `INSERT INTO batch_request (batch_id, number, custom_id, body, body_bytes)
           SELECT $1, number, custom_id, decode(body, 'base64'), body_bytes
           FROM unnest($2::integer[], $3::text[], $4::text[], $5::integer[]) AS new (number, custom_id, body, body_bytes)
           ON CONFLICT DO NOTHING RETURNING custom_id AS "customId"`,
    values: [
      batchId,
      requests.map(({ number }) => number),
      requests.map(({ customId }) => customId),
      // An array of buffers would be transferred as hexadecimal text.
      requests.map(({ number, body }) => content.sealBody({ batchId, number }, body).toString("base64")),
      requests.map(({ body }) => body.length),
    ],
    row: z.strictObject({ customId: z.string() }),
  });
  if (added.length === requests.length) return [];
  const fresh = new Set(added.map(({ customId }) => customId));
  const counted = Map.groupBy(requests, ({ customId }) => customId);
  return [...counted].filter(([customId, same]) => same.length > 1 || !fresh.has(customId)).map(([customId]) => customId);
}

/** A batch whose requests are all there begins to run, unless it was canceled meanwhile. */
export async function startBatch(
  database: Queryable,
  { batchId, requests, bytes }: { batchId: string; requests: number; bytes: number },
): Promise<boolean> {
  const started = await database.execute(
    `UPDATE batch SET state = 'running', requests = $2, bytes = $3, started_at = now(), resumes_at = now(), taken_until = NULL
     WHERE id = $1 AND state IN ('arriving', 'preparing')`,
    [batchId, requests, bytes],
  );
  return started > 0;
}

/** Removes a batch that never ran. @returns false if it runs, or is gone. */
export async function dropBatch(database: Queryable, batchId: string): Promise<boolean> {
  return (await database.execute("DELETE FROM batch WHERE id = $1 AND state = 'arriving'", [batchId])) > 0;
}
