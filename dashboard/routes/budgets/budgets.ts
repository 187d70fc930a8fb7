import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { deleteBudget, listBudgets } from "../../../ledger/budgets/budgets.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { listKeyNames } from "../../../ledger/keys/key-list.ts";
import { readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { listMembers } from "../../../ledger/people/members.ts";
import { listProjectNames } from "../../../ledger/projects/project-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { budgetForm } from "../../budgets/budget-form.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { showUsd } from "../../money.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { BUDGETS_PATH, budgetsPage, confirmBudgetPage } from "../../views/budgets/budgets.ts";

type BudgetRequest = FastifyRequest<{ Params: { id: string } }>;

/** Budgets of the account. */
export function budgetRoutes(app: FastifyInstance, { database }: AppDeps): void {
  async function render(visitor: Member, form: FormState = EMPTY_FORM): Promise<string> {
    const { accountId } = visitor.membership;
    const [budgets, projects, keys, members, labels] = await Promise.all([
      listBudgets(database, accountId),
      listProjectNames(database, accountId),
      listKeyNames(database, accountId),
      listMembers(database, accountId),
      readAccountLabels(database, accountId),
    ]);
    return budgetsPage({
      visitor,
      budgets,
      projects,
      keys,
      members,
      keepsEndUsers: labels.keeping === "kept",
      form,
    });
  }

  app.get(BUDGETS_PATH, async (request, reply) => {
    const budget = { ...EMPTY_FORM, values: { covered: readQuery(request, "covered") } };
    return sendPage(reply, await render(memberOf(request), budget));
  });

  app.post(BUDGETS_PATH, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const budget = await submitForm(values, async () => {
      const { covered, amount } = budgetForm.parse(values);
      await database.transaction(async (transaction) => {
        const actor = { accountId, personId: visitor.person.id };
        const id = await setBudget(transaction, actor, { amountNanoUsd: amount, ...covered });
        const subject = `${showUsd(amount)} a month: ${id}`;
        await noteAction(transaction, { ...actor, action: "account.budget_set", subject });
      });
    });
    if (budget !== undefined) return refuseForm(reply, await render(visitor, budget), { form: budget });
    return goTo(reply, BUDGETS_PATH, "Budget saved.");
  });

  app.get(`${BUDGETS_PATH}/:id/delete`, async (request: BudgetRequest, reply) => {
    const visitor = memberOf(request, "setLimits");
    const budgets = await listBudgets(database, visitor.membership.accountId);
    const budget = budgets.find(({ id }) => id === request.params.id);
    if (budget === undefined) throw new GatewayError("not_found", "This account has no such budget.");
    return sendPage(reply, confirmBudgetPage({ visitor, budget }));
  });

  app.post(`${BUDGETS_PATH}/:id/delete`, async (request: BudgetRequest, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { accountId } = visitor.membership;
    const { id } = request.params;
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, { accountId, personId: visitor.person.id }, "setLimits");
      await deleteBudget(transaction, { accountId, id });
      await noteAction(transaction, { accountId, personId: visitor.person.id, action: "account.budget_deleted", subject: id });
    });
    return goTo(reply, BUDGETS_PATH, "Budget deleted.");
  });
}
