import * as z from "zod";
import { BATCH_INTERFACES } from "../../contract/batches.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** Requests of all batches of an account that are in flight at once, roughly: processes count them at the same time. */
const ACCOUNT_WIDTH = 4;
/** A sender that says nothing for this long is gone. */
export const SENT_SECONDS = 30;

/** A request that is to be sent now. */
export interface SendableRequest {
  batchId: string;
  number: number;
  customId: string;
  /** Encrypted. */
  body: Buffer;
  keyId: string;
  accountId: string;
  interface: (typeof BATCH_INTERFACES)[number];
  betas: string | null;
  /** How often it was sent without a known outcome. */
  attempts: number;
  /** Of the last time that it was sent, if its outcome is unknown. */
  earlierRequestId: string | null;
}

const batchRow = z.strictObject({
  batchId: z.string(),
  accountId: z.string(),
  keyId: z.string(),
  interface: z.enum(BATCH_INTERFACES),
  betas: z.string().nullable(),
  room: z.int(),
});
/**
 * As SQL, of a `batch`: it has requests that wait. The order has Postgres read the index of those that wait; for any one of them, it
 * may read the whole table.
 */
export const HAS_WAITING =
  "(SELECT number FROM batch_request WHERE batch_id = batch.id AND batch_request.state = 'waiting' ORDER BY number LIMIT 1) IS NOT NULL";

const NONE_REFUSED: ReadonlyMap<string, number> = new Map();

const requestRow = z.strictObject({
  number: z.int(),
  customId: z.string(),
  body: z.instanceof(Buffer),
  attempts: z.int(),
  earlierRequestId: z.string().nullable(),
});

/**
 * Takes requests of one batch. Batches of the accounts with the fewest requests in flight come first, and those that have waited
 * longest among them. Another process may take others of the same batch a moment later, but never the same ones.
 * @param holder this process.
 * @param refused by batch, the number of the request that was refused last: those after it come first, so that one which is refused
 * again and again does not keep the others waiting.
 */
export async function takeRequests(
  database: Database,
  { holder, limit, refused = NONE_REFUSED }: { holder: string; limit: number; refused?: ReadonlyMap<string, number> },
): Promise<SendableRequest[]> {
  return database.transaction(async (transaction) => {
    const batch = await takeBatch(transaction);
    if (batch === undefined) return [];
    const { room, ...shared } = batch;
    await transaction.execute("UPDATE batch SET resumes_at = clock_timestamp() WHERE id = $1", [batch.batchId]);
    const taken = await transaction.query({
      // One list for each index: with both conditions at once, all requests that are done would be read, every time.
      text: `WITH lost AS (
               SELECT batch_id, number, 1 AS lost FROM batch_request
               WHERE batch_id = $1 AND state = 'sent' AND taken_until < now() LIMIT $2 FOR UPDATE SKIP LOCKED
             ), waiting AS (
               SELECT batch_id, number, 0 AS lost FROM batch_request
               WHERE batch_id = $1 AND state = 'waiting' AND number > $5 ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
             ), before AS (
               SELECT batch_id, number, 0 AS lost FROM batch_request
               WHERE batch_id = $1 AND state = 'waiting' AND number <= $5 ORDER BY number LIMIT $2 FOR UPDATE SKIP LOCKED
             ), chosen AS (
               SELECT * FROM lost UNION ALL SELECT * FROM waiting UNION ALL SELECT * FROM before LIMIT $2
             )
             UPDATE batch_request AS request SET state = 'sent', taken_by = $3, taken_until = now() + make_interval(secs => $4),
               attempts = attempts + lost
             FROM chosen WHERE request.batch_id = chosen.batch_id AND request.number = chosen.number
             RETURNING request.number, custom_id AS "customId", body, attempts, request_id AS "earlierRequestId"`,
      values: [batch.batchId, Math.min(room, limit), holder, SENT_SECONDS, refused.get(batch.batchId) ?? 0],
      row: requestRow,
    });
    return taken.map((request) => ({ ...shared, ...request }));
  });
}

async function takeBatch(transaction: Queryable) {
  const [batch] = await transaction.query({
    text: `WITH flying AS (
             SELECT batch_id, account_id, count(*) AS requests FROM batch_request JOIN batch ON id = batch_id
             WHERE batch_request.state = 'sent' AND batch_request.taken_until >= now() GROUP BY batch_id, account_id
           ), of_account AS (
             SELECT account_id, sum(requests) AS requests FROM flying GROUP BY account_id
           )
           SELECT id AS "batchId", batch.account_id AS "accountId", key_id AS "keyId", interface, betas,
             least(width - coalesce(flying.requests, 0), $1 - coalesce(of_account.requests, 0))::integer AS room
           FROM batch LEFT JOIN flying ON flying.batch_id = id LEFT JOIN of_account ON of_account.account_id = batch.account_id
           WHERE state = 'running' AND interface = ANY($2) AND resumes_at <= now()
             AND width > coalesce(flying.requests, 0) AND $1 > coalesce(of_account.requests, 0)
             AND (${HAS_WAITING} OR EXISTS (SELECT FROM batch_request WHERE batch_id = id
                 AND batch_request.state = 'sent' AND batch_request.taken_until < now()))
           ORDER BY coalesce(of_account.requests, 0), resumes_at LIMIT 1 FOR UPDATE OF batch SKIP LOCKED`,
    values: [ACCOUNT_WIDTH, BATCH_INTERFACES],
    row: batchRow,
  });
  return batch;
}

/** A request that this process has sent, or is about to send. */
export interface SentRequest {
  holder: string;
  batchId: string;
  number: number;
  requestId: string;
}

/** Notes under which id a request is sent, before it is: whoever takes it over can look up what became of it. */
export async function noteSent(database: Queryable, { holder, batchId, number, requestId }: SentRequest): Promise<boolean> {
  const noted = await database.execute(
    "UPDATE batch_request SET request_id = $4 WHERE batch_id = $1 AND number = $2 AND state = 'sent' AND taken_by = $3",
    [batchId, number, holder, requestId],
  );
  return noted > 0;
}

/**
 * @returns whether the request of this id is settled, and free. One that is not settled may have cost something: the charge of a
 * process that has ended waits in its journal. A failure without a charge is not the first attempt, and says nothing about that one.
 */
export async function isFree(database: Queryable, requestId: string): Promise<boolean> {
  const [settled] = await database.query({
    text: `SELECT bool_or(charge_nano_usd > 0) AS "isCharged" FROM usage_event WHERE day = usage_day($1) AND request_id = $1 AND attempt = 1`,
    values: [requestId],
    row: z.strictObject({ isCharged: z.boolean().nullable() }),
  });
  return settled?.isCharged === false;
}

/** This process still works on these. Others that it has taken, but knows nothing of, are to be taken over. */
export async function keepRequests(
  database: Queryable,
  { holder, requests }: { holder: string; requests: readonly Pick<SendableRequest, "batchId" | "number">[] },
): Promise<void> {
  await database.execute(
    `UPDATE batch_request SET taken_until = now() + make_interval(secs => $2)
     FROM unnest($3::text[], $4::integer[]) AS kept (batch_id, number)
     WHERE batch_request.batch_id = kept.batch_id AND batch_request.number = kept.number AND state = 'sent' AND taken_by = $1`,
    [holder, SENT_SECONDS, requests.map(({ batchId }) => batchId), requests.map(({ number }) => number)],
  );
}

export interface Finished extends SentRequest {
  outcome: "succeeded" | "errored";
  /** Encrypted. */
  result: Buffer;
  /** Before encryption. */
  resultBytes: number;
  chargeNanoUsd: bigint;
}

/**
 * Stores the result of a request, once: not if another process has taken it over meanwhile.
 * @returns whether it was stored.
 */
export async function finishRequest(database: Queryable, finished: Finished): Promise<boolean> {
  const { holder, batchId, number, requestId, outcome, result, resultBytes, chargeNanoUsd } = finished;
  const part = outcome === "succeeded" ? "output" : "error";
  const stored = await database.query({
    text: `WITH done AS (
             UPDATE batch_request SET state = $5, result = $6, result_bytes = $7, body = NULL, taken_by = NULL, taken_until = NULL
             WHERE batch_id = $1 AND number = $2 AND state = 'sent' AND taken_by = $3 AND request_id = $4
             RETURNING batch_id, body_bytes
           )
           UPDATE batch SET ${outcome} = ${outcome} + 1, bytes = greatest(0, bytes - body_bytes + $7), ${part}_bytes = ${part}_bytes + $7,
             charge_nano_usd = charge_nano_usd + $8, width = least($9, width + 1)
           FROM done WHERE id = batch_id RETURNING id`,
    values: [batchId, number, holder, requestId, outcome, result, resultBytes, chargeNanoUsd, ACCOUNT_WIDTH],
    row: z.strictObject({ id: z.string() }),
  });
  return stored.length > 0;
}

export interface Postponed extends SentRequest {
  /** It was refused, so nothing was charged; otherwise its outcome is unknown. */
  isRefused: boolean;
  delayMs: number;
}

/**
 * Sends a request again later, and fewer of its batch at once. What was refused at first gets another id; an id under which something
 * else happened before stays, for that may have been charged.
 */
export async function postponeRequest(database: Queryable, postponed: Postponed): Promise<void> {
  const { holder, batchId, number, isRefused, delayMs } = postponed;
  await database.execute(
    `WITH back AS (
       UPDATE batch_request SET state = 'waiting', taken_by = NULL, taken_until = NULL,
         request_id = CASE WHEN $4 AND attempts = 0 THEN NULL ELSE request_id END, attempts = attempts + CASE WHEN $4 THEN 0 ELSE 1 END
       WHERE batch_id = $1 AND number = $2 AND state = 'sent' AND taken_by = $3 RETURNING batch_id
     )
     UPDATE batch SET width = greatest(1, width / 2), resumes_at = greatest(resumes_at, now() + make_interval(secs => $5))
     FROM back WHERE id = batch_id`,
    [batchId, number, holder, isRefused, delayMs / 1000],
  );
}

/** Gives a request back that this process cannot send: others take it at once. */
export async function returnRequest(database: Queryable, { holder, batchId, number }: SentRequest): Promise<void> {
  await database.execute(
    `UPDATE batch_request SET state = 'waiting', taken_by = NULL, taken_until = NULL,
       request_id = CASE WHEN attempts = 0 THEN NULL ELSE request_id END
     WHERE batch_id = $1 AND number = $2 AND state = 'sent' AND taken_by = $3`,
    [batchId, number, holder],
  );
}

/** What a process that stops has taken and not sent, or not finished: others take it at once. */
export async function releaseRequests(database: Queryable, holder: string): Promise<void> {
  await database.execute("UPDATE batch_request SET taken_until = now() WHERE state = 'sent' AND taken_by = $1", [holder]);
}

/** Whether any other request of the account's batches is in flight. */
export async function fliesAlone(database: Queryable, accountId: string): Promise<boolean> {
  const [row] = await database.query({
    text: `SELECT count(*)::integer AS flying FROM batch_request JOIN batch ON id = batch_id
           WHERE account_id = $1 AND batch_request.state = 'sent' AND batch_request.taken_until >= now()`,
    values: [accountId],
    row: z.strictObject({ flying: z.int() }),
  });
  return (row?.flying ?? 0) <= 1;
}

/** Ends a batch before its requests are done, for a reason that the next request would meet as well. */
export async function stopBatch(database: Queryable, batchId: string, reason: string): Promise<void> {
  await database.execute(
    `UPDATE batch SET state = 'ending', stopped_by = $2, ending_at = now(), resumes_at = now() WHERE id = $1 AND state = 'running'`,
    [batchId, reason],
  );
}
