import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { END_USER } from "../../contract/labels.ts";
import { readAccountLabels } from "../labels/account-labels.ts";
import type { Actor } from "../people/actor.ts";
import { admitChange } from "../people/audit.ts";
import type { Queryable } from "../postgres/database.ts";
import { BUDGETS, SPENT, SPENT_BY_END_USER, THIS_MONTH, type BudgetScope } from "./budgets.ts";

/**
 * Sets the budget of an account, a project, a key or a member, each of which has at most one, or that of each end user.
 * @returns the budget's id.
 * @throws GatewayError `not_found` for a project, a key or a member that the account does not have; `invalid_request` for too many,
 * and for end users if the account does not keep them; `rate_limited` for too many changes in a day.
 */
export async function setBudget(
  transaction: Queryable,
  actor: Actor,
  { amountNanoUsd, ...covered }: BudgetScope & { amountNanoUsd: bigint },
): Promise<string> {
  const { accountId } = actor;
  const keyId = covered.scope === "key" ? covered.keyId : null;
  const personId = covered.scope === "member" ? covered.personId : null;
  await admitChange(transaction, "budget", actor, "setLimits");
  await checkCovered(transaction, { accountId, keyId, personId });
  const row = await upsert(transaction, covered, { accountId, amountNanoUsd, keyId, personId });
  if (row.others >= ACCOUNT_BOUNDS.budgets)
    throw new GatewayError("invalid_request", `An account can have at most ${ACCOUNT_BOUNDS.budgets} budgets. Delete one first.`);
  await forgetUnreached(transaction, { id: row.id, accountId, scope: covered.scope });
  return row.id;
}

/** After a budget is raised, thresholds that are no longer reached are reported again when they are. */
async function forgetUnreached(
  transaction: Queryable,
  { id, accountId, scope }: { id: string; accountId: string; scope: BudgetScope["scope"] },
): Promise<void> {
  if (scope === "end_user") {
    await transaction.execute(
      `DELETE FROM end_user_budget_alert AS alert USING end_user_budget AS budget, (${SPENT_BY_END_USER}) AS spent
       WHERE budget.id = $3 AND budget_id = $3 AND month = ${THIS_MONTH} AND spent.end_user = alert.end_user
         AND spent.amount * 100::numeric < budget.amount_nano_usd * percent::numeric`,
      [accountId, END_USER, id],
    );
    return;
  }
  await transaction.execute(
    `WITH watched AS (SELECT $2::text AS account_id, ${THIS_MONTH} AS month), ${SPENT}
     DELETE FROM ${scope === "project" ? "project_budget_alert" : "budget_alert"} AS alert USING ${BUDGETS} AS budget, spent
     WHERE alert.budget_id = budget.id AND spent.budget_id = budget.id
       AND budget.id = $1 AND alert.month = spent.month AND spent.amount * 100::numeric < budget.amount_nano_usd * percent::numeric`,
    [id, accountId],
  );
}

/** As SQL: how many further budgets the account $2 has. @param table of the one that is set. */
function othersThan(table: string): string {
  return `(SELECT count(*)::integer FROM ${BUDGETS} AS each WHERE each.account_id = $2 AND each.id <> ${table}.id) AS others`;
}
const setRow = z.strictObject({ id: z.string(), others: z.int() });
type SetRow = z.infer<typeof setRow>;

async function upsert(
  transaction: Queryable,
  covered: BudgetScope,
  budget: { accountId: string; amountNanoUsd: bigint; keyId: string | null; personId: string | null },
): Promise<SetRow> {
  const { accountId, amountNanoUsd, keyId, personId } = budget;
  if (covered.scope === "project") return upsertProjectBudget(transaction, { ...budget, projectId: covered.projectId });
  if (covered.scope === "end_user") return upsertEndUserBudget(transaction, budget);
  const [row] = await transaction.query({
    text: `INSERT INTO budget (id, account_id, scope, key_id, person_id, amount_nano_usd) VALUES ($1, $2, $3, $4, $5, $6)
           ON CONFLICT (account_id, scope, key_id, person_id) DO UPDATE SET amount_nano_usd = excluded.amount_nano_usd, set_at = now()
           RETURNING id, ${othersThan("budget")}`,
    values: [uuidv7(), accountId, covered.scope, keyId, personId, amountNanoUsd],
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
           ON CONFLICT (project_id) DO UPDATE SET amount_nano_usd = excluded.amount_nano_usd, set_at = now()
           RETURNING id, ${othersThan("project_budget")}`,
    values: [uuidv7(), accountId, projectId, amountNanoUsd],
    row: setRow,
  });
  if (row === undefined) throw new GatewayError("not_found", "This account has no such project.");
  return row;
}

/** @throws GatewayError `invalid_request` if the account does not keep end users. */
async function upsertEndUserBudget(
  transaction: Queryable,
  { accountId, amountNanoUsd }: { accountId: string; amountNanoUsd: bigint },
): Promise<SetRow> {
  const { keeping } = await readAccountLabels(transaction, accountId);
  if (keeping !== "kept")
    throw new GatewayError(
      "invalid_request",
      "This account keeps no end users. An owner can turn on tags and end users in Settings.",
    );
  const [row] = await transaction.query({
    text: `INSERT INTO end_user_budget (id, account_id, amount_nano_usd) VALUES ($1, $2, $3)
           ON CONFLICT (account_id) DO UPDATE SET amount_nano_usd = excluded.amount_nano_usd, set_at = now()
           RETURNING id, ${othersThan("end_user_budget")}`,
    values: [uuidv7(), accountId, amountNanoUsd],
    row: setRow,
  });
  if (row === undefined) throw new Error("a budget was neither made nor changed");
  return row;
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
