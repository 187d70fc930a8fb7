import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { END_USER } from "../../contract/labels.ts";
import type { Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";

/** The scope of a budget. */
export type BudgetScope =
  | { scope: "account" }
  | { scope: "project"; projectId: string }
  | { scope: "key"; keyId: string }
  | { scope: "member"; personId: string }
  /** The same amount for each of them. */
  | { scope: "end_user" };

export const BUDGET_SCOPES = [
  "account",
  "project",
  "key",
  "member",
  "end_user",
] as const satisfies readonly BudgetScope["scope"][];

export interface Budget {
  id: string;
  scope: OrOther<BudgetScope["scope"]>;
  keyId: string | null;
  personId: string | null;
  projectId: string | null;
  /**
   * The name of the key or project, the member's email address, or the end user with the highest spend of the month; null: the
   * account, or no end user yet.
   */
  covers: string | null;
  amountNanoUsd: bigint;
  /** In the running UTC month. Of end users, the highest. */
  spentNanoUsd: bigint;
  /** Thresholds that this month's spend has reached, in percent. Of end users, that of any. */
  reached: number[];
}

const budgetRow = z.strictObject({
  id: z.string(),
  scope: knownOrOther(BUDGET_SCOPES),
  keyId: z.string().nullable(),
  personId: z.string().nullable(),
  projectId: z.string().nullable(),
  covers: z.string().nullable(),
  amountNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
  reached: z.array(z.int()),
});

/** As SQL: the budgets of all scopes, and their alerts. Later scopes have tables of their own (docs/decisions/0070). */
export const BUDGETS = `(
    SELECT id, account_id, scope, key_id, person_id, NULL::uuid AS project_id, amount_nano_usd, set_at FROM budget
    UNION ALL SELECT id, account_id, 'project', NULL, NULL, project_id, amount_nano_usd, set_at FROM project_budget
    UNION ALL SELECT id, account_id, 'end_user', NULL, NULL, NULL, amount_nano_usd, set_at FROM end_user_budget
  )`;
const ALERTS = `(
    SELECT budget_id, month, percent FROM budget_alert UNION ALL SELECT budget_id, month, percent FROM project_budget_alert
    UNION ALL SELECT DISTINCT budget_id, month, percent FROM end_user_budget_alert
  )`;

/** As SQL: the first day of the running UTC month. */
export const THIS_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";
/** As SQL: the first day of yesterday's UTC month, which may have ended a day ago. */
export const YESTERDAYS_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC' - interval '1 day')::date";

/** As SQL: whether `day` is in `month`, as bounds: of a function of the day, Postgres expects to find hardly any. */
export const IS_IN_MONTH = `day >= ${YESTERDAYS_MONTH} AND day >= month AND day < month + interval '1 month'`;

/**
 * As SQL: the steps from accounts and months, this one or yesterday's, in `watched (account_id, month)` to `spent (budget_id, month,
 * amount)`, what counts against each of their budgets, from rollups. Usage is summed by key once, for an account has up to a hundred
 * budgets and its usage of a month hundreds of thousands of rows.
 */
export const SPENT = `used AS MATERIALIZED (
    SELECT account_id, month, key_id, sum(charge_nano_usd) AS amount FROM watched JOIN usage_by_day USING (account_id)
    WHERE ${IS_IN_MONTH} GROUP BY account_id, month, key_id
  ), of_account AS (
    SELECT account_id, month, sum(amount) AS amount FROM used GROUP BY account_id, month
  ), of_member AS (
    SELECT account_id, month, creator AS person_id, sum(amount) AS amount FROM (
      SELECT DISTINCT used.account_id, month, key_id, creator, amount FROM used
      JOIN audit_entry ON subject = key_id AND action = 'key.created'
      LEFT JOIN management_token ON management_token.id = token_id
      CROSS JOIN unnest(ARRAY[audit_entry.person_id, created_by]) AS creator WHERE creator IS NOT NULL
    ) AS created GROUP BY account_id, month, creator
  ), of_project AS (
    SELECT project_id, month, sum(amount) AS amount FROM used JOIN project_key ON public_id = key_id GROUP BY project_id, month
  ), spent AS (
    SELECT budget.id AS budget_id, month,
      coalesce(CASE scope WHEN 'account' THEN of_account.amount WHEN 'project' THEN of_project.amount WHEN 'key' THEN used.amount
        ELSE of_member.amount END, 0)::bigint AS amount
    FROM watched JOIN ${BUDGETS} AS budget USING (account_id) LEFT JOIN of_account USING (account_id, month)
    LEFT JOIN of_project USING (project_id, month)
    LEFT JOIN used USING (account_id, month, key_id)
    LEFT JOIN of_member USING (account_id, month, person_id)
  )`;

/** As SQL: this month's spend of the end users that reports distinguish, of the account $1; $2 is their dimension. */
export const SPENT_BY_END_USER = `SELECT value AS end_user, sum(charge_nano_usd)::bigint AS amount FROM usage_by_label
  WHERE account_id = $1 AND dimension = $2 AND day >= ${THIS_MONTH} AND value <> '' GROUP BY value`;

/** Of an account: itself first, then projects, end users, members and keys. */
export async function listBudgets(database: Queryable, accountId: string): Promise<Budget[]> {
  return database.query({
    // Where there are none, usage is not read.
    text: `WITH watched AS (
             SELECT $1::text AS account_id, ${THIS_MONTH} AS month WHERE EXISTS (SELECT FROM ${BUDGETS} AS budget WHERE account_id = $1)
           ), ${SPENT}
           SELECT budget.id, scope, key_id AS "keyId", budget.person_id AS "personId",
             budget.project_id AS "projectId", coalesce(api_key.name, project.name, email, end_user) AS covers,
             amount_nano_usd AS "amountNanoUsd", coalesce(of_end_user.amount, spent.amount) AS "spentNanoUsd",
             ARRAY(SELECT percent::integer FROM ${ALERTS} AS alert WHERE budget_id = budget.id AND month = ${THIS_MONTH} ORDER BY percent) AS reached
           FROM ${BUDGETS} AS budget JOIN spent ON budget_id = budget.id
           LEFT JOIN api_key ON public_id = key_id LEFT JOIN person ON person.id = budget.person_id
           LEFT JOIN project ON project.id = budget.project_id
           LEFT JOIN LATERAL (${SPENT_BY_END_USER} ORDER BY amount DESC, end_user LIMIT 1) AS of_end_user ON scope = 'end_user'
           WHERE budget.account_id = $1
           ORDER BY array_position(ARRAY['account', 'project', 'end_user', 'member', 'key'], scope), covers, budget.id`,
    values: [accountId, END_USER],
    row: budgetRow,
  });
}

/** @throws GatewayError `not_found` when the account has no such budget. */
export async function deleteBudget(database: Queryable, { accountId, id }: { accountId: string; id: string }): Promise<void> {
  const isId = z.uuid().safeParse(id).success;
  const values = [accountId, id];
  const deleted = isId
    ? (await database.execute("DELETE FROM budget WHERE account_id = $1 AND id = $2", values)) +
      (await database.execute("DELETE FROM project_budget WHERE account_id = $1 AND id = $2", values)) +
      (await database.execute("DELETE FROM end_user_budget WHERE account_id = $1 AND id = $2", values))
    : 0;
  if (deleted === 0) throw new GatewayError("not_found", "This account has no such budget.");
}
