import * as z from "zod";
import { DAY_MS } from "../../contract/days.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { lowestIdAt } from "../usage/request-id-time.ts";

/** Rows of one statement: each has up to a few MiB. */
const AT_ONCE = 200;
/** So that a round ends; the next one follows soon. */
const MAX_ROUNDS = 500;
const MAX_STEPS = 100;
/** Beyond a bound some room is made: not every new record drops an old one. */
const LOWERED_TO = 0.95;
/** One process at a time: several would each drop the same excess. */
const LOCK = 'SELECT pg_try_advisory_xact_lock(1835493482, 4) AS "isOurs"';
/** Of requests in the future, too. */
const HIGHEST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff";

const bigBytes = z.bigint().transform(Number);
const keyRow = z.strictObject({
  accountId: z.string(),
  keyId: z.string(),
  isRevoked: z.boolean(),
  days: z.int().nullable(),
  after: z.string().nullable(),
});
const totalRow = z.strictObject({ accountId: z.string(), records: z.int(), bytes: bigBytes, allBytes: bigBytes });

/** Deletes what has expired, or was to be deleted with its key or for it. A bounded number of rows. */
export async function dropExpiredRecords(database: Queryable, nowMs: number): Promise<void> {
  await deleteInRounds(
    database,
    "SELECT account_id, request_id FROM prompt_record WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED",
    [],
  );
  const ended = (await readKeys(database)).flatMap((key) => {
    const before = endOf(key, nowMs);
    return before === null ? [] : [{ ...key, before }];
  });
  if (ended.length === 0) return;
  await deleteInRounds(
    database,
    // In the order of an index, which is thus read for each key instead of the whole table for all.
    `SELECT record.account_id, record.request_id
     FROM unnest($2::text[], $3::text[], $4::uuid[]) AS ended (account_id, key_id, before), LATERAL (
       SELECT account_id, request_id FROM prompt_record
       WHERE account_id = ended.account_id AND key_id = ended.key_id AND request_id < ended.before
       ORDER BY request_id LIMIT $1 FOR UPDATE SKIP LOCKED
     ) AS record LIMIT $1`,
    [ended.map(({ accountId }) => accountId), ended.map(({ keyId }) => keyId), ended.map(({ before }) => before)],
  );
}

/** The id below which the key's records are to be deleted; null if none are. */
function endOf({ isRevoked, days, after }: z.infer<typeof keyRow>, nowMs: number): string | null {
  if (isRevoked) return HIGHEST_ID;
  const aged = days === null ? null : lowestIdAt(nowMs - days * DAY_MS);
  if (aged === null || after === null) return aged ?? after;
  return aged > after ? aged : after;
}

/** The keys that have records, one look into an index for each. */
async function readKeys(database: Queryable): Promise<z.infer<typeof keyRow>[]> {
  return database.query({
    text: `WITH RECURSIVE named AS (
             (SELECT account_id, key_id FROM prompt_record ORDER BY account_id, key_id LIMIT 1)
             UNION ALL
             SELECT next.account_id, next.key_id FROM named, LATERAL (
               SELECT account_id, key_id FROM prompt_record
               WHERE (account_id, key_id) > (named.account_id, named.key_id) ORDER BY account_id, key_id LIMIT 1
             ) AS next
           )
           SELECT named.account_id AS "accountId", key_id AS "keyId", revoked_at IS NOT NULL AS "isRevoked",
             prompt_log_days AS days, prompt_log_after AS after
           FROM named JOIN api_key ON public_id = key_id`,
    row: keyRow,
  });
}

/** @param chosen selects the rows; its first value is how many. */
async function deleteInRounds(database: Queryable, chosen: string, values: readonly unknown[]): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const deleted = await database.execute(
      `WITH chosen AS MATERIALIZED (${chosen})
       DELETE FROM prompt_record AS record USING chosen
       WHERE record.account_id = chosen.account_id AND record.request_id = chosen.request_id`,
      [AT_ONCE, ...values],
    );
    if (deleted < AT_ONCE) return;
  }
}

export interface RecordBounds {
  /** Of all accounts together. */
  maxBytes: number;
  maxAccountBytes: number;
  maxAccountRecords: number;
}

export interface BoundedRecords {
  /** Everything recorded, before the last step. */
  bytes: number;
  dropped: number;
}

/**
 * Drops the oldest records of accounts that exceed their bounds and, while all together exceed theirs, of the account that has
 * most. Takes a bounded number of steps.
 */
export async function boundRecords(database: Database, bounds: RecordBounds): Promise<BoundedRecords> {
  let dropped = 0;
  for (let steps = 1; ; steps += 1) {
    const step = await database.transaction((transaction) => takeStep(transaction, bounds));
    dropped += step.dropped;
    if (step.dropped === 0 || steps === MAX_STEPS) return { bytes: step.bytes, dropped };
  }
}

async function takeStep(transaction: Queryable, bounds: RecordBounds): Promise<BoundedRecords> {
  const { maxBytes, maxAccountBytes, maxAccountRecords } = bounds;
  const [lock] = await transaction.query({ text: LOCK, row: z.strictObject({ isOurs: z.boolean() }) });
  const [candidate] = await transaction.query({
    text: `SELECT account_id AS "accountId", records, bytes, sum(bytes) OVER ()::bigint AS "allBytes" FROM prompt_record_total
           ORDER BY bytes > $1 OR records > $2 DESC, bytes DESC LIMIT 1`,
    values: [maxAccountBytes, maxAccountRecords],
    row: totalRow,
  });
  if (candidate === undefined) return { bytes: 0, dropped: 0 };
  const { accountId, records, bytes, allBytes } = candidate;
  const excess = {
    records: excessOf(records, maxAccountRecords),
    bytes: Math.max(excessOf(bytes, maxAccountBytes), Math.min(bytes, excessOf(allBytes, maxBytes))),
  };
  const isWithin = lock?.isOurs !== true || (excess.records === 0 && excess.bytes === 0);
  return { bytes: allBytes, dropped: isWithin ? 0 : await dropOldest(transaction, accountId, excess) };
}

function excessOf(amount: number, max: number): number {
  return amount <= max ? 0 : Math.ceil(amount - max * LOWERED_TO);
}

/** Rows that somebody else is deleting are skipped. @returns how many it dropped. */
async function dropOldest(
  transaction: Queryable,
  accountId: string,
  { records, bytes }: { records: number; bytes: number },
): Promise<number> {
  return transaction.execute(
    `DELETE FROM prompt_record WHERE account_id = $1 AND request_id IN (
       SELECT request_id FROM prompt_record WHERE account_id = $1 AND request_id IN (
         SELECT request_id FROM (
           SELECT request_id, row_number() OVER oldest AS place,
             coalesce(sum(octet_length(content)) OVER (oldest ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before
           FROM (SELECT request_id, content FROM prompt_record WHERE account_id = $1 ORDER BY request_id LIMIT $4) AS first
           WINDOW oldest AS (ORDER BY request_id)
         ) AS placed
         WHERE place <= $2 OR before < $3
       ) FOR UPDATE SKIP LOCKED
     )`,
    [accountId, records, bytes, AT_ONCE],
  );
}
