import * as z from "zod";
import type { DaySpan } from "../../contract/days.ts";
import type { Reader } from "../postgres/database.ts";
import { periodOf } from "./series-period.ts";
import { USAGE_SUMS, usageSumsShape, type UsageSums } from "./sums.ts";

export interface UsageOfKey extends UsageSums {
  /** Public id. */
  keyId: string;
  /** Start of the UTC day or hour, ISO 8601. */
  start: string;
}

const row = z.strictObject({ keyId: z.string(), start: z.string(), ...usageSumsShape });

/** Usage of these keys of an account by UTC day, or by hour, from rollups: bounded by the requested days and keys. */
export async function usageOfKeys(
  database: Reader,
  { accountId, keyIds, step, ...range }: { accountId: string; keyIds: readonly string[]; step: "hour" | "day" } & DaySpan,
): Promise<UsageOfKey[]> {
  const { table, column, start, first, end } = periodOf(step, range);
  return database.query({
    text: `SELECT key_id AS "keyId", ${start} AS start, ${USAGE_SUMS} FROM ${table} AS usage
           WHERE account_id = $1 AND key_id = ANY($2) AND ${column} >= $3 AND ${column} < $4 GROUP BY key_id, ${column}`,
    values: [accountId, keyIds, first, end],
    row,
  });
}
