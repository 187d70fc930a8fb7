import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { admitChange } from "../people/audit.ts";
import type { Queryable } from "../postgres/database.ts";

/** The scope of a budget. */
export type BudgetScope =
  | { scope: "account" }
  | { scope: "project"; projectId: string }
  | { scope: "key"; keyId: string }
  | { scope: "member"; personId: string };

export const BUDGET_SCOPES = ["account", "project", "key", "member"] as const satisfies readonly BudgetScope["scope"][];

export interface Budget {
  id: string;
  scope: BudgetScope["scope"];
  keyId: string | null;
  personId: string | null;
  projectId: string | null;
  /** The name of the key or project, or the member's email address; null: the account. */
  covers: string | null;
  amountNanoUsd: bigint;
  /** In the running UTC month. */
  spentNanoUsd: bigint;
  /** Thresholds that this month's spend has reached, in percent. */
  reached: number[];
}

const budgetRow = z.strictObject({
  id: z.string(),
  scope: z.enum(BUDGET_SCOPES),
  keyId: z.string().nullable(),
  personId: z.string().nullable(),
  projectId: z.string().nullable(),
  covers: z.string().nullable(),
  amountNanoUsd: z.bigint(),
  spentNanoUsd: z.bigint(),
  reached: z.array(z.int()),
});

/** As SQL: the budgets of all scopes, and their alerts. Those of projects have tables of their own (docs/decisions/0070). */
export const BUDGETS = `(
    SELECT id, account_id, scope, key_id, person_id, NULL::uuid AS project_id, amount_nano_usd FROM budget
    UNION ALL SELECT id, account_id, 'project', NULL, NULL, project_id, amount_nano_usd FROM project_budget
  )`;
const ALERTS = `(
    SELECT budget_id, month, percent FROM budget_alert UNION ALL SELECT budget_id, month, percent FROM project_budget_alert
  )`;

/** As SQL: the first day of the running UTC month. */
export const THIS_MONTH = "date_trunc('month', now() AT TIME ZONE 'UTC')::date";

/**
 * As SQL: the steps from accounts in `watched (account_id)` to `spent (budget_id, amount)`, what counts against each of their
 * budgets this month, from rollups. Usage is summed by key once, for an account has up to a hundred budgets and its usage of a month
 * hundreds of thousands of rows.
 */
export const SPENT_THIS_MONTH = `used AS MATERIALIZED (
    SELECT account_id, key_id, sum(charge_nano_usd) AS amount FROM watched JOIN usage_by_day USING (account_id)
    WHERE day >= ${THIS_MONTH} GROUP BY account_id, key_id
  ), of_account AS (
    SELECT account_id, sum(amount) AS amount FROM used GROUP BY account_id
  ), of_member AS (
    SELECT account_id, creator AS person_id, sum(amount) AS amount FROM (
      SELECT DISTINCT used.account_id, key_id, creator, amount FROM used
      JOIN audit_entry ON subject = key_id AND action = 'key.created'
      LEFT JOIN management_token ON management_token.id = token_id
      CROSS JOIN unnest(ARRAY[audit_entry.person_id, created_by]) AS creator WHERE creator IS NOT NULL
    ) AS created GROUP BY account_id, creator
  ), of_project AS (
    SELECT project_id, sum(amount) AS amount FROM used JOIN project_key ON public_id = key_id GROUP BY project_id
  ), spent AS (
    SELECT budget.id AS budget_id,
      coalesce(CASE scope WHEN 'account' THEN of_account.amount WHEN 'project' THEN of_project.amount WHEN 'key' THEN used.amount
        ELSE of_member.amount END, 0)::bigint AS amount
    FROM watched JOIN ${BUDGETS} AS budget USING (account_id) LEFT JOIN of_account USING (account_id)
    LEFT JOIN of_project ON of_project.project_id = budget.project_id
    LEFT JOIN used ON used.account_id = budget.account_id AND used.key_id = budget.key_id
    LEFT JOIN of_member ON of_member.account_id = budget.account_id AND of_member.person_id = budget.person_id
  )`;

/** Of an account: itself first, then projects, members and keys. */
export async function listBudgets(database: Queryable, accountId: string): Promise<Budget[]> {
  return database.query({
    text: `WITH watched AS (SELECT $1::text AS account_id), ${SPENT_THIS_MONTH}
           SELECT budget.id, scope, key_id AS "keyId", budget.person_id AS "personId",
             budget.project_id AS "projectId", coalesce(api_key.name, project.name, email) AS covers,
             amount_nano_usd AS "amountNanoUsd", spent.amount AS "spentNanoUsd",
             ARRAY(SELECT percent::integer FROM ${ALERTS} AS alert WHERE budget_id = budget.id AND month = ${THIS_MONTH} ORDER BY percent) AS reached
           FROM ${BUDGETS} AS budget JOIN spent ON budget_id = budget.id
           LEFT JOIN api_key ON public_id = key_id LEFT JOIN person ON person.id = budget.person_id
           LEFT JOIN project ON project.id = budget.project_id
           WHERE budget.account_id = $1 ORDER BY array_position(ARRAY['account', 'project', 'member', 'key'], scope), covers, budget.id`,
    values: [accountId],
    row: budgetRow,
  });
}

/**
 * Sets the budget of an account, a project, a key or a member; each has at most one.
 * @returns the budget's id.
 * @throws GatewayError `not_found` for a project, a key or a member that the account does not have; `invalid_request` for too many;
 * `rate_limited` for too many changes in a day.
 */
export async function setBudget(
  transaction: Queryable,
  { accountId, amountNanoUsd, ...covered }: BudgetScope & { accountId: string; amountNanoUsd: bigint },
): Promise<string> {
  const keyId = covered.scope === "key" ? covered.keyId : null;
  const personId = covered.scope === "member" ? covered.personId : null;
  // One at a time: concurrent calls would all find room.
  await transaction.execute("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  await admitChange(transaction, "budget", accountId);
  await checkCovered(transaction, { accountId, keyId, personId });
  const projectId = covered.scope === "project" ? covered.projectId : null;
  const row = await (projectId === null
    ? upsertBudget(transaction, { accountId, amountNanoUsd, scope: covered.scope, keyId, personId })
    : upsertProjectBudget(transaction, { accountId, amountNanoUsd, projectId }));
  if (row.before >= ACCOUNT_BOUNDS.budgets)
    throw new GatewayError("invalid_request", `An account has at most ${ACCOUNT_BOUNDS.budgets} budgets. Delete one first.`);
  // After a budget is raised, thresholds that are no longer reached are reported again when they are.
  await transaction.execute(
    `WITH watched AS (SELECT $2::text AS account_id), ${SPENT_THIS_MONTH}
     DELETE FROM ${projectId === null ? "budget_alert" : "project_budget_alert"} AS alert USING ${BUDGETS} AS budget, spent
     WHERE alert.budget_id = budget.id AND spent.budget_id = budget.id
       AND budget.id = $1 AND month = ${THIS_MONTH} AND spent.amount * 100::numeric < budget.amount_nano_usd * percent::numeric`,
    [row.id, accountId],
  );
  return row.id;
}

/** As SQL: how many budgets the account $2 has before the statement. */
const COUNT = `(SELECT count(*)::integer FROM ${BUDGETS} AS each WHERE each.account_id = $2) AS before`;
const setRow = z.strictObject({ id: z.string(), before: z.int() });
type SetRow = z.infer<typeof setRow>;

async function upsertBudget(
  transaction: Queryable,
  budget: { accountId: string; amountNanoUsd: bigint; scope: string; keyId: string | null; personId: string | null },
): Promise<SetRow> {
  const { accountId, amountNanoUsd, scope, keyId, personId } = budget;
  const [row] = await transaction.query({
    text: `INSERT INTO budget (id, account_id, scope, key_id, person_id, amount_nano_usd) VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (account_id, scope, key_id, person_id) DO UPDATE SET amount_nano_usd = excluded.amount_nano_usd
           RETURNING id, ${COUNT}`,
    values: [uuidv7(), accountId, scope, keyId, personId, amountNanoUsd],
    row: setRow,
  });
  if (row === undefined) throw new Error("a budget was neither made nor changed");
  return row;
}

/** @throws GatewayError `not_found` for a project that the account does not have, or that was deleted. */
async function upsertProjectBudget(
  transaction: Queryable,
  { accountId, amountNanoUsd, projectId }: { accountId: string; amountNanoUsd: bigint; projectId: string },
): Promise<SetRow> {
  const [row] = await transaction.query({
    text: `INSERT INTO project_budget (id, account_id, project_id, amount_nano_usd)
           SELECT $1, account_id, id, $4 FROM project WHERE account_id = $2 AND id = $3 AND deleted_at IS NULL
           ON CONFLICT (project_id) DO UPDATE SET amount_nano_usd = excluded.amount_nano_usd
           RETURNING id, ${COUNT}`,
    values: [uuidv7(), accountId, projectId, amountNanoUsd],
    row: setRow,
  });
  if (row === undefined) throw new GatewayError("not_found", "This account has no such project.");
  return row;
}

/** @throws GatewayError `not_found` when the account has no such budget. */
export async function deleteBudget(database: Queryable, { accountId, id }: { accountId: string; id: string }): Promise<void> {
  const isId = z.uuid().safeParse(id).success;
  const values = [accountId, id];
  const deleted = isId
    ? (await database.execute("DELETE FROM budget WHERE account_id = $1 AND id = $2", values)) +
      (await database.execute("DELETE FROM project_budget WHERE account_id = $1 AND id = $2", values))
    : 0;
  if (deleted === 0) throw new GatewayError("not_found", "This account has no such budget.");
}

async function checkCovered(
  transaction: Queryable,
  { accountId, keyId, personId }: { accountId: string; keyId: string | null; personId: string | null },
): Promise<void> {
  const [known] = await transaction.query({
    text: `SELECT EXISTS (SELECT FROM api_key WHERE account_id = $1 AND public_id = $2 AND revoked_at IS NULL) AS "hasKey",
             EXISTS (SELECT FROM member WHERE account_id = $1 AND person_id = $3) AS "hasMember"`,
    values: [accountId, keyId, personId],
    row: z.strictObject({ hasKey: z.boolean(), hasMember: z.boolean() }),
  });
  if (keyId !== null && known?.hasKey !== true) throw new GatewayError("not_found", "This account has no such key.");
  if (personId !== null && known?.hasMember !== true) throw new GatewayError("not_found", "This account has no such member.");
}
