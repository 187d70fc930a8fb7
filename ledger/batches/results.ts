import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import type { BatchContent } from "./content.ts";

const PAGE_ROWS = 200;
const PAGE_BYTES = 1024 * 1024;

const resultRow = z.strictObject({ number: z.int(), result: z.instanceof(Buffer) });

/** Which results: those of the output file, those of the error file, or all of them in order. */
export type ResultPart = "output" | "error" | "all";

const STATES = {
  output: "state = 'succeeded'",
  error: "state IN ('errored', 'canceled', 'expired')",
  all: "state NOT IN ('waiting', 'sent')",
} as const satisfies Record<ResultPart, string>;

/** The results of a batch, one line each, in pages of about a mebibyte. */
export async function* readResults(
  database: Queryable,
  { batchId, part, content }: { batchId: string; part: ResultPart; content: BatchContent },
): AsyncGenerator<Buffer> {
  for (let after = 0; ;) {
    const rows = await database.query({
      text: `SELECT number, result FROM (
               SELECT number, result, sum(result_bytes) OVER (ORDER BY number) AS bytes, row_number() OVER (ORDER BY number) AS place
               FROM batch_request WHERE batch_id = $1 AND number > $2 AND ${STATES[part]} AND result IS NOT NULL
               ORDER BY number LIMIT $3
             ) AS page WHERE bytes <= $4 OR place = 1 ORDER BY number`,
      values: [batchId, after, PAGE_ROWS, PAGE_BYTES],
      row: resultRow,
    });
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.number;
    yield Buffer.concat(rows.map(({ number, result }) => content.openResult({ batchId, number }, result)));
  }
}

const requestRow = z.strictObject({ batchId: z.string() });

/** The batch of a request in the usage log; undefined if it has none, or it was deleted. */
export async function findBatchOfRequest(
  database: Queryable,
  { accountId, requestId }: { accountId: string; requestId: string },
): Promise<string | undefined> {
  const [row] = await database.query({
    text: `SELECT batch_id AS "batchId" FROM batch_request JOIN batch ON id = batch_id
           WHERE request_id = $1 AND account_id = $2 AND (deleted_at IS NULL OR deleted_at > now()) LIMIT 1`,
    values: [requestId, accountId],
    row: requestRow,
  });
  return row?.batchId;
}
