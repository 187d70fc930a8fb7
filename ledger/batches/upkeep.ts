import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { removeRequests } from "./preparing.ts";
import { HAVE_RESULTS_EXPIRED } from "./results-expiry.ts";
import { UPLOAD_TIME } from "./room.ts";

const AT_ONCE = 20;
/** Of each half of a call, so that a process can stop: the next one continues. */
const MAX_WORK_MS = 5_000;
const PARTS_AT_ONCE = 20;

const idRow = z.strictObject({ id: z.string() });

/** Deletes files, batches and results whose time is over, and what uploads that broke off have left; a bounded number at a time. */
export async function dropExpiredBatches(database: Queryable): Promise<void> {
  await database.execute(`UPDATE batch SET deleted_at = now() WHERE state = 'arriving' AND created_at < now() - ${UPLOAD_TIME}`);
  await database.execute(
    `UPDATE batch SET output_deleted = true, error_deleted = true
     WHERE results_kept_seconds IS NOT NULL AND state = 'ended' AND NOT (output_deleted AND error_deleted) AND ${HAVE_RESULTS_EXPIRED}`,
  );
  const untilMs = Date.now() + MAX_WORK_MS;
  while ((await dropBatches(database)) && Date.now() < untilMs);
  while ((await dropFiles(database)) && Date.now() < untilMs);
  for (const [part, states] of [
    ["output", "('succeeded')"],
    ["error", "('errored', 'canceled', 'expired')"],
  ] as const)
    await clearResults(database, part, states);
  await forgetRequests(database);
}

/** @returns whether there may be more. */
async function dropBatches(database: Queryable): Promise<boolean> {
  const batches = await database.query({
    text: "SELECT id FROM batch WHERE deleted_at <= now() AND state IN ('arriving', 'ended') ORDER BY deleted_at LIMIT $1",
    values: [AT_ONCE],
    row: idRow,
  });
  for (const { id } of batches) {
    await removeRequests(database, id);
    await database.execute("DELETE FROM batch WHERE id = $1", [id]);
  }
  return batches.length === AT_ONCE;
}

/** @returns whether there may be more. */
async function dropFiles(database: Queryable): Promise<boolean> {
  const files = await database.query({
    // Not one from which a batch is just being created (batches.ts).
    text: `SELECT id FROM batch_file WHERE expires_at <= now()
             AND NOT EXISTS (SELECT FROM batch WHERE input_file_id = batch_file.id AND state = 'preparing')
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED`,
    values: [AT_ONCE],
    row: idRow,
  });
  for (const { id } of files) {
    await removeParts(database, id);
    await database.execute("DELETE FROM batch_file WHERE id = $1", [id]);
  }
  return files.length === AT_ONCE;
}

async function removeParts(database: Queryable, fileId: string): Promise<void> {
  for (;;) {
    const removed = await database.execute(
      "DELETE FROM batch_file_part WHERE file_id = $1 AND number IN (SELECT number FROM batch_file_part WHERE file_id = $1 LIMIT $2)",
      [fileId, PARTS_AT_ONCE],
    );
    if (removed < PARTS_AT_ONCE) return;
  }
}

/** Results whose file was deleted, or has expired. */
async function clearResults(database: Queryable, part: "output" | "error", states: string): Promise<void> {
  const batches = await database.query({
    text: `SELECT id FROM batch WHERE ${part}_deleted AND ${part}_bytes > 0 LIMIT $1`,
    values: [AT_ONCE],
    row: idRow,
  });
  for (const { id } of batches) {
    let cleared;
    do {
      cleared = await database.execute(
        `UPDATE batch_request SET result = NULL WHERE batch_id = $1 AND number IN (
           SELECT number FROM batch_request WHERE batch_id = $1 AND state IN ${states} AND result IS NOT NULL LIMIT 1000
         )`,
        [id],
      );
    } while (cleared > 0);
    await database.execute(`UPDATE batch SET bytes = greatest(0, bytes - ${part}_bytes), ${part}_bytes = 0 WHERE id = $1`, [id]);
  }
}

/** A batch all of whose results were deleted keeps its counts, and no room for its requests. */
async function forgetRequests(database: Queryable): Promise<void> {
  const batches = await database.query({
    text: `SELECT id FROM batch WHERE state = 'ended' AND bytes > 0 AND (output_deleted OR error_deleted)
             AND output_bytes = 0 AND error_bytes = 0 LIMIT $1`,
    values: [AT_ONCE],
    row: idRow,
  });
  for (const { id } of batches) {
    await removeRequests(database, id);
    await database.execute("UPDATE batch SET bytes = 0 WHERE id = $1", [id]);
  }
}
