import * as z from "zod";
import type { DaySpan } from "../../contract/days.ts";
import { tagName } from "../../contract/labels.ts";
import type { Reader } from "../postgres/database.ts";
import { keysOfProject } from "../projects/project-keys.ts";
import { cutPage } from "../postgres/page.ts";
import { SUMMED_COLUMNS, UNITS_BY_KIND, USAGE_SUMS, usageSumsShape, type UsageSums } from "./sums.ts";

/** The usage of all keys and models of an account, or of some. */
export interface LabelScope extends DaySpan {
  accountId: string;
  keyId?: string | undefined;
  projectId?: string | undefined;
  model?: string | undefined;
}

/** The usage of the requests with one value of a tag, or of one end user. */
export interface UsageOfLabel extends UsageSums {
  /** "": all values beyond the daily bound (contract/labels.ts) together. */
  value: string;
}

const labelRow = z.strictObject({ value: z.string(), ...usageSumsShape });

/** Position after the last row of a page. */
export type LabelPosition = Pick<UsageOfLabel, "value" | "chargeNanoUsd">;

export interface LabelUsagePage {
  values: UsageOfLabel[];
  /** Of the next page; null: this is the last one. */
  next: LabelPosition | null;
}

/** Usage by the values of a dimension, highest charge first; requests without one are left out. */
export async function usageByLabel(
  database: Reader,
  { dimension, limit, after, ...scope }: LabelScope & { dimension: string; limit: number; after?: LabelPosition | undefined },
): Promise<LabelUsagePage> {
  const { from, condition, values } = rowsOf(scope, 7);
  const rows = await database.query({
    text: `SELECT * FROM (
             SELECT value, ${USAGE_SUMS} FROM ${from} AS usage
             WHERE dimension = $1 AND day BETWEEN $2 AND $3 AND ${condition} GROUP BY value
           ) AS used
           WHERE $4::bigint IS NULL OR "chargeNanoUsd" < $4 OR ("chargeNanoUsd" = $4 AND value > $5)
           ORDER BY "chargeNanoUsd" DESC, value LIMIT $6`,
    values: [dimension, scope.fromDay, scope.toDay, after?.chargeNanoUsd ?? null, after?.value ?? null, limit + 1, ...values],
    row: labelRow,
  });
  const { page, next } = cutPage(rows, limit, ({ value, chargeNanoUsd }) => ({ value, chargeNanoUsd }));
  return { values: page, next };
}

const sumsRow = z.strictObject(usageSumsShape);

/** The usage of all requests with a value of this dimension; undefined if there are none. */
export async function usageWithLabel(
  database: Reader,
  { dimension, ...scope }: LabelScope & { dimension: string },
): Promise<UsageSums | undefined> {
  const { from, condition, values } = rowsOf(scope, 4);
  const [sums] = await database.query({
    text: `SELECT ${USAGE_SUMS} FROM ${from} AS usage WHERE dimension = $1 AND day BETWEEN $2 AND $3 AND ${condition} HAVING count(*) > 0`,
    values: [dimension, scope.fromDay, scope.toDay, ...values],
    row: sumsRow,
  });
  return sums;
}

const dayRow = z.strictObject({ value: z.string(), day: z.string(), ...usageSumsShape });

/** Usage of some values of a dimension by UTC day, for charts. */
export async function labelDays(
  database: Reader,
  { accountId, dimension, shown, ...range }: { accountId: string; dimension: string; shown: readonly string[] } & DaySpan,
): Promise<(UsageOfLabel & { day: string })[]> {
  return database.query({
    text: `SELECT value, day::text AS day, ${USAGE_SUMS} FROM usage_by_label AS usage
           WHERE account_id = $1 AND dimension = $2 AND day BETWEEN $3 AND $4 AND value = ANY($5) GROUP BY value, day ORDER BY day, value`,
    values: [accountId, dimension, range.fromDay, range.toDay, shown],
    row: dayRow,
  });
}

const hourRow = z.strictObject({ value: z.string(), hour: z.string(), ...usageSumsShape });

/** The same by UTC hour, ISO 8601: from the requests themselves, so it is for few of them. */
export async function labelHours(
  database: Reader,
  { accountId, dimension, shown, ...range }: { accountId: string; dimension: string; shown: readonly string[] } & DaySpan,
): Promise<(UsageOfLabel & { hour: string })[]> {
  return database.query({
    text: `SELECT value, to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI') AS hour, ${USAGE_SUMS} FROM (
             SELECT label.value, usage_hour(event.request_id) AS hour, 1 AS requests, ${SUMMED_COLUMNS.slice(1).join(", ")}
             FROM usage_label AS label JOIN (SELECT *, ${UNITS_BY_KIND} FROM usage_event) AS event USING (day, request_id, attempt)
             WHERE label.account_id = $1 AND dimension = $2 AND label.day BETWEEN $3 AND $4 AND label.value = ANY($5)
               AND event.account_id = $1 AND event.day BETWEEN $3 AND $4
           ) AS usage GROUP BY value, hour ORDER BY hour, value`,
    values: [accountId, dimension, range.fromDay, range.toDay, shown],
    row: hourRow,
  });
}

const modelDayRow = z.strictObject({ day: z.string(), model: z.string(), ...usageSumsShape });

/** The usage of the requests with one label, by UTC day and model, oldest day first. */
export async function labelUsageByModelAndDay(
  database: Reader,
  { dimension, value, ...scope }: LabelScope & { dimension: string; value: string },
): Promise<z.infer<typeof modelDayRow>[]> {
  const { condition, values } = detailsOf(scope, 5);
  return database.query({
    text: `SELECT day::text AS day, model, ${USAGE_SUMS} FROM usage_by_label_and_key AS usage
           WHERE dimension = $1 AND value = $2 AND day BETWEEN $3 AND $4 AND ${condition} GROUP BY day, model ORDER BY day, model`,
    values: [dimension, value, scope.fromDay, scope.toDay, ...values],
    row: modelDayRow,
  });
}

const MAX_TAG_NAMES = 100;

/** Sorted names of an account's tags, up to the length of a list. */
export async function listTagNames(database: Reader, accountId: string): Promise<string[]> {
  // From one name to the next by the primary key, so the number of rows does not matter.
  const rows = await database.query({
    text: `WITH RECURSIVE known AS (
             (SELECT dimension, 1 AS place FROM usage_by_label WHERE account_id = $1 AND dimension > 'tag:' ORDER BY dimension LIMIT 1)
             UNION ALL
             SELECT following.dimension, place + 1 FROM known CROSS JOIN LATERAL (
               SELECT dimension FROM usage_by_label
               WHERE account_id = $1 AND dimension > known.dimension ORDER BY dimension LIMIT 1
             ) AS following WHERE place < $2
           )
           SELECT dimension FROM known`,
    values: [accountId, MAX_TAG_NAMES],
    row: z.strictObject({ dimension: z.string() }),
  });
  return rows.flatMap(({ dimension }) => tagName(dimension) ?? []);
}

/** The smaller table if all keys and models are requested. @param position of the first parameter. */
function rowsOf(scope: LabelScope, position: number): { from: string; condition: string; values: unknown[] } {
  if (scope.keyId === undefined && scope.projectId === undefined && scope.model === undefined)
    return { from: "usage_by_label", condition: `account_id = $${position}`, values: [scope.accountId] };
  return { from: "usage_by_label_and_key", ...detailsOf(scope, position) };
}

function detailsOf(
  { accountId, keyId, projectId, model }: LabelScope,
  position: number,
): { condition: string; values: unknown[] } {
  return {
    condition: `account_id = $${position} AND ($${position + 1}::text IS NULL OR key_id = $${position + 1})
      AND ($${position + 2}::text IS NULL OR model = $${position + 2})
      AND ($${position + 3}::uuid IS NULL OR key_id IN (${keysOfProject(position + 3)}))`,
    values: [accountId, keyId ?? null, model ?? null, projectId ?? null],
  };
}
