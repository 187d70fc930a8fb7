import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";
import { DESTINATION_KINDS, disableDestination, MAX_BATCH, type DestinationKind } from "./destinations.ts";

/** A destination with requests to send, and whose turn it is. */
export interface TraceExport {
  id: string;
  accountId: string;
  kind: DestinationKind;
  url: string;
  sealedHeaders: Buffer;
  includesContent: boolean;
  /** Number of the account's last request that was sent. */
  cursor: bigint;
  /** Of the account's last request. */
  lastNumber: bigint;
  /** Requests that a batch may have. */
  batchLimit: number;
  /** Batches in a row that were not accepted. */
  failures: number;
}

const exportRow = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  kind: z.enum(DESTINATION_KINDS),
  url: z.string(),
  sealedHeaders: z.instanceof(Buffer),
  includesContent: z.boolean(),
  cursor: z.bigint(),
  lastNumber: z.bigint(),
  batchLimit: z.int(),
  failures: z.int(),
});

/** A batch whose process died is sent again after this. Longer than sending one takes. */
const CLAIMED_FOR = "interval '2 minutes'";
/** A destination that is up to date waits for further requests. */
const PAUSE = "interval '5 seconds'";
/** One that accepts nothing for so long is disabled. */
const FAILS_FOR = "interval '3 days'";

export interface ClaimOptions {
  limit: number;
  /** Of these, those whose last batch was not accepted: however many hang, there is room for others. */
  failingLimit: number;
  busyDestinations: readonly string[];
}

/**
 * Destinations with something to send, each given to one of several callers, and every account's first before any account's second.
 * It reads a row per enabled destination, however many requests wait.
 */
export async function claimExports(
  database: Queryable,
  { limit, failingLimit, busyDestinations }: ClaimOptions,
): Promise<TraceExport[]> {
  return database.query({
    text: `WITH ranked AS (
             SELECT id, failures > 0 AS is_failing, next_attempt_at,
               row_number() OVER (PARTITION BY account_id ORDER BY next_attempt_at, id) AS rank
             FROM trace_destination JOIN trace_account USING (account_id)
             WHERE disabled_at IS NULL AND next_attempt_at <= now() AND cursor < last_number AND id <> ALL ($3::uuid[])
               -- A newer version may have other kinds: one of them must not stop everybody's.
               AND kind = ANY ($4)
           ), queued AS (
             SELECT *, row_number() OVER (PARTITION BY is_failing ORDER BY rank, next_attempt_at) AS turn FROM ranked
           ), due AS (
             SELECT trace_destination.id FROM trace_destination JOIN queued USING (id)
             WHERE disabled_at IS NULL AND trace_destination.next_attempt_at <= now() AND (NOT is_failing OR turn <= $2)
             ORDER BY is_failing, turn LIMIT $1 FOR UPDATE OF trace_destination SKIP LOCKED
           ), claimed AS (
             UPDATE trace_destination SET next_attempt_at = now() + ${CLAIMED_FOR}
             FROM due WHERE due.id = trace_destination.id RETURNING trace_destination.*
           )
           SELECT id, account_id AS "accountId", kind, url, sealed_headers AS "sealedHeaders",
             includes_content AS "includesContent", cursor, last_number AS "lastNumber", batch_limit AS "batchLimit", failures
           FROM claimed JOIN trace_account USING (account_id)`,
    values: [limit, failingLimit, busyDestinations, DESTINATION_KINDS],
    row: exportRow,
  });
}

export interface AcceptedBatch {
  /** Number of its last request. */
  through: bigint;
  sent: number;
  rejected: number;
  /** Requests before it that are not there any more. */
  skipped: number;
  remark: string | null;
}

/** Nothing changes if another process has taken over in the meantime, or the destination was enabled anew. */
export async function noteAccepted(database: Queryable, { id, cursor }: TraceExport, batch: AcceptedBatch): Promise<void> {
  const { through, sent, rejected, skipped, remark } = batch;
  await database.execute(
    `UPDATE trace_destination SET cursor = $3, sent = sent + $4, rejected = rejected + $5, skipped = skipped + $6, remark = $7,
       batch_limit = least(${MAX_BATCH}, batch_limit * 2), failures = 0, failing_since = NULL, problem = NULL, accepted_at = now(),
       next_attempt_at = now() + CASE WHEN $3 < last_number THEN interval '0' ELSE ${PAUSE} END
     FROM trace_account WHERE trace_account.account_id = trace_destination.account_id AND id = $1 AND cursor = $2`,
    [id, cursor, through, sent, rejected, skipped, remark?.slice(0, MAX_PROBLEM) ?? null],
  );
}

/** What to send is not there any more: too much waited, or for too long. */
export async function noteSkipped(
  database: Queryable,
  { id, cursor }: Pick<TraceExport, "id" | "cursor">,
  through: bigint,
): Promise<void> {
  await database.execute(
    `UPDATE trace_destination SET cursor = $3, skipped = skipped + ($3 - cursor), next_attempt_at = now()
     WHERE id = $1 AND cursor = $2`,
    [id, cursor, through],
  );
}

/** Nothing is to be sent yet. */
export async function notePostponed(database: Queryable, { id, cursor }: Pick<TraceExport, "id" | "cursor">): Promise<void> {
  await database.execute(`UPDATE trace_destination SET next_attempt_at = now() + ${PAUSE} WHERE id = $1 AND cursor = $2`, [
    id,
    cursor,
  ]);
}

const MAX_PROBLEM = 300;

export interface FailedBatch {
  problem: string;
  retryAfterMs: number;
  /** Requests of the next one. */
  batchLimit: number;
  /** If it was refused for what is in it and cannot be smaller: the number of its only request, which is left out. */
  rejectedThrough?: bigint | undefined;
}

/** @returns "disabled": it has accepted nothing for days. */
export async function noteFailed(
  database: Database,
  { id, accountId, cursor }: Pick<TraceExport, "id" | "accountId" | "cursor">,
  { problem, retryAfterMs, batchLimit, rejectedThrough }: FailedBatch,
): Promise<"waiting" | "disabled"> {
  return database.transaction(async (transaction) => {
    const [failed] = await transaction.query({
      text: `UPDATE trace_destination SET problem = $3, failures = failures + 1, failing_since = coalesce(failing_since, now()),
               next_attempt_at = now() + make_interval(secs => $4), batch_limit = $5, cursor = coalesce($6, cursor),
               rejected = rejected + CASE WHEN $6::bigint IS NULL THEN 0 ELSE 1 END
             WHERE id = $1 AND cursor = $2 AND disabled_at IS NULL
             RETURNING failing_since < now() - ${FAILS_FOR} AS "isDead"`,
      values: [id, cursor, problem.slice(0, MAX_PROBLEM), retryAfterMs / 1000, batchLimit, rejectedThrough ?? null],
      row: z.strictObject({ isDead: z.boolean() }),
    });
    if (failed?.isDead !== true) return "waiting";
    await disableDestination(transaction, { accountId, id }, "failures");
    return "disabled";
  });
}
