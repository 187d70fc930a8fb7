import { randomBytes } from "node:crypto";
import * as z from "zod";
import { BATCH_BOUNDS, BATCH_INTERFACES, type BatchInterface } from "../../contract/batches.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";
import { ROW_BYTES } from "./requests.ts";
import { noSuchFile } from "./files.ts";
import { HAVE_RESULTS_EXPIRED, RESULTS_EXPIRE_AT } from "./results-expiry.ts";
import type { BatchRoom } from "./room.ts";

/** A batch of an account: requests that the gateway sends one by one. */
export interface Batch {
  id: string;
  accountId: string;
  /** Public id of the key that created it, and pays. */
  keyId: string;
  interface: OrOther<BatchInterface>;
  inputFileId: string | null;
  metadata: Record<string, string> | null;
  state: OrOther<"arriving" | "preparing" | "running" | "ending" | "ended">;
  /** Why it ends, or ended, before its requests were done; null if it did not. */
  stoppedBy: string | null;
  errors: BatchError[];
  requests: number;
  succeeded: number;
  errored: number;
  canceled: number;
  expired: number;
  outputBytes: number;
  errorBytes: number;
  isOutputDeleted: boolean;
  isErrorDeleted: boolean;
  chargeNanoUsd: bigint;
  createdAt: Date;
  startedAt: Date | null;
  endingAt: Date | null;
  endedAt: Date | null;
  dueAt: Date;
  /** When it is deleted; null until it has ended. */
  deletedAt: Date | null;
  /** When its results are deleted, at the latest with it. */
  resultsExpireAt: Date | null;
}

/** Why a batch failed. */
export interface BatchError {
  code: string;
  message: string;
  /** Of the file, from 1; null if it is about the whole. */
  line: number | null;
}

const batchRow: z.ZodType<Batch> = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  keyId: z.string(),
  interface: knownOrOther(BATCH_INTERFACES),
  inputFileId: z.string().nullable(),
  metadata: z.record(z.string(), z.string()).nullable(),
  state: knownOrOther(["arriving", "preparing", "running", "ending", "ended"]),
  stoppedBy: z.string().nullable(),
  errors: z.array(z.strictObject({ code: z.string(), message: z.string(), line: z.int().nullable() })),
  requests: z.int(),
  succeeded: z.int(),
  errored: z.int(),
  canceled: z.int(),
  expired: z.int(),
  outputBytes: z.bigint().transform(Number),
  errorBytes: z.bigint().transform(Number),
  isOutputDeleted: z.boolean(),
  isErrorDeleted: z.boolean(),
  chargeNanoUsd: z.bigint(),
  createdAt: z.date(),
  startedAt: z.date().nullable(),
  endingAt: z.date().nullable(),
  endedAt: z.date().nullable(),
  dueAt: z.date(),
  deletedAt: z.date().nullable(),
  resultsExpireAt: z.date().nullable(),
});

const COLUMNS = `id, account_id AS "accountId", key_id AS "keyId", interface, input_file_id AS "inputFileId", metadata, state,
  stopped_by AS "stoppedBy", errors, requests, succeeded, errored, canceled, expired, output_bytes AS "outputBytes",
  error_bytes AS "errorBytes", output_deleted OR ${HAVE_RESULTS_EXPIRED} AS "isOutputDeleted",
  error_deleted OR ${HAVE_RESULTS_EXPIRED} AS "isErrorDeleted",
  charge_nano_usd AS "chargeNanoUsd", created_at AS "createdAt", started_at AS "startedAt", ending_at AS "endingAt",
  ended_at AS "endedAt", due_at AS "dueAt", deleted_at AS "deletedAt", ${RESULTS_EXPIRE_AT} AS "resultsExpireAt"`;
const VISIBLE = "state <> 'arriving' AND (deleted_at IS NULL OR deleted_at > now())";

/** Which batches a dialect's endpoints show: each has ids of its own. */
export type BatchKind = "batch" | "msgbatch";

const BATCH_ID = /^(msg)?batch_[0-9a-f]{32}$/;

/** The id is as a client sent it: Postgres does not take every text. */
export async function findBatch(
  database: Queryable,
  { accountId, id, kind }: { accountId: string; id: string; kind: BatchKind | "any" },
): Promise<Batch | undefined> {
  if (!BATCH_ID.test(id) || (kind !== "any" && !id.startsWith(`${kind}_`))) return undefined;
  const [batch] = await database.query({
    text: `SELECT ${COLUMNS} FROM batch WHERE account_id = $1 AND id = $2 AND ${VISIBLE}`,
    values: [accountId, id],
    row: batchRow,
  });
  return batch;
}

export function noSuchBatch(field?: string): GatewayError {
  return new GatewayError(
    "not_found",
    "There is no such batch in this account, or it was deleted.",
    field === undefined ? {} : { field },
  );
}

export interface BatchRange {
  kind: BatchKind | "any";
  /** Newest first; the batch before the first of the list, or after its last. */
  afterId?: string | undefined;
  beforeId?: string | undefined;
  limit: number;
}

/** Newest first. @throws GatewayError `not_found` if there is no batch of a given id. */
export async function listBatches(
  database: Queryable,
  accountId: string,
  { kind, afterId, beforeId, limit }: BatchRange,
): Promise<Batch[]> {
  for (const [id, field] of [
    [afterId, kind === "msgbatch" ? "after_id" : "after"],
    [beforeId, "before_id"],
  ] as const)
    if (id !== undefined && (await findBatch(database, { accountId, id, kind })) === undefined) throw noSuchBatch(field);
  // From the end that is given.
  const order = beforeId === undefined ? "DESC" : "ASC";
  const rows = await database.query({
    text: `SELECT ${COLUMNS} FROM batch WHERE account_id = $1 AND ${VISIBLE} AND ($2 = 'any' OR starts_with(id, $2 || '_'))
           AND ($3::text IS NULL OR (created_at, id) < (SELECT created_at, id FROM batch WHERE id = $3))
           AND ($4::text IS NULL OR (created_at, id) > (SELECT created_at, id FROM batch WHERE id = $4))
           ORDER BY created_at ${order}, id ${order} LIMIT $5`,
    values: [accountId, kind, afterId ?? null, beforeId ?? null, limit],
    row: batchRow,
  });
  return beforeId === undefined ? rows : rows.toReversed();
}

export interface NewBatch {
  accountId: string;
  keyId: string;
  kind: BatchKind;
  interface: BatchInterface;
  inputFileId?: string;
  metadata?: Readonly<Record<string, string>> | null;
  betas?: string | null;
  /** null: as long as the batch. */
  resultsKeptSeconds?: number | null;
  /** As many as the file or the list with its requests has, or may have. */
  bytes: number;
  room: BatchRoom;
}

/** As it is written in a file or a list. */
const SHORTEST_REQUEST_BYTES = 32;

/** As much as a batch takes until its requests are known. @param bytes of its file or list. */
export function roomOfBatch(bytes: number): number {
  return bytes + ROW_BYTES * Math.min(BATCH_BOUNDS.requests, Math.ceil(bytes / SHORTEST_REQUEST_BYTES));
}

/** @returns its id. @throws GatewayError as `BatchRoom`; `not_found` if the file is gone. */
export async function createBatch(database: Database, batch: NewBatch): Promise<string> {
  const { accountId, keyId, kind, inputFileId = null, metadata = null, betas = null, resultsKeptSeconds = null, room } = batch;
  const bytes = roomOfBatch(batch.bytes);
  const id = `${kind}_${randomBytes(16).toString("hex")}`;
  await database.transaction(async (transaction) => {
    await room.take(transaction, { accountId, kind: "batch", bytes });
    if (inputFileId !== null) await keepFile(transaction, accountId, inputFileId);
    await transaction.execute(
      `INSERT INTO batch (id, account_id, key_id, interface, input_file_id, metadata, betas, state, bytes, due_at, results_kept_seconds)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(hours => $10), $11)`,
      [
        id,
        accountId,
        keyId,
        batch.interface,
        inputFileId,
        metadata === null ? null : JSON.stringify(metadata),
        betas,
        inputFileId === null ? "arriving" : "preparing",
        bytes,
        BATCH_BOUNDS.windowHours,
        resultsKeptSeconds,
      ],
    );
  });
  return id;
}

/** The file stays until the batch is created: nobody deletes it meanwhile (upkeep.ts). */
async function keepFile(transaction: Queryable, accountId: string, fileId: string): Promise<void> {
  const kept = await transaction.execute(
    "SELECT FROM batch_file WHERE id = $1 AND account_id = $2 AND is_complete AND expires_at > clock_timestamp() FOR SHARE",
    [fileId, accountId],
  );
  if (kept === 0) throw noSuchFile("input_file_id");
}

/**
 * Sends no further request of a batch; those in flight are finished.
 * @throws GatewayError `not_found`; `invalid_request` if it has ended.
 */
export async function cancelBatch(
  database: Queryable,
  { accountId, id, kind }: { accountId: string; id: string; kind: BatchKind | "any" },
): Promise<Batch> {
  const before = await findBatch(database, { accountId, id, kind });
  if (before === undefined) throw noSuchBatch();
  if (before.state === "ended") throw new GatewayError("invalid_request", "This batch has already ended and cannot be canceled.");
  await database.execute(
    `UPDATE batch SET state = 'ending', stopped_by = 'canceled', ending_at = now(), resumes_at = now()
     WHERE id = $1 AND state IN ('preparing', 'running')`,
    [id],
  );
  return (await findBatch(database, { accountId, id, kind })) ?? before;
}

/** @throws GatewayError `not_found`; `invalid_request` if it has not ended. */
export async function deleteBatch(
  database: Queryable,
  { accountId, id, kind }: { accountId: string; id: string; kind: BatchKind },
): Promise<void> {
  const batch = await findBatch(database, { accountId, id, kind });
  if (batch === undefined) throw noSuchBatch();
  if (batch.state !== "ended")
    throw new GatewayError(
      "invalid_request",
      "This batch has not ended yet. Cancel it, wait until it has ended, and then delete it.",
    );
  await database.execute("UPDATE batch SET deleted_at = now() WHERE id = $1", [id]);
}

/** Ends all batches of an account that is closed, and lets its files and results be deleted. */
export async function endBatchesOf(transaction: Queryable, accountId: string): Promise<void> {
  await transaction.execute(
    `UPDATE batch SET state = 'ending', stopped_by = 'permission_denied', ending_at = now(), resumes_at = now()
     WHERE account_id = $1 AND state IN ('preparing', 'running')`,
    [accountId],
  );
  // Those that still arrive or end as well, once they have.
  await transaction.execute(
    "UPDATE batch SET deleted_at = now() WHERE account_id = $1 AND state IN ('arriving', 'ending', 'ended')",
    [accountId],
  );
  await transaction.execute("UPDATE batch_file SET expires_at = now() WHERE account_id = $1", [accountId]);
}
