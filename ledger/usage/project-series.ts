import * as z from "zod";
import type { DaySpan } from "../../contract/days.ts";
import type { Reader } from "../postgres/database.ts";
import { periodOf, type SeriesStep } from "./series-period.ts";
import { SUMMED, USAGE_SUMS, usageSumsShape, type UsageSums } from "./sums.ts";

export interface UsageOfProject extends UsageSums {
  /** "" for keys in no project. */
  projectId: string;
  name: string;
  isDeleted: boolean;
  /** Start of the UTC day or hour, ISO 8601; "" for the whole range. */
  start: string;
}

const row = z.strictObject({
  projectId: z.string(),
  name: z.string(),
  isDeleted: z.boolean(),
  start: z.string(),
  ...usageSumsShape,
});

export interface ProjectUsageQuery extends DaySpan {
  accountId: string;
  step: SeriesStep;
  /** Only this many projects, those with the highest charges. */
  most: number;
}

/** Usage of the keys in each project, highest charge first, from rollups: of the keys that are in it now (docs/decisions/0070). */
export async function usageByProject(
  database: Reader,
  { accountId, step, most, ...range }: ProjectUsageQuery,
): Promise<UsageOfProject[]> {
  const { table, column, start, first, end } = periodOf(step, range);
  return database.query({
    text: `WITH used AS (
        SELECT project_id, ${start} AS start, ${SUMMED}
        FROM ${table} LEFT JOIN project_key ON public_id = key_id
        WHERE account_id = $1 AND ${column} >= $2 AND ${column} < $3 GROUP BY 1, 2
      ), largest AS (
        SELECT project_id, sum(charge_nano_usd) AS spent FROM used GROUP BY project_id ORDER BY spent DESC, project_id LIMIT $4
      )
      SELECT coalesce(used.project_id::text, '') AS "projectId", coalesce(name, '') AS name, deleted_at IS NOT NULL AS "isDeleted",
        start, ${USAGE_SUMS}
      FROM used JOIN largest ON largest.project_id IS NOT DISTINCT FROM used.project_id
      LEFT JOIN project ON project.id = used.project_id
      GROUP BY used.project_id, project.id, start, spent ORDER BY spent DESC, used.project_id, start`,
    values: [accountId, first, end, most],
    row,
  });
}
