import * as z from "zod";
import { momentsOf, type DaySpan } from "../../contract/days.ts";
import type { Reader } from "../postgres/database.ts";
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
  if (step === "day")
    return database.query({
      text: `SELECT key_id AS "keyId", day::text AS start, ${USAGE_SUMS} FROM usage_by_day AS usage
             WHERE account_id = $1 AND key_id = ANY($2) AND day BETWEEN $3 AND $4 GROUP BY key_id, day`,
      values: [accountId, keyIds, range.fromDay, range.toDay],
      row,
    });
  const { from, to } = momentsOf(range);
  return database.query({
    text: `SELECT key_id AS "keyId", to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI') AS start, ${USAGE_SUMS}
           FROM usage_by_hour AS usage
           WHERE account_id = $1 AND key_id = ANY($2) AND hour >= $3 AND hour < $4 GROUP BY key_id, hour`,
    values: [accountId, keyIds, from, to],
    row,
  });
}
