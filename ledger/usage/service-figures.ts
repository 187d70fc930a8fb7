import * as z from "zod";
import { momentsOf, type DaySpan } from "../../contract/days.ts";
import type { Reader } from "../postgres/database.ts";
import { addUsage, NO_USAGE_SUMS, SUMMED_COLUMNS, USAGE_SUMS, usageSumsShape, type UsageSums } from "./sums.ts";

/** Payments and usage of all accounts in some UTC days. */
export interface ServiceFigures {
  /** Payments received in these days, including those returned later. */
  payments: { count: number; amountNanoUsd: bigint; accounts: number };
  /** Of these payments: returned to customers, or in disputes that are open or lost. */
  returnedNanoUsd: bigint;
  /** Grants and redeemed codes of these days. */
  givenNanoUsd: bigint;
  usage: UsageSums;
  /** For all models together that have a cost; null: none has. */
  margin: Margin | null;
  /** With usage in these days. */
  activeAccounts: number;
  /** Highest charge first. */
  models: readonly ModelFigures[];
  topAccounts: readonly AccountFigures[];
}

export type ModelFigures = UsageSums & {
  model: string;
  /** On days for which the Model has a cost; null if there are none. */
  margin: Margin | null;
  /** Requests with a known outcome; 0: none, or too long ago. */
  answered: number;
  failed: number;
};

export interface Margin {
  chargeNanoUsd: bigint;
  costNanoUsd: bigint;
}

export type AccountFigures = Pick<UsageSums, "requests" | "chargeNanoUsd"> & { accountId: string; name: string };

const TOP_ACCOUNTS = 10;
/** The key of usage_by_day begins with the account: its days are found account by account, without reading older ones. */
const ALL_ACCOUNTS = `account CROSS JOIN LATERAL (
    SELECT * FROM usage_by_day WHERE account_id = account.id AND day BETWEEN $1 AND $2 OFFSET 0
  ) AS usage`;
/** What accounts' own keys paid for at their providers is no cost of the service's. */
const OWN = SUMMED_COLUMNS.filter((name) => name !== "requests" && name !== "charge_nano_usd");

function ours(column: string): string {
  return `(${column} - coalesce(own_${column}, 0))::numeric`;
}

const paymentsRow = z.strictObject({
  count: z.int(),
  amountNanoUsd: z.bigint(),
  returnedNanoUsd: z.bigint(),
  accounts: z.int(),
});
const modelRow = z.strictObject({
  model: z.string(),
  ...usageSumsShape,
  coveredNanoUsd: z.bigint().nullable(),
  costNanoUsd: z.bigint().nullable(),
});
const healthRow = z.strictObject({ model: z.string(), answered: z.int(), failed: z.int() });
const accountRow = z.strictObject({
  accountId: z.string(),
  name: z.string(),
  requests: usageSumsShape.requests,
  chargeNanoUsd: usageSumsShape.chargeNanoUsd,
  activeAccounts: z.int(),
});

/** From rollups and payments: the cost of reading depends on days, accounts and models, not on requests. */
export async function readServiceFigures(database: Reader, days: DaySpan): Promise<ServiceFigures> {
  const { from, to } = momentsOf(days);
  const { fromDay, toDay } = days;
  const [payments, given, models, health, top] = await Promise.all([
    database.query({
      text: `SELECT count(*)::int AS count, coalesce(sum(amount_nano_usd), 0)::bigint AS "amountNanoUsd",
               coalesce(sum(refunded_nano_usd + disputed_nano_usd), 0)::bigint AS "returnedNanoUsd",
               count(DISTINCT account_id)::int AS accounts
             FROM payment WHERE paid_at >= $1 AND paid_at < $2`,
      values: [from, to],
      row: paymentsRow,
    }),
    database.query({
      text: `SELECT coalesce(sum(amount_nano_usd), 0)::bigint AS "givenNanoUsd" FROM ledger_entry
             WHERE kind <> 'usage' AND kind IN ('grant', 'code') AND created_at >= $1 AND created_at < $2`,
      values: [from, to],
      row: z.strictObject({ givenNanoUsd: z.bigint() }),
    }),
    database.query({
      text: `WITH by_day AS MATERIALIZED (
               SELECT model, day, ${SUMMED_COLUMNS.map((each) => `sum(${each})::bigint AS ${each}`).join(", ")}
               FROM ${ALL_ACCOUNTS} GROUP BY model, day
             ), own AS (
               SELECT model, day, ${OWN.map((each) => `sum(${each})::bigint AS own_${each}`).join(", ")}
               FROM provider_key_usage_by_day WHERE day BETWEEN $1 AND $2 GROUP BY model, day
             )
             SELECT by_day.model, ${USAGE_SUMS},
               (sum(charge_nano_usd) FILTER (WHERE input_pico_usd IS NOT NULL))::bigint AS "coveredNanoUsd",
               round(sum(${ours("input_tokens")} * input_pico_usd + ${ours("cached_input_tokens")} * cached_input_pico_usd
                 + ${ours("cache_write_tokens")} * cache_write_pico_usd + ${ours("output_tokens")} * output_pico_usd
                 + (${["searches", "images", "characters", "seconds"].map(ours).join(" + ")}) * unit_pico_usd) / 1000)::bigint
                 AS "costNanoUsd"
             FROM by_day LEFT JOIN own ON own.model = by_day.model AND own.day = by_day.day LEFT JOIN LATERAL (
               SELECT input_pico_usd, cached_input_pico_usd, cache_write_pico_usd, output_pico_usd, unit_pico_usd FROM model_cost
               WHERE model_cost.model = by_day.model AND since < (by_day.day + 1)::timestamp AT TIME ZONE 'UTC'
               ORDER BY since DESC LIMIT 1
             ) AS cost ON true
             GROUP BY by_day.model ORDER BY "chargeNanoUsd" DESC, by_day.model`,
      values: [fromDay, toDay],
      row: modelRow,
    }),
    database.query({
      text: `SELECT model, sum(answered)::int AS answered, sum(failed)::int AS failed FROM model_hour
             WHERE hour >= $1 AND hour < $2 GROUP BY model`,
      values: [from, to],
      row: healthRow,
    }),
    database.query({
      text: `SELECT account_id AS "accountId", name, requests, "chargeNanoUsd", "activeAccounts" FROM (
               SELECT account_id, sum(requests)::bigint AS requests, sum(charge_nano_usd)::bigint AS "chargeNanoUsd",
                 (count(*) OVER ())::int AS "activeAccounts"
               FROM ${ALL_ACCOUNTS} GROUP BY account_id
               ORDER BY sum(charge_nano_usd) DESC, account_id LIMIT $3
             ) AS top JOIN account ON account.id = account_id ORDER BY "chargeNanoUsd" DESC, account_id`,
      values: [fromDay, toDay, TOP_ACCOUNTS],
      row: accountRow,
    }),
  ]);
  const rows = models.map(({ coveredNanoUsd, costNanoUsd, ...sums }) => {
    const { answered = 0, failed = 0 } = health.find(({ model }) => model === sums.model) ?? {};
    const margin = coveredNanoUsd === null || costNanoUsd === null ? null : { chargeNanoUsd: coveredNanoUsd, costNanoUsd };
    return { ...sums, answered, failed, margin };
  });
  const [{ count, amountNanoUsd, returnedNanoUsd, accounts } = NO_PAYMENTS] = payments;
  return {
    payments: { count, amountNanoUsd, accounts },
    returnedNanoUsd,
    givenNanoUsd: given[0]?.givenNanoUsd ?? 0n,
    usage: models.reduce<UsageSums>(addUsage, NO_USAGE_SUMS),
    margin: addMargins(rows.map(({ margin }) => margin)),
    // Of each row, and of none if no account was active.
    activeAccounts: top[0]?.activeAccounts ?? 0,
    models: rows,
    topAccounts: top.map(({ accountId, name, requests, chargeNanoUsd }) => ({ accountId, name, requests, chargeNanoUsd })),
  };
}

function addMargins(margins: readonly (Margin | null)[]): Margin | null {
  return margins.reduce((sum, margin) => {
    if (sum === null || margin === null) return sum ?? margin;
    return { chargeNanoUsd: sum.chargeNanoUsd + margin.chargeNanoUsd, costNanoUsd: sum.costNanoUsd + margin.costNanoUsd };
  }, null);
}

const NO_PAYMENTS = { count: 0, amountNanoUsd: 0n, returnedNanoUsd: 0n, accounts: 0 };
