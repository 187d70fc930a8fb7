import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import type { Label } from "../../contract/labels.ts";
import type { Queryable, Reader } from "../postgres/database.ts";
import { readLabelsOf } from "../usage/request-labels.ts";
import { wholeNumber } from "../usage/sums.ts";

/** An attempt at a request, as its account may see it. */
export interface TracedRequest {
  /** Its position among those of the account that are exported. */
  number: bigint;
  requestId: string;
  attempt: number;
  model: string;
  /** A newer version may have others, as of the outcome. */
  interface: string;
  /** The provider whose key the account brought; null: the gateway's was used. */
  providerKey: string | null;
  keyId: string;
  keyName: string;
  /** That the key is in now. */
  projectId: string | null;
  projectName: string | null;
  startedAt: Date;
  durationMs: number;
  firstTokenMs: number | null;
  isStream: boolean;
  isBatch: boolean;
  isEstimated: boolean;
  httpStatus: number;
  outcome: string;
  /** By price class, disjoint; reasoning tokens are a part of the output. */
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  units: number;
  chargeNanoUsd: bigint;
  labels: readonly Label[];
}

const queuedRow = z.strictObject({
  number: z.bigint(),
  day: z.string(),
  requestId: z.string(),
  attempt: z.int(),
  isYoung: z.boolean(),
});
const tracedRow = z.strictObject({
  number: z.bigint(),
  requestId: z.string(),
  attempt: z.int(),
  model: z.string(),
  interface: z.string(),
  providerKey: z.string().nullable(),
  keyId: z.string(),
  keyName: z.string(),
  projectId: z.string().nullable(),
  projectName: z.string().nullable(),
  startedAt: z.date(),
  durationMs: z.int(),
  firstTokenMs: z.int().nullable(),
  isStream: z.boolean(),
  isBatch: z.boolean(),
  isEstimated: z.boolean(),
  httpStatus: z.int(),
  outcome: z.string(),
  inputTokens: wholeNumber,
  cachedInputTokens: wholeNumber,
  cacheWriteTokens: wholeNumber,
  outputTokens: wholeNumber,
  reasoningTokens: wholeNumber,
  units: wholeNumber,
  chargeNanoUsd: z.bigint(),
});

export interface WaitingRequests {
  /** In the order in which they were settled. */
  requests: TracedRequest[];
  /** Number of the last one that was looked at; null: none waits, though some may have been left out. */
  through: bigint | null;
  /** There are only some that were settled a moment ago. */
  isEarly: boolean;
}

export interface WaitingOptions {
  accountId: string;
  /** Number of the last one that was sent. */
  after: bigint;
  limit: number;
  /** Leaves the younger ones for later. */
  minSeconds?: number;
}

/** An account's next requests to export. */
export async function readWaitingRequests(
  database: Reader,
  { accountId, after, limit, minSeconds = 0 }: WaitingOptions,
): Promise<WaitingRequests> {
  const found = await database.query({
    text: `SELECT number, day::text AS day, request_id AS "requestId", attempt,
             $4::integer > 0 AND queued_at > now() - make_interval(secs => $4::integer) AS "isYoung"
           FROM trace_request WHERE account_id = $1 AND number > $2 ORDER BY number LIMIT $3`,
    values: [accountId, after, limit, minSeconds],
    row: queuedRow,
  });
  const young = found.findIndex(({ isYoung }) => isYoung);
  const queued = young < 0 ? found : found.slice(0, young);
  const last = queued.at(-1);
  if (last === undefined) return { requests: [], through: null, isEarly: young >= 0 };
  const days = queued.map(({ day }) => day).toSorted();
  const rows = await database.query({
    text: `SELECT queued.number, event.request_id AS "requestId", event.attempt, event.model, interface,
             provider_key AS "providerKey", key_id AS "keyId", api_key.name AS "keyName",
             project.id AS "projectId", project.name AS "projectName", started_at AS "startedAt", duration_ms AS "durationMs",
             first_token_ms AS "firstTokenMs", is_stream AS "isStream", is_batch AS "isBatch", is_estimated AS "isEstimated",
             http_status AS "httpStatus", outcome, input_tokens AS "inputTokens", cached_input_tokens AS "cachedInputTokens",
             cache_write_tokens AS "cacheWriteTokens", output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens",
             units, charge_nano_usd AS "chargeNanoUsd"
           FROM unnest($1::bigint[], $2::date[], $3::uuid[], $4::smallint[]) AS queued (number, day, request_id, attempt)
           JOIN usage_event AS event USING (day, request_id, attempt)
           JOIN api_key ON api_key.public_id = key_id
           LEFT JOIN project_key ON project_key.public_id = key_id LEFT JOIN project ON project.id = project_id
           -- Constants, so that the plan leaves out all other days.
           WHERE event.day BETWEEN $5 AND $6 AND event.account_id = $7
           ORDER BY queued.number`,
    values: [
      queued.map(({ number }) => number),
      queued.map(({ day }) => day),
      queued.map(({ requestId }) => requestId),
      queued.map(({ attempt }) => attempt),
      days[0],
      days.at(-1),
      accountId,
    ],
    row: tracedRow,
  });
  return { requests: await readLabelsOf(database, accountId, rows), through: last.number, isEarly: false };
}

/** Requests wait at most this long. */
const WAITS_FOR = "interval '3 days'";
/** In a statement. */
const TRIMMED = 10_000;
const MAX_ACCOUNTS = 1_000;
const MAX_STATEMENTS = 500;

/**
 * Deletes requests that every destination of their account has got, or that have waited too long, or that too many follow: then the
 * destinations that did not get them count them as left out. Several callers may do it at once. Not left to those who send: without
 * a dashboard nobody does.
 */
export async function trimWaitingRequests(database: Queryable): Promise<void> {
  const accounts = await database.query({
    text: `SELECT account_id AS "accountId", done, oldest.number - 1 AS before FROM trace_account
           CROSS JOIN LATERAL (
             SELECT number, queued_at FROM trace_request WHERE trace_request.account_id = trace_account.account_id ORDER BY number LIMIT 1
           ) AS oldest
           CROSS JOIN LATERAL (
             SELECT greatest(last_number - ${ACCOUNT_BOUNDS.waitingTraces}, coalesce(min(cursor), last_number)) AS done
             FROM trace_destination WHERE trace_destination.account_id = trace_account.account_id AND disabled_at IS NULL
           ) AS bound
           WHERE oldest.number <= done OR oldest.queued_at < now() - ${WAITS_FOR}
           ORDER BY oldest.queued_at LIMIT ${MAX_ACCOUNTS}`,
    row: z.strictObject({ accountId: z.string(), done: z.bigint(), before: z.bigint() }),
  });
  let statements = 0;
  for (const { accountId, done, before } of accounts) {
    let from = before;
    let deleted;
    do {
      if (++statements > MAX_STATEMENTS) return;
      // From where the last one ended: looking for the oldest again would pass by all that was just deleted.
      deleted = await database.execute(
        `DELETE FROM trace_request USING (
           SELECT number FROM trace_request WHERE account_id = $1 AND number > $2 AND number <= $2 + ${TRIMMED}
             AND (number <= $3 OR queued_at < now() - ${WAITS_FOR}) FOR UPDATE SKIP LOCKED
         ) AS done WHERE trace_request.account_id = $1 AND trace_request.number = done.number`,
        [accountId, from, done],
      );
      from += BigInt(TRIMMED);
    } while (deleted === TRIMMED);
  }
}

const waitingRow = z.strictObject({ waiting: z.bigint(), oldestSeconds: z.number().nullable() });

/** For metrics: requests that wait for destinations, those of all accounts together, and how long the first of them has waited. */
export async function countWaitingRequests(database: Reader): Promise<{ waiting: bigint; oldestSeconds: number }> {
  const [counted] = await database.query({
    text: `SELECT coalesce(sum(last_number - cursor), 0)::bigint AS waiting,
             max(extract(epoch FROM now() - queued_at))::float8 AS "oldestSeconds"
           FROM trace_destination JOIN trace_account USING (account_id) LEFT JOIN LATERAL (
             SELECT queued_at FROM trace_request
             WHERE trace_request.account_id = trace_account.account_id AND number > cursor AND cursor < last_number ORDER BY number LIMIT 1
           ) AS oldest ON true
           WHERE disabled_at IS NULL`,
    row: waitingRow,
  });
  return { waiting: counted?.waiting ?? 0n, oldestSeconds: Math.max(0, counted?.oldestSeconds ?? 0) };
}
