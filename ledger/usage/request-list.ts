import * as z from "zod";
import { INTERFACES, type Interface } from "../../contract/protocol.ts";
import type { Reader } from "../postgres/database.ts";
import type { Price } from "../money.ts";
import { priceAt, scheduleColumn, type PriceRule } from "../models/price-schedule.ts";
import { lowestIdAt, msOfId } from "./request-id-time.ts";
import { OUTCOMES, type Outcome } from "../settlement/settlement.ts";
import { wholeNumber } from "./sums.ts";
import { findUsedGroups, type UsedGroup } from "./used-groups.ts";
import { dayOf } from "../../contract/days.ts";
import { cutPage } from "../postgres/page.ts";

/** One attempt as its account's page shows it (S27). */
export interface ListedRequest {
  requestId: string;
  attempt: number;
  keyId: string;
  model: string;
  interface: Interface;
  startedAt: Date;
  durationMs: number;
  firstTokenMs: number | null;
  isStream: boolean;
  httpStatus: number;
  outcome: Outcome;
  isEstimated: boolean;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  chargeNanoUsd: bigint;
  /** That it was charged at; which version of the model's prices says it. */
  price: Price;
  priceVersion: number;
}

/** Where a page ended. */
export interface RequestPosition {
  requestId: string;
  attempt: number;
}

export interface RequestListing {
  accountId: string;
  /** Of the moment in which a request began: `from` is included, `to` is not. */
  from: Date;
  to: Date;
  /** Only of these keys. */
  keyIds?: readonly string[];
  model?: string;
  outcome?: Outcome;
  limit: number;
  /** Goes on behind this one. */
  after?: RequestPosition;
}

export interface RequestPage {
  /** Newest first. */
  requests: ListedRequest[];
  /** Of the next page; null: this is the last one. */
  next: RequestPosition | null;
}

/**
 * A page of an account's requests. A page costs about the same wherever it is and whatever it is narrowed to: it reads the
 * newest rows of each key and model that rollups name, and no others (docs/decisions/0009).
 */
export async function listRequests(database: Reader, listing: RequestListing): Promise<RequestPage> {
  const { limit, outcome } = listing;
  const read = outcome === undefined || outcome === "complete" ? readByGroups : readIncomplete;
  // One more than is shown tells whether there is another page.
  const rows = await read(database, { ...listing, limit: limit + 1 });
  const { page, next } = cutPage(rows, limit, ({ requestId, attempt }) => ({ requestId, attempt }));
  return { requests: page.map(asCharged), next };
}

/** One request of an account's by its id, attempt by attempt; empty where the account has none. */
export async function readRequest(
  database: Reader,
  { accountId, requestId }: { accountId: string; requestId: string },
): Promise<ListedRequest[]> {
  const rows = await database.query({
    text: `WITH page AS (SELECT * FROM usage_event WHERE day = $1 AND request_id = $2 AND account_id = $3) ${SELECT_PAGE}`,
    values: [dayOf(msOfId(requestId)), requestId, accountId],
    row: listedRow,
  });
  return rows.map(asCharged).toReversed();
}

type ListedRow = ListedRequest & { schedule: PriceRule[] };

function asCharged({ schedule, ...row }: ListedRow): ListedRequest {
  return { ...row, price: priceAt({ price: row.price, schedule }, row.startedAt.getTime()) };
}

/** Rollups do not know what is excluded by an outcome: where a page is not full yet, more groups are looked into. */
async function readByGroups(database: Reader, listing: RequestListing): Promise<ListedRow[]> {
  const { from, to, after, limit } = listing;
  const rows: ListedRow[] = [];
  let requests = limit;
  let beforeMs: number | null = after === undefined ? to.getTime() : Math.min(to.getTime(), msOfId(after.requestId) + 1);
  while (beforeMs !== null && rows.length < limit) {
    const found = await findUsedGroups(database, { ...listing, fromMs: from.getTime(), beforeMs, requests });
    rows.push(...(await readGroups(database, listing, found.groups, limit - rows.length)));
    requests *= MORE;
    beforeMs = found.beforeMs;
  }
  return rows;
}

/** How many times as much is looked into when that was not enough. */
const MORE = 4;

async function readGroups(
  database: Reader,
  listing: RequestListing,
  groups: readonly UsedGroup[],
  limit: number,
): Promise<ListedRow[]> {
  if (groups.length === 0) return [];
  const days = groups.map(({ startMs }) => dayOf(startMs));
  const fromMs = listing.from.getTime();
  const toMs = listing.to.getTime();
  const after = positionAfter(listing);
  return database.query({
    text: `
      WITH page AS (
        SELECT request.* FROM unnest($1::date[], $2::text[], $3::text[], $4::uuid[], $5::uuid[]) AS used (day, key_id, model, first_id, end_id)
        CROSS JOIN LATERAL (
          SELECT * FROM usage_event AS each
          WHERE each.day = used.day AND each.day BETWEEN $6 AND $7
            AND each.key_id = used.key_id AND each.model COLLATE "C" = used.model
            AND request_id >= first_id AND request_id < end_id AND (request_id, attempt) < ($8::uuid, $9::smallint)
            AND ($10::text IS NULL OR outcome = $10)
          ORDER BY request_id DESC, attempt DESC LIMIT $11
        ) AS request ORDER BY request_id DESC, attempt DESC LIMIT $11
      ) ${SELECT_PAGE}`,
    values: [
      days,
      groups.map(({ keyId }) => keyId),
      groups.map(({ model }) => model),
      groups.map(({ startMs }) => lowestIdAt(Math.max(startMs, fromMs))),
      groups.map(({ endMs }) => lowestIdAt(Math.min(endMs, toMs))),
      // Constants, so that no plan is made for the other days.
      days.at(-1),
      days[0],
      after.requestId,
      after.attempt,
      listing.outcome ?? null,
      limit,
    ],
    row: listedRow,
  });
}

/** What did not complete has an index of its own. */
async function readIncomplete(database: Reader, listing: RequestListing): Promise<ListedRow[]> {
  const { accountId, from, to, outcome, keyIds, model, limit } = listing;
  const after = positionAfter(listing);
  return database.query({
    text: `
      WITH page AS (
        SELECT * FROM usage_event
        WHERE account_id = $1 AND outcome COLLATE "C" = $2 AND outcome <> 'complete' AND day BETWEEN $3 AND $4
          AND request_id >= $5 AND request_id < $6 AND (request_id, attempt) < ($7::uuid, $8::smallint)
          AND ($9::text[] IS NULL OR key_id = ANY($9)) AND ($10::text IS NULL OR model = $10)
        ORDER BY day DESC, request_id DESC, attempt DESC LIMIT $11
      ) ${SELECT_PAGE}`,
    values: [
      accountId,
      outcome,
      dayOf(from.getTime()),
      dayOf(Math.min(to.getTime(), msOfId(after.requestId))),
      lowestIdAt(from.getTime()),
      lowestIdAt(to.getTime()),
      after.requestId,
      after.attempt,
      keyIds ?? null,
      model ?? null,
      limit,
    ],
    row: listedRow,
  });
}

function positionAfter({ to, after }: RequestListing): RequestPosition {
  return after ?? { requestId: lowestIdAt(to.getTime()), attempt: 0 };
}

const SELECT_PAGE = `
  SELECT request_id AS "requestId", attempt, key_id AS "keyId", page.model, interface, started_at AS "startedAt",
    duration_ms AS "durationMs", first_token_ms AS "firstTokenMs", is_stream AS "isStream", http_status AS "httpStatus", outcome,
    is_estimated AS "isEstimated", input_tokens AS "inputTokens", cached_input_tokens AS "cachedInputTokens",
    cache_write_tokens AS "cacheWriteTokens", output_tokens AS "outputTokens", reasoning_tokens AS "reasoningTokens",
    charge_nano_usd AS "chargeNanoUsd", input_pico_usd AS "inputPicoUsd", cached_input_pico_usd AS "cachedInputPicoUsd",
    cache_write_pico_usd AS "cacheWritePicoUsd", output_pico_usd AS "outputPicoUsd", schedule, version AS "priceVersion"
  FROM page JOIN price_version ON price_version.id = price_version_id ORDER BY request_id DESC, attempt DESC`;

const listedRow = z
  .strictObject({
    requestId: z.string(),
    attempt: z.int(),
    keyId: z.string(),
    model: z.string(),
    interface: z.enum(INTERFACES),
    startedAt: z.date(),
    durationMs: z.int(),
    firstTokenMs: z.int().nullable(),
    isStream: z.boolean(),
    httpStatus: z.int(),
    outcome: z.enum(OUTCOMES),
    isEstimated: z.boolean(),
    inputTokens: wholeNumber,
    cachedInputTokens: wholeNumber,
    cacheWriteTokens: wholeNumber,
    outputTokens: wholeNumber,
    reasoningTokens: wholeNumber,
    chargeNanoUsd: z.bigint(),
    inputPicoUsd: z.bigint(),
    cachedInputPicoUsd: z.bigint(),
    cacheWritePicoUsd: z.bigint(),
    outputPicoUsd: z.bigint(),
    schedule: scheduleColumn,
    priceVersion: z.int(),
  })
  .transform(({ inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, ...row }) => ({
    ...row,
    price: { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd },
  }));
