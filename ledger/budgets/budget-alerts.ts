import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";
import { BUDGETS, SPENT, THIS_MONTH, YESTERDAYS_MONTH, type Budget, type BudgetScope } from "./budgets.ts";

/** Whose alerts are sent: those of end users are in end-user-alerts.ts, and a newer version may have others. */
const ALERTED_SCOPES = ["account", "project", "key", "member"] as const satisfies readonly BudgetScope["scope"][];
const IS_ALERTED = `scope IN (${ALERTED_SCOPES.map((scope) => `'${scope}'`).join(", ")})`;

/** Parts of a budget at which people and programs are notified, in percent. */
export const THRESHOLDS = [50, 80, 100] as const;

/** A budget whose spend has passed a threshold. */
export interface BudgetAlert extends Omit<Budget, "id" | "reached" | "scope"> {
  scope: (typeof ALERTED_SCOPES)[number];
  budgetId: string;
  accountId: string;
  accountName: string;
  /** First day of the UTC month. */
  month: string;
  percent: number;
}

const alertRow = z.strictObject({
  budgetId: z.string(),
  accountId: z.string(),
  accountName: z.string(),
  scope: z.enum(ALERTED_SCOPES),
  keyId: z.string().nullable(),
  personId: z.string().nullable(),
  projectId: z.string().nullable(),
  covers: z.string().nullable(),
  month: z.string(),
  percent: z.int(),
  amountNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
});

const SELECT_ALERT = `SELECT budget_id AS "budgetId", account.id AS "accountId", account.name AS "accountName", scope, key_id AS "keyId",
    budget.person_id AS "personId", budget.project_id AS "projectId", coalesce(api_key.name, project.name, email) AS covers, month::text, percent::integer,
    alert.amount_nano_usd AS "amountNanoUsd", alert.spent_nano_usd AS "spentNanoUsd"
  FROM alert JOIN ${BUDGETS} AS budget ON budget.id = budget_id JOIN account ON account.id = budget.account_id
  LEFT JOIN api_key ON public_id = key_id LEFT JOIN person ON person.id = budget.person_id
  LEFT JOIN project ON project.id = budget.project_id`;

/** As SQL: whether a budget had its amount before `month` ended. */
export const WAS_SET = "set_at < (month + interval '1 month') AT TIME ZONE 'UTC'";

const ALERT_COLUMNS = "budget_id, month, percent, spent_nano_usd, amount_nano_usd, is_mail_due";
const FROM_PASSED = `(${ALERT_COLUMNS}) SELECT id, month, percent, spent, amount, is_highest FROM passed`;
/** The step `alert`: rows of both tables. */
const ALERT = "alert AS (SELECT * FROM of_projects UNION ALL SELECT * FROM of_others)";

/**
 * Records the thresholds that spend has passed since the last check, each once a month, and calls `onReached` for each budget's
 * highest one, in the same transaction: spend that passes several at once is reported once. Accounts without usage since
 * yesterday are not checked. Requests that began yesterday may be settled today: if a month has ended in between, both are checked,
 * the earlier one against the budgets that it had.
 */
export async function noteReachedBudgets(
  database: Database,
  onReached: (transaction: Queryable, alert: BudgetAlert) => Promise<void>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const alerts = await transaction.query({
      text: `WITH watched AS MATERIALIZED (
               SELECT DISTINCT account_id, month FROM ${BUDGETS} AS budget
               CROSS JOIN unnest(ARRAY[${YESTERDAYS_MONTH}, ${THIS_MONTH}]) AS month
               WHERE EXISTS (SELECT FROM usage_by_day AS recent WHERE recent.account_id = budget.account_id
                 AND recent.day >= (now() AT TIME ZONE 'UTC')::date - 1)
             ), ${SPENT}, passed AS (
               SELECT id, scope, month, amount_nano_usd AS amount, spent.amount AS spent, percent,
                 percent = max(percent) OVER (PARTITION BY id, month) AS is_highest
               FROM ${BUDGETS} AS budget JOIN spent ON budget_id = id CROSS JOIN unnest($1::smallint[]) AS percent
               WHERE ${IS_ALERTED} AND ${WAS_SET} AND spent.amount * 100::numeric >= amount_nano_usd * percent::numeric
             ), of_projects AS (
               INSERT INTO project_budget_alert ${FROM_PASSED} WHERE scope = 'project' ON CONFLICT DO NOTHING RETURNING ${ALERT_COLUMNS}
             ), of_others AS (
               INSERT INTO budget_alert ${FROM_PASSED} WHERE scope <> 'project' ON CONFLICT DO NOTHING RETURNING ${ALERT_COLUMNS}
             ), ${ALERT}
             ${SELECT_ALERT} WHERE is_mail_due ORDER BY budget_id, month, percent`,
      values: [THRESHOLDS],
      row: alertRow,
    });
    for (const alert of alerts) await onReached(transaction, alert);
  });
}

/** Alerts that nobody has been notified of, with their recipients: each is given once, to one of several callers. */
export async function claimBudgetLetters(database: Queryable): Promise<(BudgetAlert & { readers: string[] })[]> {
  return database.query({
    text: `WITH of_projects AS (UPDATE project_budget_alert SET is_mail_due = false WHERE is_mail_due RETURNING ${ALERT_COLUMNS}),
             of_others AS (UPDATE budget_alert SET is_mail_due = false
               WHERE is_mail_due AND EXISTS (SELECT FROM budget WHERE id = budget_id AND ${IS_ALERTED}) RETURNING ${ALERT_COLUMNS}), ${ALERT}
           SELECT each.*, ARRAY(
             SELECT email FROM member JOIN person ON person.id = member.person_id
             WHERE member.account_id = each."accountId" AND (role = 'owner' OR member.person_id = each."personId") ORDER BY email
           ) AS readers FROM (${SELECT_ALERT}) AS each`,
    row: alertRow.extend({ readers: z.array(z.string()) }),
  });
}

/** The notification failed: the next caller gets the alert again. */
export async function returnBudgetLetter(
  database: Queryable,
  { budgetId, scope, month, percent }: Pick<BudgetAlert, "budgetId" | "scope" | "month" | "percent">,
): Promise<void> {
  const table = scope === "project" ? "project_budget_alert" : "budget_alert";
  await database.execute(`UPDATE ${table} SET is_mail_due = true WHERE budget_id = $1 AND month = $2 AND percent = $3`, [
    budgetId,
    month,
    percent,
  ]);
}
