import * as z from "zod";
import type { DaySpan } from "../../contract/days.ts";
import { CREATED_BY } from "../keys/key-creators.ts";
import type { Reader } from "../postgres/database.ts";
import { keysOfProject } from "../projects/project-keys.ts";
import { periodOf, type SeriesStep } from "./series-period.ts";
import { SUMMED, USAGE_SUMS, usageSumsShape, type UsageSums } from "./sums.ts";

export interface UsageOfMember extends UsageSums {
  /** Id of the person who created the keys; "" if nobody in the account did. */
  personId: string;
  /** Start of the UTC day or hour, ISO 8601; "" for the whole range. */
  start: string;
}

const row = z.strictObject({ personId: z.string(), start: z.string(), ...usageSumsShape });

export interface MemberUsageQuery extends DaySpan {
  accountId: string;
  /** Only keys in this project. */
  projectId?: string | undefined;
  step: SeriesStep;
  /** Only this many members, those whose keys spent most. */
  most: number;
}

/** Usage of the keys that each member created, highest charge first. From rollups, and once for each key. */
export async function usageByMember(
  database: Reader,
  { accountId, projectId, step, most, ...range }: MemberUsageQuery,
): Promise<UsageOfMember[]> {
  const { table, column, start, first, end } = periodOf(step, range);
  const isUsed = `account_id = $1 AND ${column} >= $2 AND ${column} < $3 AND ($5::uuid IS NULL OR key_id IN (${keysOfProject(5)}))`;
  return database.query({
    text: `WITH creator AS MATERIALIZED (
        SELECT public_id, coalesce((${CREATED_BY})::text, '') AS person_id
        FROM (SELECT DISTINCT key_id AS public_id FROM ${table} WHERE ${isUsed}) AS used_key
      ), used AS (
        SELECT person_id, ${start} AS start, ${SUMMED} FROM ${table} JOIN creator ON public_id = key_id WHERE ${isUsed} GROUP BY 1, 2
      ), largest AS (
        SELECT person_id, sum(charge_nano_usd) AS spent FROM used GROUP BY person_id ORDER BY spent DESC, person_id LIMIT $4
      )
      SELECT person_id AS "personId", start, ${USAGE_SUMS}
      FROM used JOIN largest USING (person_id)
      GROUP BY person_id, start, spent ORDER BY spent DESC, person_id, start`,
    values: [accountId, first, end, most, projectId ?? null],
    row,
  });
}
