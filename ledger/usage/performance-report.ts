import * as z from "zod";
import { momentsOf, type DaySpan } from "../../contract/days.ts";
import { CREATED_BY } from "../keys/key-creators.ts";
import type { Reader } from "../postgres/database.ts";
import { MEASURED } from "./performance.ts";
import { wholeNumber } from "./sums.ts";

export const MEASURES = ["failed", "duration", "first_token", "speed"] as const;
export type Measure = (typeof MEASURES)[number];

/** As SQL, of a row with `model` and `key_id`; a key that nobody in the account created is in the group "". */
const GROUPS = {
  all: "''",
  model: "model",
  key: "key_id",
  member: "coalesce((SELECT person_id FROM creator WHERE creator.public_id = key_id), '')",
} as const;
export type PerformanceGroup = keyof typeof GROUPS;

const STEPS = { hour: "hour", day: "day", week: "day", month: "day", range: "day" } as const;

/** A moment compared with a day must not pass through the session's time zone. */
const BOUND = {
  hour: { from: "$3", to: "$4" },
  day: { from: "($3::timestamptz AT TIME ZONE 'UTC')::date", to: "($4::timestamptz AT TIME ZONE 'UTC')::date" },
} as const;

export interface PerformanceQuery extends DaySpan {
  accountId: string;
  measures: readonly Measure[];
  by: PerformanceGroup;
  /** `range`: everything in one. */
  step: keyof typeof STEPS;
  /** Only this many groups, those with most requests. */
  most: number;
}

/** Requests of a group whose value is in this bin (`performance_bin` in ledger/migrations). */
export interface PerformanceBin {
  measure: Measure;
  /** Model, public id of a key, or id of a person; "" for none. */
  group: string;
  /** Start of the step: a UTC day, or a day and an hour as `YYYY-MM-DDTHH`; "" for the whole range. */
  start: string;
  bin: number;
  requests: number;
}

const row = z.strictObject({
  measure: z.enum(MEASURES),
  group: z.string(),
  start: z.string(),
  bin: z.int(),
  requests: wholeNumber,
});

/** Hours that are not added up yet are read from the requests themselves, the newest of the newest groups. */
const MAX_LIVE_GROUPS = 200;
const MAX_LIVE_REQUESTS = 200;

/** From rollups, and from a number of the latest requests that is bounded by the two numbers above. */
export async function readPerformance(
  database: Reader,
  { accountId, measures, by, step, most, ...range }: PerformanceQuery,
): Promise<PerformanceBin[]> {
  const period = STEPS[step];
  const start = startOf(step);
  const { from, to } = momentsOf(range);
  const live = await liveDays(database, { accountId, from, to });
  return database.query({
    text: `WITH creator AS (
        SELECT public_id, (${CREATED_BY})::text AS person_id FROM api_key WHERE account_id = $1
      ), live_group AS (
        ${liveGroups({ account: "$1", from: "$3", to: "$4" })}
      ), live AS (
        SELECT measure, live_group.hour, (live_group.hour AT TIME ZONE 'UTC')::date AS day, live_group.key_id, live_group.model, bin
        FROM live_group CROSS JOIN LATERAL (
          SELECT * FROM usage_event AS each
          WHERE each.day BETWEEN $6 AND $7
            AND each.day = (live_group.hour AT TIME ZONE 'UTC')::date AND each.key_id = live_group.key_id
            AND each.model COLLATE "C" = live_group.model
            AND request_id >= lowest_request_id(live_group.hour)
            AND request_id < lowest_request_id(live_group.hour + interval '1 hour')
          ORDER BY request_id DESC LIMIT ${MAX_LIVE_REQUESTS}
        ) AS request CROSS JOIN LATERAL ${MEASURED}
        WHERE outcome <> 'aborted' AND bin IS NOT NULL AND measure = ANY($2)
      ), binned AS (
        SELECT measure, ${start} AS start, ${GROUPS[by]} AS of_group, bin, sum(requests)::bigint AS requests
        FROM (
          SELECT measure, ${period}, key_id, model, bin, requests
          FROM performance_by_${period} CROSS JOIN LATERAL unnest(bins, counts) AS histogram (bin, requests)
          WHERE account_id = $1 AND measure = ANY($2) AND ${period} >= ${BOUND[period].from} AND ${period} < ${BOUND[period].to}
          UNION ALL SELECT measure, ${period}, key_id, model, bin, 1 FROM live
        ) AS every
        GROUP BY 1, 2, 3, 4
      ), largest AS (
        SELECT of_group FROM binned GROUP BY of_group ORDER BY sum(requests) DESC, of_group LIMIT $5
      )
      SELECT measure, of_group AS "group", start, bin, requests FROM binned JOIN largest USING (of_group)`,
    values: [accountId, measures, from, to, most, live.first, live.last],
    row,
  });
}

function liveGroups({ account, from, to }: { account: string; from: string; to: string }): string {
  return `SELECT hour, key_id, model FROM usage_by_hour
    WHERE account_id = ${account} AND hour >= greatest(${from}::timestamptz, (SELECT until FROM performance_progress))
      AND hour < ${to}::timestamptz
    ORDER BY hour DESC LIMIT ${MAX_LIVE_GROUPS}`;
}

/** Days of the requests to read, determined first: Postgres plans with these days' partitions and no others. */
async function liveDays(
  database: Reader,
  { accountId, from, to }: { accountId: string; from: Date; to: Date },
): Promise<{ first: string | null; last: string | null }> {
  const [days] = await database.query({
    text: `SELECT (min(hour) AT TIME ZONE 'UTC')::date::text AS first, (max(hour) AT TIME ZONE 'UTC')::date::text AS last
           FROM (${liveGroups({ account: "$1", from: "$2", to: "$3" })}) AS live_group`,
    values: [accountId, from, to],
    row: z.strictObject({ first: z.string().nullable(), last: z.string().nullable() }),
  });
  return days ?? { first: null, last: null };
}

function startOf(step: PerformanceQuery["step"]): string {
  switch (step) {
    case "range":
      return "''";
    case "hour":
      return `to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24')`;
    case "day":
    case "week":
    case "month":
      return `date_trunc('${step}', day::timestamp)::date::text`;
  }
}
