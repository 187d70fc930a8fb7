import * as z from "zod";
import type { Reader } from "../postgres/database.ts";
import { wholeNumber } from "./sums.ts";

/** One key used one model in an hour, or in a day: the rollups show that, and the requests themselves are stored together. */
export interface UsedGroup {
  startMs: number;
  endMs: number;
  keyId: string;
  model: string;
}

interface GroupSearch {
  accountId: string;
  /** Only of these keys. */
  keyIds?: readonly string[];
  model?: string;
  fromMs: number;
  /** Periods that begin at this moment or later are left out. */
  beforeMs: number;
  /** How many requests the groups must contain, if there are as many. */
  requests: number;
}

interface FoundGroups {
  groups: UsedGroup[];
  /** Older groups begin before this; null: there are none. */
  beforeMs: number | null;
}

/**
 * An unfiltered list goes by hours: few requests are read that it does not show. A key's or a model's goes by days: its hours
 * would have to be picked out of all others'.
 */
const BY_HOUR = { table: "usage_by_hour", column: "hour", start: "hour", ms: 3_600_000 } as const;
const BY_DAY = { table: "usage_by_day", column: "day", start: "day::timestamp AT TIME ZONE 'UTC'", ms: 86_400_000 } as const;

const groupRow = z.strictObject({ start: z.date(), keyId: z.string(), model: z.string(), requests: wholeNumber });

/** The newest groups that contain this many requests: whole periods, newest first. */
export async function findUsedGroups(database: Reader, search: GroupSearch): Promise<FoundGroups> {
  const { accountId, keyIds, model, requests } = search;
  const { table, column, start, ms } = keyIds === undefined && model === undefined ? BY_HOUR : BY_DAY;
  const rows = await database.query({
    text: `SELECT ${start} AS start, key_id AS "keyId", model, requests FROM ${table}
           WHERE account_id = $1 AND ${column} >= $2 AND ${column} < $3
             AND ($4::text[] IS NULL OR key_id = ANY($4)) AND ($5::text IS NULL OR model = $5)
           ORDER BY ${column} DESC FETCH FIRST $6 ROWS WITH TIES`,
    values: [
      accountId,
      new Date(Math.floor(search.fromMs / ms) * ms).toISOString(),
      new Date(Math.ceil(search.beforeMs / ms) * ms).toISOString(),
      keyIds ?? null,
      model ?? null,
      requests,
    ],
    row: groupRow,
  });
  const groups: UsedGroup[] = [];
  let found = 0;
  let startMs = Infinity;
  for (const row of rows) {
    const isNextPeriod = row.start.getTime() < startMs;
    if (isNextPeriod && found >= requests) return { groups, beforeMs: startMs };
    startMs = row.start.getTime();
    found += row.requests;
    groups.push({ startMs, endMs: startMs + ms, keyId: row.keyId, model: row.model });
  }
  // Fewer groups than requested: these are all.
  return { groups, beforeMs: rows.length < requests ? null : startMs };
}
