import type { Label } from "../../contract/labels.ts";
import type { Reader } from "../postgres/database.ts";
import { listLabelledDays, type LabelledDay } from "./labelled-days.ts";
import { asCharged, listedRow, SELECT_PAGE, type ListedRequest, type ListedRow } from "./listed-request.ts";
import { lowestIdAt, msOfId } from "./request-id-time.ts";
import type { Outcome } from "../settlement/settlement.ts";
import { findUsedGroups, type UsedGroup } from "./used-groups.ts";
import { dayOf } from "../../contract/days.ts";
import { cutPage } from "../postgres/page.ts";

/** Position after the last row of a page. */
export interface RequestPosition {
  requestId: string;
  attempt: number;
}

export interface RequestListing {
  accountId: string;
  /** Bounds of the moment in which a request began: `from` is included, `to` is not. */
  from: Date;
  to: Date;
  /** Only of these keys. */
  keyIds?: readonly string[];
  model?: string;
  outcome?: Outcome;
  /** Only those whose model's content check refused them, or only others: refused requests are complete, with the status of an error. */
  isRefused?: boolean;
  /** Only with all of these labels. */
  labels?: readonly Label[];
  limit: number;
  /** Continues after this one. */
  after?: RequestPosition;
}

export interface RequestPage {
  /** Newest first. */
  requests: ListedRequest[];
  /** Of the next page; null: this is the last one. */
  next: RequestPosition | null;
}

/**
 * A page of an account's requests. A page costs about the same wherever it is and however it is filtered: it reads the newest
 * rows of each key and model that rollups name, and no others (docs/decisions/0009).
 */
export async function listRequests(database: Reader, listing: RequestListing): Promise<RequestPage> {
  const { limit } = listing;
  const read = readerOf(listing);
  // One more than is shown indicates whether there is another page.
  const rows = await read(database, { ...listing, limit: limit + 1 });
  const { page, next } = cutPage(rows, limit, ({ requestId, attempt }) => ({ requestId, attempt }));
  return { requests: page.map(asCharged), next };
}

function readerOf({ labels = [], outcome }: RequestListing): (database: Reader, listing: RequestListing) => Promise<ListedRow[]> {
  if (labels.length > 0) return readLabelled;
  return outcome === undefined || outcome === "complete" ? readByGroups : readIncomplete;
}

/** One request of an account by its id, attempt by attempt; empty if the account has none. */
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

/** Rollups do not know which rows an outcome excludes: if a page is not full yet, more groups are read. */
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

/** How many times as much is read if that was not enough. */
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
            AND ($10::text IS NULL OR outcome = $10) AND ($12::boolean IS NULL OR (http_status >= 400) = $12)
          ORDER BY request_id DESC, attempt DESC LIMIT $11
        ) AS request ORDER BY request_id DESC, attempt DESC LIMIT $11
      ) ${SELECT_PAGE}`,
    values: [
      days,
      groups.map(({ keyId }) => keyId),
      groups.map(({ model }) => model),
      groups.map(({ startMs }) => lowestIdAt(Math.max(startMs, fromMs))),
      groups.map(({ endMs }) => lowestIdAt(Math.min(endMs, toMs))),
      // Constants, so that the plan leaves out all other days.
      days.at(-1),
      days[0],
      after.requestId,
      after.attempt,
      listing.outcome ?? null,
      limit,
      listing.isRefused ?? null,
    ],
    row: listedRow,
  });
}

/** Requests that did not complete have their own index. */
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

/** Day by day: rollups list the days with such requests, and an index finds those of a day by the rarer label. */
async function readLabelled(database: Reader, listing: RequestListing): Promise<ListedRow[]> {
  const { limit, after, to } = listing;
  const { label, others, days } = await listLabelledDays(database, listing);
  const lastDay = dayOf(after === undefined ? to.getTime() : msOfId(after.requestId));
  const waiting = days.filter(({ day }) => day <= lastDay);
  const rows: ListedRow[] = [];
  let requests = limit;
  while (waiting.length > 0 && rows.length < limit) {
    const taken = takeDays(waiting, requests);
    rows.push(...(await readLabelledDays(database, listing, { label, others, days: taken, limit: limit - rows.length })));
    requests *= MORE;
  }
  return rows;
}

/** The newest days with this many requests, removed from the list. */
function takeDays(waiting: LabelledDay[], requests: number): LabelledDay[] {
  let found = 0;
  let count = 0;
  for (const day of waiting) {
    if (found >= requests) break;
    found += day.requests;
    count++;
  }
  return waiting.splice(0, count);
}

interface LabelledRead {
  label: Label;
  /** Further labels that they must have. */
  others: readonly Label[];
  /** Newest first; at least one. */
  days: readonly LabelledDay[];
  limit: number;
}

async function readLabelledDays(
  database: Reader,
  listing: RequestListing,
  { label, others, days, limit }: LabelledRead,
): Promise<ListedRow[]> {
  const { accountId, from, to, keyIds, model, outcome, isRefused } = listing;
  const after = positionAfter(listing);
  return database.query({
    text: `
      WITH page AS (
        SELECT event.* FROM usage_label AS label
        JOIN usage_event AS event ON event.day = label.day AND event.request_id = label.request_id AND event.attempt = label.attempt
        WHERE label.account_id = $1 AND label.dimension = $2 AND label.value = $3
          AND label.day BETWEEN $4 AND $5 AND event.day BETWEEN $4 AND $5
          AND label.request_id >= $6 AND label.request_id < $7 AND (label.request_id, label.attempt) < ($8::uuid, $9::smallint)
          AND ($10::text[] IS NULL OR key_id = ANY($10)) AND ($11::text IS NULL OR model = $11) AND ($12::text IS NULL OR outcome = $12)
          AND ($16::boolean IS NULL OR (http_status >= 400) = $16)
          AND NOT EXISTS (
            SELECT FROM unnest($13::text[], $14::text[]) AS other (dimension, value) WHERE NOT EXISTS (
              SELECT FROM usage_label AS beside WHERE beside.day = label.day AND beside.day BETWEEN $4 AND $5
                AND beside.request_id = label.request_id AND beside.attempt = label.attempt
                AND beside.dimension = other.dimension AND beside.value = other.value
            )
          )
        ORDER BY label.request_id DESC, label.attempt DESC LIMIT $15
      ) ${SELECT_PAGE}`,
    values: [
      accountId,
      label.dimension,
      label.value,
      days.at(-1)?.day,
      days[0]?.day,
      lowestIdAt(from.getTime()),
      lowestIdAt(to.getTime()),
      after.requestId,
      after.attempt,
      keyIds ?? null,
      model ?? null,
      outcome ?? null,
      others.map(({ dimension }) => dimension),
      others.map(({ value }) => value),
      limit,
      isRefused ?? null,
    ],
    row: listedRow,
  });
}

function positionAfter({ to, after }: RequestListing): RequestPosition {
  return after ?? { requestId: lowestIdAt(to.getTime()), attempt: 0 };
}
