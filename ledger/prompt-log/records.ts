import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { cutPage } from "../postgres/page.ts";
import type { Queryable, Reader } from "../postgres/database.ts";
import { lowestIdAt } from "../usage/request-id-time.ts";
import type { PromptContent, PromptSealer } from "./content.ts";

/** A record without its content. */
export interface ListedRecord {
  requestId: string;
  keyId: string;
  keyName: string;
  startedAt: Date;
  /** Then it is deleted. */
  expiresAt: Date;
  /** A newer version may have others. */
  interface: string;
  /** Null: it was refused before its model was known. */
  model: string | null;
  isStream: boolean;
  /** Null: the client left before it was answered. */
  status: number | null;
  /** The client got the answer to its end. */
  isWhole: boolean;
  /** As they were sent; the content may have less. */
  requestBytes: number;
  answerBytes: number;
}

export interface PromptRecord extends ListedRecord {
  content: PromptContent;
}

export interface RecordListing {
  accountId: string;
  /** Only of this key. */
  keyId?: string | undefined;
  limit: number;
  /** Continues after the record of this request. */
  after?: string | undefined;
}

interface RecordName {
  accountId: string;
  requestId: string;
}

const row = z.strictObject({
  requestId: z.string(),
  keyId: z.string(),
  keyName: z.string(),
  startedAt: z.date(),
  expiresAt: z.date(),
  interface: z.string(),
  model: z.string().nullable(),
  isStream: z.boolean(),
  status: z.int().nullable(),
  isWhole: z.boolean(),
  requestBytes: z.int(),
  answerBytes: z.int(),
});

const EXPIRES_AT = "least(record.expires_at, started_at + make_interval(days => prompt_log_days))";
const SELECT = `SELECT request_id AS "requestId", key_id AS "keyId", api_key.name AS "keyName", started_at AS "startedAt",
    ${EXPIRES_AT} AS "expiresAt", interface, model, is_stream AS "isStream", status, is_whole AS "isWhole",
    request_bytes AS "requestBytes", answer_bytes AS "answerBytes"`;
const FROM = "FROM prompt_record AS record JOIN api_key ON public_id = key_id";
/** Upkeep deletes the others within a minute; nobody reads them until then. */
const IS_KEPT = `record.account_id = $1 AND api_key.account_id = $1 AND revoked_at IS NULL AND ${EXPIRES_AT} > now()
  AND (prompt_log_after IS NULL OR request_id > prompt_log_after)`;

/** An account's records, newest first. */
export async function listRecords(
  database: Reader,
  { accountId, keyId, limit, after }: RecordListing,
): Promise<{ records: ListedRecord[]; next: string | null }> {
  const rows = await database.query({
    text: `${SELECT} ${FROM} WHERE ${IS_KEPT} ${after === undefined ? "" : "AND request_id < $3"}
             ${keyId === undefined ? "" : `AND key_id = $${after === undefined ? 3 : 4}`}
           ORDER BY request_id DESC LIMIT $2`,
    values: [accountId, limit + 1, ...(after === undefined ? [] : [after]), ...(keyId === undefined ? [] : [keyId])],
    row,
  });
  const { page, next } = cutPage(rows, limit, ({ requestId }) => requestId);
  return { records: page, next };
}

/** @returns the request's prompt and answer; undefined if none is recorded, or no more. */
export async function readRecord(
  database: Reader,
  sealer: Pick<PromptSealer, "open">,
  { accountId, requestId }: RecordName,
): Promise<PromptRecord | undefined> {
  const [found] = await database.query({
    text: `${SELECT}, content ${FROM} WHERE ${IS_KEPT} AND request_id = $2`,
    values: [accountId, requestId],
    row: row.extend({ content: z.instanceof(Buffer) }),
  });
  if (found === undefined) return undefined;
  const { keyId } = found;
  return { ...found, content: await sealer.open({ accountId, keyId, requestId }, found.content) };
}

/** @returns those of these requests of which something is recorded. */
export async function listRecorded(
  database: Reader,
  { accountId, requestIds }: { accountId: string; requestIds: readonly string[] },
): Promise<ReadonlySet<string>> {
  const found = await database.query({
    text: `SELECT request_id AS "requestId" ${FROM} WHERE ${IS_KEPT} AND request_id = ANY ($2::uuid[])`,
    values: [accountId, requestIds],
    row: z.strictObject({ requestId: z.string() }),
  });
  return new Set(found.map(({ requestId }) => requestId));
}

export async function hasRecord(database: Reader, { accountId, requestId }: RecordName): Promise<boolean> {
  const found = await database.query({
    text: `SELECT ${FROM} WHERE ${IS_KEPT} AND request_id = $2`,
    values: [accountId, requestId],
    row: z.strictObject({}),
  });
  return found.length > 0;
}

/** @throws GatewayError `not_found`. */
export async function deleteRecord(database: Queryable, { accountId, requestId }: RecordName): Promise<void> {
  const deleted = await database.execute("DELETE FROM prompt_record WHERE account_id = $1 AND request_id = $2", [
    accountId,
    requestId,
  ]);
  if (deleted === 0) throw noSuchRecord();
}

/**
 * Nobody can read the records of the key's requests up to now from the end of the transaction on, also of those that are still on
 * their way here; upkeep deletes them within a minute.
 */
export async function deleteRecordsOfKey(
  database: Queryable,
  { accountId, keyId, nowMs }: { accountId: string; keyId: string; nowMs: number },
): Promise<void> {
  await database.execute("UPDATE api_key SET prompt_log_after = $3 WHERE account_id = $1 AND public_id = $2", [
    accountId,
    keyId,
    lowestIdAt(nowMs + 1),
  ]);
  // The ids are from the gateway's clock, which may be ahead. There are few, so they need not wait for upkeep.
  await database.execute("DELETE FROM prompt_record WHERE account_id = $1 AND key_id = $2 AND request_id > $3", [
    accountId,
    keyId,
    lowestIdAt(nowMs),
  ]);
}

/** The same for all keys of an account, which record nothing from now on. */
export async function endPromptLogs(database: Queryable, accountId: string, nowMs: number): Promise<void> {
  await database.execute(
    `UPDATE api_key SET prompt_log_days = NULL, prompt_log_after = $2
     WHERE account_id = $1 AND revoked_at IS NULL
       AND (prompt_log_days IS NOT NULL OR EXISTS (SELECT FROM prompt_record WHERE account_id = $1 AND key_id = public_id))`,
    [accountId, lowestIdAt(nowMs + 1)],
  );
  await database.execute("DELETE FROM prompt_record WHERE account_id = $1 AND request_id > $2", [accountId, lowestIdAt(nowMs)]);
}

export function noSuchRecord(): GatewayError {
  return new GatewayError("not_found", "No prompt of such a request is recorded, or it was deleted.", { field: "request_id" });
}
