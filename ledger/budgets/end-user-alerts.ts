import * as z from "zod";
import { END_USER } from "../../contract/labels.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { THRESHOLDS, WAS_SET } from "./budget-alerts.ts";
import { IS_IN_MONTH, THIS_MONTH, YESTERDAYS_MONTH } from "./budgets.ts";

/** An end user whose spend has passed a threshold of the account's budget for each. */
export interface EndUserAlert {
  budgetId: string;
  accountId: string;
  endUser: string;
  /** First day of the UTC month. */
  month: string;
  percent: number;
  amountNanoUsd: bigint;
  spentNanoUsd: bigint;
}

/** What one letter reports: an account's end users since the last one. */
export interface EndUserLetter {
  budgetId: string;
  accountId: string;
  accountName: string;
  month: string;
  amountNanoUsd: bigint;
  alerts: readonly Pick<EndUserAlert, "endUser" | "percent">[];
  /** Those that spent most, each once. */
  endUsers: readonly Pick<EndUserAlert, "endUser" | "percent" | "spentNanoUsd">[];
  /** How many there are, with those that are not listed. */
  total: number;
  readers: string[];
}

/** Of one account in a round; the others follow in the next ones. */
const ALERTS_A_ROUND = 100;
const LISTED_IN_LETTER = 20;

const alertRow = z.strictObject({
  budgetId: z.string(),
  accountId: z.string(),
  endUser: z.string(),
  month: z.string(),
  percent: z.int(),
  amountNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
});

/**
 * Records the thresholds that end users' spend has passed, each once a month, and calls `onReached` for each end user's highest one,
 * in the same transaction. Accounts without usage since yesterday are not checked, nor end users that reports do not distinguish.
 * On the first day of a month the last one is checked, too, as in budget-alerts.ts.
 */
export async function noteEndUsersOverBudget(
  database: Database,
  onReached: (transaction: Queryable, alert: EndUserAlert) => Promise<void>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const alerts = await transaction.query({
      text: `WITH watched AS MATERIALIZED (
               SELECT DISTINCT budget.id, account_id, amount_nano_usd AS amount, month
               FROM end_user_budget AS budget JOIN account ON account.id = account_id AND labels <> 'erasing'
               CROSS JOIN unnest(ARRAY[${YESTERDAYS_MONTH}, ${THIS_MONTH}]) AS month
               WHERE ${WAS_SET} AND EXISTS (SELECT FROM usage_by_day AS recent WHERE recent.account_id = budget.account_id
                 AND recent.day >= (now() AT TIME ZONE 'UTC')::date - 1)
             ), spent AS (
               SELECT watched.id, watched.account_id, amount, month, value AS end_user, sum(charge_nano_usd)::bigint AS spent
               FROM watched JOIN usage_by_label AS usage ON usage.account_id = watched.account_id AND dimension = $2
               WHERE ${IS_IN_MONTH} AND value <> ''
               GROUP BY watched.id, watched.account_id, amount, month, value
             ), reached AS (
               SELECT *, (SELECT max(percent) FROM unnest($1::smallint[]) AS percent WHERE spent * 100::numeric >= amount * percent::numeric)
                 AS highest FROM spent
             ), news AS (
               SELECT *, row_number() OVER (PARTITION BY id ORDER BY month, spent DESC, end_user) AS place FROM reached
               -- Not as NOT EXISTS: without statistics of a table that has just grown, Postgres reads it once for each end user.
               WHERE highest IS NOT NULL AND (id, month, end_user, highest) NOT IN (
                 SELECT budget_id, known.month, known.end_user, percent FROM end_user_budget_alert AS known WHERE known.month >= ${YESTERDAYS_MONTH})
             ), alert AS (
               INSERT INTO end_user_budget_alert (budget_id, month, end_user, percent, spent_nano_usd, amount_nano_usd, is_mail_due)
               SELECT id, month, end_user, percent, spent, amount, percent = highest
               FROM news JOIN unnest($1::smallint[]) AS percent ON percent <= highest WHERE place <= $3
               ON CONFLICT DO NOTHING RETURNING *
             )
             SELECT budget_id AS "budgetId", account_id AS "accountId", end_user AS "endUser", alert.month::text, percent::integer,
               amount_nano_usd AS "amountNanoUsd", spent_nano_usd AS "spentNanoUsd"
             FROM alert JOIN watched ON watched.id = budget_id AND watched.month = alert.month
             WHERE is_mail_due ORDER BY budget_id, alert.month, end_user`,
      values: [THRESHOLDS, END_USER, ALERTS_A_ROUND],
      row: alertRow,
    });
    for (const alert of alerts) await onReached(transaction, alert);
  });
}

const claimedRow = alertRow.extend({ accountName: z.string(), readers: z.array(z.string()) });

/** Letters that are due, each given to one of several callers: at most one an hour for an account, about its earliest month. */
export async function claimEndUserLetters(database: Queryable): Promise<EndUserLetter[]> {
  const claimed = await database.query({
    text: `WITH due AS (
             UPDATE end_user_budget SET mailed_at = now() WHERE id IN (
               SELECT id FROM end_user_budget AS budget WHERE (mailed_at IS NULL OR mailed_at < now() - interval '1 hour')
                 AND EXISTS (SELECT FROM end_user_budget_alert WHERE budget_id = budget.id AND is_mail_due)
               FOR UPDATE SKIP LOCKED
             ) RETURNING id, account_id
           ), claimed AS (
             UPDATE end_user_budget_alert AS alert SET is_mail_due = false FROM due
             WHERE budget_id = due.id AND is_mail_due
               AND month = (SELECT min(month) FROM end_user_budget_alert WHERE budget_id = due.id AND is_mail_due)
             RETURNING alert.*, account_id
           )
           SELECT budget_id AS "budgetId", account_id AS "accountId", name AS "accountName", end_user AS "endUser", month::text,
             percent::integer, amount_nano_usd AS "amountNanoUsd", spent_nano_usd AS "spentNanoUsd", ARRAY(
               SELECT email FROM member JOIN person ON person.id = member.person_id
               WHERE member.account_id = account.id AND role = 'owner' ORDER BY email
             ) AS readers
           FROM claimed JOIN account ON account.id = account_id ORDER BY spent_nano_usd DESC, percent DESC, end_user`,
    row: claimedRow,
  });
  return [...Map.groupBy(claimed, ({ budgetId }) => budgetId).values()].flatMap(toLetter);
}

/** @param alerts of one budget and month, the highest spend first. */
function toLetter(alerts: readonly z.infer<typeof claimedRow>[]): EndUserLetter[] {
  // Those of one end user may have been recorded since the last letter at 50 and at 80%.
  const endUsers = [...Map.groupBy(alerts, ({ endUser }) => endUser).values()].flatMap((each) => each.slice(0, 1));
  return alerts
    .slice(0, 1)
    .map((first) => ({ ...first, alerts, endUsers: endUsers.slice(0, LISTED_IN_LETTER), total: endUsers.length }));
}

/** The letter was not accepted: what it reports is due again. */
export async function returnEndUserLetter(database: Queryable, { budgetId, month, alerts }: EndUserLetter): Promise<void> {
  await database.execute(
    `WITH returned AS (UPDATE end_user_budget SET mailed_at = NULL WHERE id = $1)
     UPDATE end_user_budget_alert AS alert SET is_mail_due = true
     FROM unnest($3::text[], $4::smallint[]) AS unsent (end_user, percent)
     WHERE budget_id = $1 AND month = $2 AND alert.end_user = unsent.end_user AND alert.percent = unsent.percent`,
    [budgetId, month, alerts.map(({ endUser }) => endUser), alerts.map(({ percent }) => percent)],
  );
}
