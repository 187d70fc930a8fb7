import * as z from "zod";
import { BATCH_BOUNDS, BATCH_INTERFACES } from "../../contract/batches.ts";
import type { Queryable } from "../postgres/database.ts";
import { HAS_WAITING } from "./sending.ts";

const CLOSED_AT_ONCE = 200;
const WORK_SECONDS = 60;

/** Ends batches whose time is over, or whose key or account may not be used any more. */
export async function endOverdue(database: Queryable): Promise<void> {
  await database.execute(
    `UPDATE batch SET state = 'ending', stopped_by = 'expired', ending_at = now(), resumes_at = now()
     WHERE state IN ('preparing', 'running') AND due_at <= now()`,
  );
  await database.execute(
    `UPDATE batch SET state = 'ending', stopped_by = CASE WHEN account.status = 'active' THEN 'invalid_api_key' ELSE 'permission_denied' END,
       ending_at = now(), resumes_at = now()
     FROM account WHERE account.id = batch.account_id AND state IN ('preparing', 'running') AND (
       account.status <> 'active' OR NOT EXISTS (
         SELECT FROM api_key WHERE public_id = batch.key_id AND revoked_at IS NULL AND disabled_at IS NULL
           AND (expires_at IS NULL OR expires_at > now())
       )
     )`,
  );
}

const endingRow = z.strictObject({
  id: z.string(),
  interface: z.enum(BATCH_INTERFACES),
  stoppedBy: z.string().nullable(),
});
/** A batch that sends nothing any more, and has nothing in flight. */
export type EndingBatch = z.infer<typeof endingRow>;

/** Takes one; undefined if there is none. Those of interfaces that a newer version added wait for it. */
export async function takeEnding(database: Queryable): Promise<EndingBatch | undefined> {
  const [taken] = await database.query({
    text: `UPDATE batch SET taken_until = now() + make_interval(secs => $1),
             state = 'ending', ending_at = coalesce(ending_at, now())
           WHERE id = (
             SELECT id FROM batch WHERE interface = ANY($2) AND (taken_until IS NULL OR taken_until < now()) AND (
               state = 'ending'
               OR (state = 'running' AND NOT (${HAS_WAITING}))
             ) AND NOT EXISTS (
               SELECT FROM batch_request WHERE batch_id = id AND batch_request.state = 'sent'
                 AND (batch_request.taken_until >= now() OR batch.state = 'running')
             )
             ORDER BY ending_at LIMIT 1 FOR UPDATE SKIP LOCKED
           ) RETURNING id, interface, stopped_by AS "stoppedBy"`,
    values: [WORK_SECONDS, BATCH_INTERFACES],
    row: endingRow,
  });
  return taken;
}

const unsentRow = z.strictObject({ number: z.int(), customId: z.string() });

/** Requests of an ending batch that have no result, a few at a time. */
export async function listUnsent(database: Queryable, batchId: string): Promise<{ number: number; customId: string }[]> {
  return database.query({
    // One list for each index: otherwise all requests that have a result would be read, every time.
    text: `(SELECT number, custom_id AS "customId" FROM batch_request WHERE batch_id = $1 AND state = 'waiting' ORDER BY number LIMIT $2)
           UNION ALL
           (SELECT number, custom_id FROM batch_request WHERE batch_id = $1 AND state = 'sent' LIMIT $2)
           LIMIT $2`,
    values: [batchId, CLOSED_AT_ONCE],
    row: unsentRow,
  });
}

export interface Closed {
  batchId: string;
  outcome: "canceled" | "expired" | "errored";
  /** Encrypted results, with their lengths before. */
  results: readonly { number: number; result: Buffer; resultBytes: number }[];
}

/** Gives requests that were not answered their results. */
export async function closeRequests(database: Queryable, { batchId, outcome, results }: Closed): Promise<void> {
  await database.execute(
    `WITH done AS (
       UPDATE batch_request AS request SET state = $2, result = decode(new.result, 'base64'), result_bytes = new.bytes, body = NULL,
         taken_by = NULL, taken_until = NULL
       FROM unnest($3::integer[], $4::text[], $5::integer[]) AS new (number, result, bytes)
       WHERE batch_id = $1 AND request.number = new.number AND state IN ('waiting', 'sent')
       RETURNING new.bytes, body_bytes
     )
     UPDATE batch SET ${outcome} = ${outcome} + closed.requests, error_bytes = error_bytes + closed.bytes,
       bytes = greatest(0, batch.bytes - closed.body_bytes + closed.bytes), taken_until = now() + make_interval(secs => $6)
     FROM (SELECT count(*)::integer AS requests, coalesce(sum(bytes), 0) AS bytes, coalesce(sum(body_bytes), 0) AS body_bytes FROM done) AS closed
     WHERE id = $1`,
    [
      batchId,
      outcome,
      results.map(({ number }) => number),
      results.map(({ result }) => result.toString("base64")),
      results.map(({ resultBytes }) => resultBytes),
      WORK_SECONDS,
    ],
  );
}

/** @param error of the whole batch; null if there is none. */
export async function finishBatch(
  database: Queryable,
  { batchId, error }: { batchId: string; error: { code: string; message: string } | null },
): Promise<void> {
  await database.execute(
    `UPDATE batch SET state = 'ended', ended_at = now(), taken_until = NULL,
       deleted_at = coalesce(deleted_at, now() + make_interval(days => $2)),
       errors = CASE WHEN $3::jsonb IS NULL THEN errors ELSE $3 END
     WHERE id = $1 AND state = 'ending'`,
    [batchId, BATCH_BOUNDS.keptDays, error === null ? null : JSON.stringify([{ ...error, line: null }])],
  );
}
