import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** A response to store: its contents are encrypted. */
export interface NewResponse {
  accountId: string;
  responseId: string;
  previousResponseId: string | null;
  /** Ids of its output items. */
  itemIds: readonly string[];
  /** How long it is kept after its last use. */
  storeHours: number;
  /** Encrypted. */
  input: Buffer;
  /** Encrypted. */
  response: Buffer;
  /** Ids of stored responses that its request used: their lifetime starts again. */
  usedResponseIds: readonly string[];
}

const MEBIBYTE = 1024 * 1024;
const DROPPED_AT_ONCE = 500;
const MAX_DROPS = 40;

const accountRow = z.strictObject({ accountId: z.string() });

/**
 * Stores a batch in one transaction. If an account would exceed its limits of this hour, nothing of it in the batch is stored.
 * @returns the accounts concerned.
 */
export async function writeResponses(database: Database, batch: readonly NewResponse[]): Promise<ReadonlySet<string>> {
  return database.transaction(async (transaction) => {
    const within = await reserve(transaction, batch);
    // By account, as every other writer that counts for several: two of them must not wait for each other.
    const stored = batch
      .filter(({ accountId }) => within.has(accountId))
      .toSorted((one, other) => (one.accountId < other.accountId ? -1 : Number(one.accountId > other.accountId)));
    await insert(transaction, stored);
    await renew(transaction, stored);
    return new Set(batch.map(({ accountId }) => accountId).filter((accountId) => !within.has(accountId)));
  });
}

/** @returns the accounts that stay within their limits. */
async function reserve(transaction: Queryable, batch: readonly NewResponse[]): Promise<ReadonlySet<string>> {
  const rows = await transaction.query({
    text: `INSERT INTO stored_response_volume AS volume (account_id, hour, responses, bytes)
           SELECT account_id, date_trunc('hour', now()), count(*), sum(bytes)
           FROM unnest($1::text[], $2::bigint[]) AS new (account_id, bytes)
           WHERE account_id IN (SELECT id FROM account)
           GROUP BY account_id ORDER BY account_id
           ON CONFLICT (account_id, hour) DO UPDATE
           SET responses = volume.responses + excluded.responses, bytes = volume.bytes + excluded.bytes
           WHERE volume.responses + excluded.responses <= $3 AND volume.bytes + excluded.bytes <= $4
           RETURNING account_id AS "accountId"`,
    values: [
      batch.map(({ accountId }) => accountId),
      batch.map(({ input, response }) => input.length + response.length),
      ACCOUNT_BOUNDS.storedResponsesAnHour,
      ACCOUNT_BOUNDS.storedMebibytesAnHour * MEBIBYTE,
    ],
    row: accountRow,
  });
  return new Set(rows.map(({ accountId }) => accountId));
}

/**
 * One by one: a list of buffers would be transferred as hexadecimal text. An existing id is left unchanged: model servers choose
 * their own.
 */
async function insert(transaction: Queryable, batch: readonly NewResponse[]): Promise<void> {
  for (const { accountId, responseId, previousResponseId, storeHours, input, response, itemIds } of batch)
    await transaction.execute(
      `WITH stored AS (
         INSERT INTO stored_response (account_id, response_id, previous_response_id, store_hours, expires_at, input, response)
         VALUES ($1, $2, $3, $4::integer, now() + make_interval(hours => $4::integer), $5, $6)
         ON CONFLICT DO NOTHING RETURNING account_id, response_id
       )
       INSERT INTO stored_item (account_id, item_id, response_id)
       SELECT account_id, item_id, response_id FROM stored, unnest($7::text[]) AS item_id ON CONFLICT DO NOTHING`,
      [accountId, responseId, previousResponseId, storeHours, input, response, itemIds],
    );
}

/** The holder of a row's lock renews it as well, or deletes it. */
async function renew(transaction: Queryable, batch: readonly NewResponse[]): Promise<void> {
  const used = batch.flatMap(({ accountId, usedResponseIds }) => usedResponseIds.map((id) => [accountId, id] as const));
  if (used.length === 0) return;
  await transaction.execute(
    `UPDATE stored_response SET expires_at = now() + make_interval(hours => store_hours)
     WHERE (account_id, response_id) IN (
       SELECT account_id, response_id FROM stored_response
       WHERE (account_id, response_id) IN (SELECT * FROM unnest($1::text[], $2::text[])) AND expires_at > now()
       FOR UPDATE SKIP LOCKED
     )`,
    [used.map(([accountId]) => accountId), used.map(([, id]) => id)],
  );
}

/** Drops expired responses, a bounded number per call, and the counts of past hours. @returns how many responses. */
export async function dropExpiredResponses(database: Queryable): Promise<number> {
  let dropped = 0;
  for (let round = 0; round < MAX_DROPS; round += 1) {
    const rows = await database.execute(
      `DELETE FROM stored_response WHERE (account_id, response_id) IN (
         SELECT account_id, response_id FROM stored_response WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED
       )`,
      [DROPPED_AT_ONCE],
    );
    dropped += rows;
    if (rows < DROPPED_AT_ONCE) break;
  }
  await database.execute("DELETE FROM stored_response_volume WHERE hour < now() - interval '2 hours'");
  return dropped;
}
