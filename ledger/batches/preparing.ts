import * as z from "zod";
import { BATCH_BOUNDS, BATCH_INTERFACES } from "../../contract/batches.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import type { BatchError } from "./batches.ts";

const WORK_SECONDS = 60;
const REMOVED_AT_ONCE = 1_000;

const takenRow = z.strictObject({
  id: z.string(),
  inputFileId: z.string(),
  interface: z.enum(BATCH_INTERFACES),
});
export type Unprepared = z.infer<typeof takenRow>;

/**
 * Takes a batch whose file is to be read; undefined if there is none. It is this process's for a minute after each `keepBatch`.
 * What an earlier process has prepared of it is removed. Those of interfaces that a newer version added wait for it.
 */
export async function takeUnprepared(database: Database): Promise<Unprepared | undefined> {
  const [taken] = await database.query({
    text: `UPDATE batch SET taken_until = now() + make_interval(secs => $1) WHERE id = (
             SELECT id FROM batch WHERE state = 'preparing' AND interface = ANY($2) AND (taken_until IS NULL OR taken_until < now())
             ORDER BY created_at LIMIT 1 FOR UPDATE SKIP LOCKED
           ) RETURNING id, input_file_id AS "inputFileId", interface`,
    values: [WORK_SECONDS, BATCH_INTERFACES],
    row: takenRow,
  });
  if (taken !== undefined) await removeRequests(database, taken.id);
  return taken;
}

/** @returns false if the batch was canceled meanwhile. */
export async function keepBatch(database: Queryable, batchId: string): Promise<boolean> {
  const kept = await database.execute(
    "UPDATE batch SET taken_until = now() + make_interval(secs => $2) WHERE id = $1 AND state = 'preparing'",
    [batchId, WORK_SECONDS],
  );
  return kept > 0;
}

/** A batch whose file has mistakes ends without a request. */
export async function failPreparation(
  database: Queryable,
  { batchId, errors }: { batchId: string; errors: readonly BatchError[] },
): Promise<void> {
  await removeRequests(database, batchId);
  await database.execute(
    `UPDATE batch SET state = 'ended', stopped_by = 'invalid_request', errors = $2, bytes = 0, ended_at = now(), taken_until = NULL,
       deleted_at = now() + make_interval(days => $3)
     WHERE id = $1 AND state = 'preparing'`,
    [batchId, JSON.stringify(errors), BATCH_BOUNDS.keptDays],
  );
}

/** A thousand at a time, so that no statement is long. */
export async function removeRequests(database: Queryable, batchId: string): Promise<void> {
  for (;;) {
    const removed = await database.execute(
      `DELETE FROM batch_request WHERE (batch_id, number) IN (SELECT batch_id, number FROM batch_request WHERE batch_id = $1 LIMIT $2)`,
      [batchId, REMOVED_AT_ONCE],
    );
    if (removed < REMOVED_AT_ONCE) return;
  }
}

/** Others may work on it. */
export async function releaseBatch(database: Queryable, batchId: string): Promise<void> {
  await database.execute("UPDATE batch SET taken_until = NULL WHERE id = $1", [batchId]);
}
