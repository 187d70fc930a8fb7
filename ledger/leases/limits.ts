import { LIMIT_NAMES, LIMITS, type Limits } from "../../contract/limits.ts";
import type { Queryable } from "../postgres/database.ts";
import { countEarlierSpend } from "./earlier-spend.ts";
import { RUNNING_TERM_MS } from "./limit-turns.ts";

/** Replaces all limits of a key; where it may be used stays. @returns false if there is no such key. */
export async function setKeyLimits(transaction: Queryable, publicId: string, limits: Limits): Promise<boolean> {
  await countEarlierSpend(transaction, { noun: "key", id: publicId, limits });
  const changed = await transaction.execute("UPDATE api_key SET limits = limits - $3::text[] || $2::jsonb WHERE public_id = $1", [
    publicId,
    JSON.stringify(limits),
    LIMIT_NAMES,
  ]);
  return changed > 0;
}

const KINDS_BY_MINUTE = LIMIT_NAMES.map((name) => LIMITS[name])
  .filter(({ period }) => period === "minute")
  .map(({ kind }) => kind);
const KEPT_FOR = "interval '40 days'";
const IDLE_FOR = "interval '1 hour'";
/** By then a process that was cut off from the database has ended, or checked whether its last turn counted. */
const PROCESS_KEPT_FOR = "interval '7 days'";

/** Removes rows that no limit reads any more. @returns how many rows. */
export async function dropOldLimitUse(database: Queryable): Promise<number> {
  let dropped = 0;
  // Processes of the version before 0051-limit-totals.sql write limit_use.
  for (const table of ["limit_total", "limit_use"]) {
    dropped += await database.execute(
      `DELETE FROM ${table} WHERE (kind = ANY($1) AND period_start < now() - interval '10 minutes')
         OR (period_start > 'epoch' AND period_start < now() - ${KEPT_FOR})`,
      [KINDS_BY_MINUTE],
    );
  }
  await database.execute(
    "DELETE FROM limit_total WHERE period_start = 'epoch' AND term < extract(epoch FROM now() - interval '1 day') * 1000 / $1::bigint",
    [RUNNING_TERM_MS],
  );
  await database.execute(
    `DELETE FROM limit_use WHERE period_start = 'epoch'
       AND holder NOT IN (SELECT holder FROM limit_holder WHERE seen_at > now() - ${IDLE_FOR})`,
  );
  await database.execute(`DELETE FROM limit_holder WHERE seen_at < now() - ${IDLE_FOR}`);
  await database.execute(`DELETE FROM limit_process WHERE seen_at < now() - ${PROCESS_KEPT_FOR}`);
  return dropped;
}
