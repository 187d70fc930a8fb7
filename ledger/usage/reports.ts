import * as z from "zod";
import type { Reader } from "../postgres/database.ts";
import { keysOfProject } from "../projects/project-keys.ts";
import { addUsage, NO_USAGE_SUMS, USAGE_SUMS, usageOf, usageSumsShape, type UsageSubject, type UsageSums } from "./sums.ts";
import { daysBefore, type DaySpan } from "../../contract/days.ts";
import { cutPage } from "../postgres/page.ts";

/**
 * Usage added up, from rollups alone (docs/decisions/0009): the cost of a report depends on the requested days, not on the
 * requests in them.
 */

export interface UsageByModelAndDay extends UsageSums {
  /** UTC, `YYYY-MM-DD`. */
  day: string;
  model: string;
}

const modelAndDayRow = z.strictObject({ day: z.string(), model: z.string(), ...usageSumsShape });

/** Usage of an account or an API key, by UTC day and model, oldest day first (S27, S29). */
export async function usageByModelAndDay(
  database: Reader,
  { fromDay, toDay, ...subject }: UsageSubject & DaySpan,
): Promise<UsageByModelAndDay[]> {
  const { condition, values } = usageOf(subject, 3);
  return database.query({
    text: `SELECT day, model, ${USAGE_SUMS} FROM usage_by_day AS usage WHERE ${condition} AND day BETWEEN $1 AND $2
           GROUP BY day, model ORDER BY day, model`,
    values: [fromDay, toDay, ...values],
    row: modelAndDayRow,
  });
}

export type UsageByModel = UsageSums & { model: string };

/** Usage of an account in some UTC days, by model, highest charge first. */
export async function usageByModel(
  database: Reader,
  { accountId, fromDay, toDay }: { accountId: string } & DaySpan,
): Promise<UsageByModel[]> {
  return database.query({
    text: `SELECT model, ${USAGE_SUMS} FROM usage_by_day AS usage WHERE account_id = $1 AND day BETWEEN $2 AND $3
           GROUP BY model ORDER BY "chargeNanoUsd" DESC, model`,
    values: [accountId, fromDay, toDay],
    row: z.strictObject({ model: z.string(), ...usageSumsShape }),
  });
}

interface UsageByKey extends UsageSums {
  /** Public id. */
  keyId: string;
  name: string;
  isRevoked: boolean;
}

const keyRow = z.strictObject({ keyId: z.string(), name: z.string(), isRevoked: z.boolean(), ...usageSumsShape });

/** Position after the last row of a page of keys sorted by usage. */
export type KeyUsagePosition = Pick<UsageByKey, "keyId" | "chargeNanoUsd">;

export interface KeyUsagePage {
  keys: UsageByKey[];
  /** Of the next page; null: this is the last one. */
  next: KeyUsagePosition | null;
}

/**
 * Usage of each API key of an account, highest charge first; unused keys are left out (S27).
 * @param after continues after this key.
 */
export async function usageByKey(
  database: Reader,
  {
    accountId,
    projectId,
    fromDay,
    toDay,
    limit,
    after,
  }: { accountId: string; projectId?: string | undefined; limit: number; after?: KeyUsagePosition | undefined } & DaySpan,
): Promise<KeyUsagePage> {
  const rows = await database.query({
    // Only what decides the order is added up for all keys: an account may have thousands.
    text: `WITH ranked AS MATERIALIZED (
             SELECT public_id, name, revoked_at, charge FROM (
               SELECT key_id, sum(charge_nano_usd)::bigint AS charge FROM usage_by_day
               WHERE account_id = $1 AND day BETWEEN $2 AND $3
                 AND ($7::uuid IS NULL OR key_id IN (${keysOfProject(7)})) GROUP BY key_id
             ) AS used JOIN api_key ON public_id = key_id
             WHERE $4::bigint IS NULL OR charge < $4 OR (charge = $4 AND public_id > $5)
             ORDER BY charge DESC, public_id LIMIT $6
           )
           SELECT public_id AS "keyId", name, revoked_at IS NOT NULL AS "isRevoked", sums.*
           FROM ranked CROSS JOIN LATERAL (
             SELECT ${USAGE_SUMS} FROM usage_by_day WHERE account_id = $1 AND key_id = public_id AND day BETWEEN $2 AND $3
           ) AS sums
           ORDER BY charge DESC, public_id`,
    values: [accountId, fromDay, toDay, after?.chargeNanoUsd ?? null, after?.keyId ?? null, limit + 1, projectId ?? null],
    row: keyRow,
  });
  const { page: keys, next } = cutPage(rows, limit, ({ keyId, chargeNanoUsd }) => ({ keyId, chargeNanoUsd }));
  return { keys, next };
}

export interface UsageByHour extends UsageSums {
  /** Start of the UTC hour. */
  hour: Date;
  model: string;
}

const hourRow = z.strictObject({ hour: z.date(), model: z.string(), ...usageSumsShape });

/**
 * Usage of an account, or of one of its projects or keys, by UTC hour and model, oldest hour first. For days, not for months.
 * @param from included; `to` is not.
 */
export async function usageByHour(
  database: Reader,
  { from, to, ...subject }: { accountId: string; keyId?: string; projectId?: string | undefined; from: Date; to: Date },
): Promise<UsageByHour[]> {
  const { condition, values } = usageOf(subject, 3);
  return database.query({
    text: `SELECT hour, model, ${USAGE_SUMS} FROM usage_by_hour AS usage WHERE ${condition} AND hour >= $1 AND hour < $2
           GROUP BY hour, model ORDER BY hour, model`,
    values: [from, to, ...values],
    row: hourRow,
  });
}

export interface UsageTotals {
  today: UsageSums;
  /** With today. */
  last7Days: UsageSums;
  last30Days: UsageSums;
  /** From the first of the UTC month. */
  thisMonth: UsageSums;
}

const dayRow = z.strictObject({ day: z.string(), ...usageSumsShape });

/**
 * Recent usage of an account or an API key, for the heads of pages.
 * @param today UTC, `YYYY-MM-DD`.
 */
export async function usageTotals(
  database: Reader,
  { today, ...subject }: UsageSubject & { today: string },
): Promise<UsageTotals> {
  const sinceDay = (daysAgo: number) => daysBefore(today, daysAgo);
  const monthStart = `${today.slice(0, 7)}-01`;
  const firstDay = sinceDay(29) < monthStart ? sinceDay(29) : monthStart;
  const { condition, values } = usageOf(subject, 3);
  const days = await database.query({
    text: `SELECT day, ${USAGE_SUMS} FROM usage_by_day AS usage WHERE ${condition} AND day BETWEEN $1 AND $2 GROUP BY day`,
    values: [firstDay, today, ...values],
    row: dayRow,
  });
  // Days are texts that sort chronologically.
  const since = (firstDay: string) => days.filter(({ day }) => day >= firstDay).reduce(addUsage, NO_USAGE_SUMS);
  return {
    today: since(today),
    last7Days: since(sinceDay(6)),
    last30Days: since(sinceDay(29)),
    thisMonth: since(monthStart),
  };
}
