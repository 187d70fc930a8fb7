import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { BUDGET_SCOPES, deleteBudget, listBudgets, type Budget, type BudgetScope } from "../../../ledger/budgets/budgets.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import type { AppDeps } from "../../app-deps.ts";
import { budgetAmount } from "../../budgets/budget-form.ts";
import { showUsd } from "../../money.ts";
import { callerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { orOther } from "../schemas/or-other.ts";
import { keyId, projectId, showMoney, usd } from "../schemas/values.ts";

const tags = ["Budgets"];
const scope = z.enum(BUDGET_SCOPES, "Must be account, project, key, member or end_user.");
const budget = z
  .object({
    id: z.string(),
    scope: orOther(BUDGET_SCOPES),
    key_id: keyId.nullable(),
    member_id: z.string().nullable(),
    project_id: z.string().nullable(),
    amount: usd.meta({ description: "Of a UTC month" }),
    spent_this_month: usd.meta({ description: "For the scope end_user, of the end user that spent most" }),
    thresholds_reached: z.array(z.int()).meta({ description: "In percent: 50, 80, 100. For the scope end_user, by any of them" }),
  })
  .meta({ id: "Budget" });
const wanted = z
  .strictObject({
    scope,
    key_id: keyId.optional(),
    member_id: z.uuid("Must be the ID of a member.").optional(),
    project_id: projectId.optional(),
    amount: z.string('Enter an amount in USD, such as "100.00".'),
  })
  .meta({ description: "`project_id`, `key_id` or `member_id` with the scope of that name" });
const params = z.object({ id: z.uuid("Must be the ID of a budget.") });
const noContent = { 204: z.null().meta({ description: "Done." }), ...failures };

export function budgetApi(api: Api, { database }: AppDeps): void {
  async function show(queryable: Queryable, accountId: string, id: string): Promise<z.infer<typeof budget>> {
    const found = (await listBudgets(queryable, accountId)).find((each) => each.id === id);
    if (found === undefined) throw new GatewayError("not_found", "This account has no such budget.");
    return showBudget(found);
  }

  api.get(
    "/budgets",
    { schema: { tags, summary: "List budgets", response: { 200: z.object({ data: z.array(budget) }), ...failures } } },
    async (request) => ({ data: (await listBudgets(database, callerOf(request).accountId)).map(showBudget) }),
  );

  api.put(
    "/budgets",
    {
      schema: {
        tags,
        summary: "Set the budget of the account, a project, a key, a member or each end user",
        description:
          "Replaces the budget of the same scope. Budgets alert and never stop requests. The scope end_user requires that the account keeps tags and end users. Requires the owner role.",
        body: wanted,
        response: { 200: budget, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "setLimits");
      const { accountId } = caller;
      const covered = readScope(request.body);
      const amountNanoUsd = readAmount(request.body.amount);
      return database.transaction(async (transaction) => {
        const id = await setBudget(transaction, caller, { amountNanoUsd, ...covered });
        const subject = `${showUsd(amountNanoUsd)} a month: ${id}`;
        await noteAction(transaction, { ...caller, action: "account.budget_set", subject });
        return show(transaction, accountId, id);
      });
    },
  );

  api.delete(
    "/budgets/:id",
    { schema: { tags, summary: "Delete a budget", description: "Requires the owner role.", params, response: noContent } },
    async (request, reply) => {
      const caller = callerOf(request, "setLimits");
      const { id } = request.params;
      await database.transaction(async (transaction) => {
        await lockForChange(transaction, caller, "setLimits");
        await deleteBudget(transaction, { accountId: caller.accountId, id });
        await noteAction(transaction, { ...caller, action: "account.budget_deleted", subject: id });
      });
      return reply.status(204).send(null);
    },
  );
}

function readScope(sent: z.infer<typeof wanted>): BudgetScope {
  const { scope, key_id: keyId, member_id: personId, project_id: projectId } = sent;
  const ids = [keyId, personId, projectId].filter((id) => id !== undefined);
  if ((scope === "account" || scope === "end_user") && ids.length === 0) return { scope };
  if (ids.length === 1) {
    if (scope === "project" && projectId !== undefined) return { scope, projectId };
    if (scope === "key" && keyId !== undefined) return { scope, keyId };
    if (scope === "member" && personId !== undefined) return { scope, personId };
  }
  throw new GatewayError(
    "invalid_request",
    "Send project_id with the scope project, key_id with the scope key, member_id with the scope member, and none of them otherwise.",
    { field: "scope" },
  );
}

function readAmount(text: string): bigint {
  const { data, error } = budgetAmount.safeParse(text);
  if (data === undefined)
    throw new GatewayError("invalid_request", error?.issues[0]?.message ?? "Enter an amount in USD.", { field: "amount" });
  return data;
}

function showBudget(kept: Budget): z.infer<typeof budget> {
  return {
    id: kept.id,
    scope: kept.scope,
    key_id: kept.keyId,
    member_id: kept.personId,
    project_id: kept.projectId,
    amount: showMoney(kept.amountNanoUsd),
    spent_this_month: showMoney(kept.spentNanoUsd),
    thresholds_reached: kept.reached,
  };
}
