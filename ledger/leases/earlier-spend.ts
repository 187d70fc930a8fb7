import { LIMITS, SPEND_LIMITS, type Limits } from "../../contract/limits.ts";
import type { Queryable } from "../postgres/database.ts";

const SPEND = {
  key: { id: "public_id", table: "api_key", spent: "key_id" },
  account: { id: "id", table: "account", spent: "account_id" },
} as const;

/**
 * Processes count what they admit under a limit, but a limit on spending is about its whole day or month: for those that are about
 * to be set where there was none, what was spent before counts, too. Requests that run at this moment do not.
 * @param transaction the one that sets the limits, before it does.
 */
export async function countEarlierSpend(
  transaction: Queryable,
  { noun, id, limits }: { noun: keyof typeof SPEND; id: string; limits: Limits },
): Promise<void> {
  const names = SPEND_LIMITS.filter((name) => limits[name] !== undefined);
  if (names.length === 0) return;
  const of = SPEND[noun];
  await transaction.execute(
    `INSERT INTO limit_total AS total (subject, kind, period_start, used)
     SELECT $5 || ':' || ${of.id}, kind, start AT TIME ZONE 'UTC', spent
     FROM ${of.table} CROSS JOIN unnest($2::text[], $3::text[], $4::text[]) AS added (limit_name, kind, period)
       CROSS JOIN LATERAL date_trunc(period, now() AT TIME ZONE 'UTC') AS start
       CROSS JOIN LATERAL (
         SELECT coalesce(sum(charge_nano_usd), 0)::bigint AS spent FROM usage_by_day WHERE ${of.spent} = ${of.table}.${of.id} AND day >= start::date
       ) AS usage
     WHERE ${of.id} = $1 AND NOT limits ? limit_name AND spent > 0
     ORDER BY kind
     ON CONFLICT (subject, kind, period_start) DO UPDATE SET used = greatest(total.used, excluded.used)`,
    [id, names, names.map((name) => LIMITS[name].kind), names.map((name) => LIMITS[name].period), noun],
  );
}
