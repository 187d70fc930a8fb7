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
  /** Until then it is this process's. With all its digits: it also tells whether another one has taken it since. */
  takenUntil: z.string(),
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
           ) RETURNING id, input_file_id AS "inputFileId", interface, taken_until::text AS "takenUntil"`,
    values: [WORK_SECONDS, BATCH_INTERFACES],
    row: takenRow,
  });
  return taken && clear(database, taken);
}

/** What an earlier process has prepared of it, unless yet another one has taken it meanwhile: whoever prepares it finds that out. */
async function clear(database: Database, taken: Unprepared): Promise<Unprepared> {
  for (let { takenUntil } = taken; ;) {
    const { kept, removed } = await database.transaction(async (transaction) => {
      const kept = await keepBatch(transaction, { ...taken, takenUntil });
      return { kept, removed: kept.kind === "kept" ? await removeSome(transaction, taken.id) : 0 };
    });
    if (kept.kind !== "kept") return { ...taken, takenUntil };
    takenUntil = kept.takenUntil;
    if (removed < REMOVED_AT_ONCE) return { ...taken, takenUntil };
  }
}

/** "lost": this process has stood still for so long that another one has taken the batch, and works on it or has done so. */
export type Kept = { kind: "kept"; takenUntil: string } | { kind: "canceled" | "lost" };

const keptRow = z.strictObject({ state: z.string(), takenUntil: z.string() });

/** In a transaction, nobody takes the batch before its end. */
export async function keepBatch(
  transaction: Queryable,
  { id, takenUntil }: Pick<Unprepared, "id" | "takenUntil">,
): Promise<Kept> {
  const [kept] = await transaction.query({
    text: `UPDATE batch SET taken_until = clock_timestamp() + make_interval(secs => $3)
           WHERE id = $1 AND taken_until = $2::timestamptz RETURNING state, taken_until::text AS "takenUntil"`,
    values: [id, takenUntil, WORK_SECONDS],
    row: keptRow,
  });
  if (kept === undefined) return { kind: "lost" };
  return kept.state === "preparing" ? { kind: "kept", takenUntil: kept.takenUntil } : { kind: "canceled" };
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
  while ((await removeSome(database, batchId)) === REMOVED_AT_ONCE);
}

/** @returns how many. */
async function removeSome(database: Queryable, batchId: string): Promise<number> {
  return database.execute(
    `DELETE FROM batch_request WHERE (batch_id, number) IN (SELECT batch_id, number FROM batch_request WHERE batch_id = $1 LIMIT $2)`,
    [batchId, REMOVED_AT_ONCE],
  );
}

/** Others may work on it. */
export async function releaseBatch(database: Queryable, batchId: string): Promise<void> {
  await database.execute("UPDATE batch SET taken_until = NULL WHERE id = $1", [batchId]);
}
