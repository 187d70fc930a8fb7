import * as z from "zod";
import { LIMIT_NAMES, LIMITS } from "../../contract/limits.ts";
import type { Queryable } from "../postgres/database.ts";
import { RUNNING_TERM_MS } from "./limit-turns.ts";

const MINUTE_MS = 60_000;
const KINDS_BY_MINUTE: readonly string[] = LIMIT_NAMES.map((name) => LIMITS[name])
  .filter(({ period }) => period === "minute")
  .map(({ kind }) => kind);

const useRow = z.strictObject({ subject: z.string(), kind: z.string(), used: z.bigint() });

/** Current use of limits on requests, tokens and concurrency, by kind; unused ones are left out. */
export type CountsInUse = ReadonlyMap<string, bigint>;

/**
 * What these keys and accounts use in the running minute and at this moment, as last reported by all processes
 * (docs/decisions/0063). Only limited quantities are counted. Spend is known from usage.
 * @param subjects `key:` or `account:` and the id.
 */
export async function readCountsInUse(
  database: Queryable,
  subjects: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, CountsInUse>> {
  const rows = await database.query({
    text: `SELECT subject, kind,
             greatest(used + CASE WHEN term >= $5::float8 - 1 THEN running_before + running WHEN term >= $5::float8 - 2 THEN running ELSE 0 END, 0)::bigint AS used
           FROM limit_total
           WHERE subject = ANY($1)
             AND ((kind = ANY($2) AND period_start = $3) OR (kind = $4 AND period_start = 'epoch'))`,
    values: [
      subjects,
      KINDS_BY_MINUTE,
      new Date(nowMs - (nowMs % MINUTE_MS)),
      LIMITS.concurrentRequests.kind,
      nowMs / RUNNING_TERM_MS,
    ],
    row: useRow,
  });
  const bySubject = new Map<string, Map<string, bigint>>();
  for (const { subject, kind, used } of rows) {
    const counts = bySubject.get(subject) ?? new Map<string, bigint>();
    bySubject.set(subject, counts.set(kind, used));
  }
  return bySubject;
}
