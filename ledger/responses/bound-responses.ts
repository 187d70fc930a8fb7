import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";

const MEBIBYTE = 1024 * 1024;
/** One step removes this much of one account; then the accounts are compared again. */
const BYTES_AT_ONCE = 64 * MEBIBYTE;
const RESPONSES_AT_ONCE = 1_000;
const MAX_STEPS = 100;
/** Beyond the limit of all accounts, some room is made: not every new response drops an old one. */
const LOWERED_TO = 0.95;
/** One process at a time: several would each drop the same excess. */
const LOCK = 'SELECT pg_try_advisory_xact_lock(1835493482, 3) AS "isOurs"';

const bigBytes = z.bigint().transform(Number);
const totalRow = z.strictObject({ accountId: z.string(), responses: z.int(), bytes: bigBytes });

type Total = z.infer<typeof totalRow>;

/** How much of an account is to be dropped. */
interface Excess {
  responses: number;
  bytes: number;
}

export interface ResponseBounds {
  /** Of all accounts together. */
  maxBytes: number;
  maxAccountBytes: number;
  maxAccountResponses: number;
}

export interface BoundedResponses {
  /** Everything stored, before the last step. */
  bytes: number;
  dropped: number;
}

/**
 * Drops responses of accounts that exceed their storage limit and, while all together store more than `maxBytes`, of the account
 * that stores most. Those that would expire first go first: a conversation in use stays. Takes a bounded number of steps.
 */
export async function boundResponses(database: Database, bounds: ResponseBounds): Promise<BoundedResponses> {
  let { maxBytes } = bounds;
  let dropped = 0;
  for (let steps = 1; ; steps += 1) {
    const step = await database.transaction((transaction) => takeStep(transaction, { ...bounds, maxBytes }));
    dropped += step.dropped;
    if (step.isDone || steps === MAX_STEPS) return { bytes: step.bytes, dropped };
    if (step.bytes > bounds.maxBytes) maxBytes = bounds.maxBytes * LOWERED_TO;
  }
}

async function takeStep(transaction: Queryable, bounds: ResponseBounds): Promise<BoundedResponses & { isDone: boolean }> {
  const { maxBytes, maxAccountBytes, maxAccountResponses } = bounds;
  const [lock] = await transaction.query({ text: LOCK, row: z.strictObject({ isOurs: z.boolean() }) });
  const bytes = await sumOfAll(transaction);
  const candidate = lock?.isOurs === true ? await findCandidate(transaction, bounds, bytes) : undefined;
  if (candidate === undefined) return { bytes, dropped: 0, isDone: true };
  const counted = await countAgain(transaction, candidate.accountId);
  const excess = {
    responses: Math.max(0, counted.responses - maxAccountResponses),
    bytes: Math.max(
      0,
      counted.bytes - maxAccountBytes,
      // A quarter of its total: then another account may be the largest.
      Math.min(bytes + counted.bytes - candidate.bytes - maxBytes, counted.bytes / 4),
    ),
  };
  const dropped = await dropFirst(transaction, counted.accountId, excess);
  // Nothing could be dropped, and nothing was counted wrongly: the next step would find the same.
  const isStuck = dropped === 0 && counted.bytes === candidate.bytes && counted.responses === candidate.responses;
  return { bytes, dropped, isDone: isStuck };
}

async function sumOfAll(transaction: Queryable): Promise<number> {
  const [row] = await transaction.query({
    text: "SELECT coalesce(sum(bytes), 0)::bigint AS bytes FROM stored_response_total",
    row: z.strictObject({ bytes: bigBytes }),
  });
  return row?.bytes ?? 0;
}

/** An account beyond its own limits or, if all together are beyond theirs, the largest. */
async function findCandidate(
  transaction: Queryable,
  { maxBytes, maxAccountBytes, maxAccountResponses }: ResponseBounds,
  bytes: number,
): Promise<Total | undefined> {
  const [largest] = await transaction.query({
    text: `SELECT account_id AS "accountId", responses, bytes FROM stored_response_total
           WHERE responses > $1 OR bytes > $2 OR ($3 AND bytes > 0) ORDER BY responses > $1 DESC, bytes DESC LIMIT 1`,
    values: [maxAccountResponses, maxAccountBytes, bytes > maxBytes],
    row: totalRow,
  });
  return largest;
}

/** Writers for the account wait until this transaction ends, so that no row is missed or counted twice. */
async function countAgain(transaction: Queryable, accountId: string): Promise<Total> {
  await transaction.execute("SELECT FROM stored_response_total WHERE account_id = $1 FOR UPDATE", [accountId]);
  const [total] = await transaction.query({
    text: `UPDATE stored_response_total AS total SET responses = stored.responses, bytes = stored.bytes
           FROM (
             SELECT count(*)::integer AS responses, coalesce(sum(octet_length(input) + octet_length(response)), 0)::bigint AS bytes
             FROM stored_response WHERE account_id = $1
           ) AS stored
           WHERE account_id = $1 RETURNING account_id AS "accountId", total.responses, total.bytes`,
    values: [accountId],
    row: totalRow,
  });
  return total ?? { accountId, responses: 0, bytes: 0 };
}

/** Rows that somebody else is renewing or deleting are skipped. @returns how many it dropped. */
async function dropFirst(transaction: Queryable, accountId: string, { responses, bytes }: Excess): Promise<number> {
  return transaction.execute(
    `DELETE FROM stored_response WHERE account_id = $1 AND response_id IN (
       SELECT response_id FROM stored_response WHERE account_id = $1 AND response_id IN (
         SELECT response_id FROM (
           SELECT response_id, row_number() OVER first_to_expire AS place,
             coalesce(sum(octet_length(input) + octet_length(response)) OVER (first_to_expire ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
           FROM stored_response WHERE account_id = $1
           WINDOW first_to_expire AS (ORDER BY expires_at, response_id)
         ) AS placed
         WHERE place <= $2 OR (before < $3 AND place <= $4)
       ) FOR UPDATE SKIP LOCKED
     )`,
    [accountId, Math.min(responses, RESPONSES_AT_ONCE), Math.min(Math.ceil(bytes), BYTES_AT_ONCE), RESPONSES_AT_ONCE],
  );
}
