import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** What all unfinished batches are about at a moment. */
export interface BatchFigures {
  preparing: number;
  running: number;
  ending: number;
  /** Their requests that have no answer yet. */
  openRequests: number;
  /** Of these, those in flight. */
  sentRequests: number;
  /** Since the oldest was created; 0 if there is none. */
  oldestSeconds: number;
}

const figuresRow = z.strictObject({
  preparing: z.int(),
  running: z.int(),
  ending: z.int(),
  openRequests: z.bigint().transform(Number),
  sentRequests: z.int(),
  oldestSeconds: z.number(),
});

/** Reads the indexes of unfinished batches and of requests in flight. */
export async function readBatchFigures(database: Queryable): Promise<BatchFigures> {
  const [figures] = await database.query({
    text: `SELECT count(*) FILTER (WHERE state = 'preparing')::integer AS preparing,
             count(*) FILTER (WHERE state = 'running')::integer AS running,
             count(*) FILTER (WHERE state = 'ending')::integer AS ending,
             coalesce(sum(requests - succeeded - errored - canceled - expired), 0)::bigint AS "openRequests",
             (SELECT count(*)::integer FROM batch_request WHERE state = 'sent' AND taken_until >= now()) AS "sentRequests",
             coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS "oldestSeconds"
           FROM batch WHERE state IN ('preparing', 'running', 'ending')`,
    row: figuresRow,
  });
  if (figures === undefined) throw new Error("An aggregate returned no row.");
  return figures;
}
