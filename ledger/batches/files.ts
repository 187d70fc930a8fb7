import { randomBytes } from "node:crypto";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import type { BatchContent } from "./content.ts";
import { RESULTS_EXPIRE_AT } from "./results-expiry.ts";
import { UPLOAD_TIME, type BatchRoom } from "./room.ts";

/** A file of an account, as clients see it: an uploaded one, or the results of a batch. */
export interface BatchFile {
  id: string;
  name: string;
  bytes: number;
  purpose: "batch" | "batch_output";
  createdAt: Date;
  expiresAt: Date;
}

const fileRow = z.strictObject({
  id: z.string(),
  name: z.string(),
  bytes: z.bigint().transform(Number),
  purpose: z.enum(["batch", "batch_output"]),
  createdAt: z.date(),
  expiresAt: z.date(),
});

/** Results have no rows of their own: their ids are made from that of their batch. */
const RESULT_FILES = (["output", "error"] as const).map(
  (part) => `SELECT 'file-${part}_' || substr(id, 7) AS id, id || '_${part}.jsonl' AS name, ${part}_bytes AS bytes,
      'batch_output' AS purpose, ended_at AS created_at, ${RESULTS_EXPIRE_AT} AS expires_at, account_id
    FROM batch WHERE state = 'ended' AND interface <> 'messages' AND ${part}_bytes > 0 AND NOT ${part}_deleted AND ${RESULTS_EXPIRE_AT} > now()`,
);
const FILES = `(SELECT id, name, bytes, 'batch' AS purpose, created_at, expires_at, account_id
    FROM batch_file WHERE is_complete AND expires_at > now() UNION ALL ${RESULT_FILES.join(" UNION ALL ")}) AS file`;
const SELECT = `SELECT id, name, bytes, purpose, created_at AS "createdAt", expires_at AS "expiresAt" FROM ${FILES}`;

/** Which results of which batch a file's id means; undefined for an uploaded file. */
export function resultFileOf(fileId: string): { batchId: string; part: "output" | "error" } | undefined {
  const match = /^file-(output|error)_([0-9a-f]{32})$/.exec(fileId);
  if (match?.[2] === undefined) return undefined;
  return { batchId: `batch_${match[2]}`, part: match[1] === "output" ? "output" : "error" };
}

/** @param part of the batch's results. */
export function resultFileId(batchId: string, part: "output" | "error"): string {
  return `file-${part}_${batchId.slice("batch_".length)}`;
}

const FILE_ID = /^file-((output|error)_)?[0-9a-f]{32}$/;

/** @param id as a client sent it: Postgres does not take every text. */
export async function findFile(database: Queryable, accountId: string, id: string): Promise<BatchFile | undefined> {
  if (!FILE_ID.test(id)) return undefined;
  const [file] = await database.query({
    text: `${SELECT} WHERE account_id = $1 AND id = $2`,
    values: [accountId, id],
    row: fileRow,
  });
  return file;
}

export interface FileRange {
  /** All if absent. */
  purpose?: BatchFile["purpose"] | undefined;
  order: "asc" | "desc";
  /** The file before the first. */
  afterId?: string | undefined;
  limit: number;
}

/** @throws GatewayError `not_found` if there is no file `afterId`. */
export async function listFiles(
  database: Queryable,
  accountId: string,
  { purpose, order, afterId, limit }: FileRange,
): Promise<BatchFile[]> {
  if (afterId !== undefined && (await findFile(database, accountId, afterId)) === undefined) throw noSuchFile("after");
  const isFurther = order === "asc" ? ">" : "<";
  return database.query({
    text: `${SELECT} WHERE account_id = $1 AND ($2::text IS NULL OR purpose = $2)
           AND ($3::text IS NULL OR (created_at, id) ${isFurther} (SELECT created_at, id FROM ${FILES} WHERE id = $3 AND account_id = $1))
           ORDER BY created_at ${order}, id ${order} LIMIT $4`,
    values: [accountId, purpose ?? null, afterId ?? null, limit],
    row: fileRow,
  });
}

export function noSuchFile(field?: string): GatewayError {
  return new GatewayError(
    "not_found",
    "There is no such file in this account, or it was deleted.",
    field === undefined ? {} : { field },
  );
}

/** An upload that has begun. */
export interface Upload {
  readonly fileId: string;
  /** Adds the next part. */
  add(content: Buffer): Promise<void>;
  /** The file exists from then on, for so long. @returns it. @throws GatewayError if its account was closed meanwhile. */
  complete(file: { name: string; keptSeconds: number }): Promise<BatchFile>;
  /** Nothing of it stays. */
  abandon(): Promise<void>;
}

/**
 * Begins an upload, whose room is reserved.
 * @param bytes as many as it may get.
 * @throws GatewayError as `BatchRoom`.
 */
export async function beginUpload(
  database: Database,
  { accountId, bytes, room, content }: { accountId: string; bytes: number; room: BatchRoom; content: BatchContent },
): Promise<Upload> {
  const fileId = `file-${randomBytes(16).toString("hex")}`;
  await database.transaction(async (transaction) => {
    await room.take(transaction, { accountId, kind: "file", bytes });
    await transaction.execute(
      `INSERT INTO batch_file (id, account_id, name, bytes, expires_at) VALUES ($1, $2, '', $3, now() + ${UPLOAD_TIME})`,
      [fileId, accountId, bytes],
    );
  });
  let part = 0;
  let received = 0;
  return {
    fileId,
    async add(plain) {
      const number = part++;
      received += plain.length;
      await database.execute("INSERT INTO batch_file_part (file_id, number, content) VALUES ($1, $2, $3)", [
        fileId,
        number,
        content.sealFile({ fileId, part: number }, plain),
      ]);
    },
    async complete({ name, keptSeconds }) {
      const isCompleted = await room.giveBack(bytes - received, async () => {
        const completed = await database.execute(
          `UPDATE batch_file SET name = $2, bytes = $3, is_complete = true, created_at = now(), expires_at = now() + make_interval(secs => $4)
           WHERE id = $1 AND expires_at > now()`,
          [fileId, name, received, keptSeconds],
        );
        return completed > 0;
      });
      // All files of a closed account expire at once, also those that are not complete.
      if (!isCompleted) throw new GatewayError("permission_denied", "This account was closed while the file was uploaded.");
      const file = await findFile(database, accountId, fileId);
      if (file === undefined) throw new Error("An uploaded file is gone.");
      return file;
    },
    async abandon() {
      await room.giveBack(bytes, async () => (await database.execute("DELETE FROM batch_file WHERE id = $1", [fileId])) > 0);
    },
  };
}

/**
 * Deletes an uploaded file, or the results of a batch. What is large goes later (upkeep.ts); nobody sees it from now on.
 * @throws GatewayError `not_found`; `invalid_request` while a batch is prepared from it.
 */
export async function deleteFile(database: Database, accountId: string, id: string): Promise<void> {
  await database.transaction(async (transaction) => {
    if ((await findFile(transaction, accountId, id)) === undefined) throw noSuchFile();
    const results = resultFileOf(id);
    if (results !== undefined) {
      await transaction.execute(`UPDATE batch SET ${results.part}_deleted = true WHERE id = $1`, [results.batchId]);
      return;
    }
    const used = await transaction.query({
      text: "SELECT id FROM batch WHERE input_file_id = $1 AND state = 'preparing' LIMIT 1",
      values: [id],
      row: z.strictObject({ id: z.string() }),
    });
    if (used.length > 0)
      throw new GatewayError("invalid_request", "A batch is being created from this file. Try again in a moment.");
    await transaction.execute("UPDATE batch_file SET expires_at = now() WHERE id = $1", [id]);
  });
}

const partRow = z.strictObject({ content: z.instanceof(Buffer) });

/** The content of an uploaded file, part by part. */
export async function* readFileParts(database: Queryable, fileId: string, content: BatchContent): AsyncGenerator<Buffer> {
  for (let part = 0; ; part++) {
    const [row] = await database.query({
      text: "SELECT content FROM batch_file_part WHERE file_id = $1 AND number = $2",
      values: [fileId, part],
      row: partRow,
    });
    if (row === undefined) return;
    yield content.openFile({ fileId, part }, row.content);
  }
}
