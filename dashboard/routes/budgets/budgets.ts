import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { deleteBudget, listBudgets } from "../../../ledger/budgets/budgets.ts";
import { setBudget } from "../../../ledger/budgets/set-budget.ts";
import { listKeyNames } from "../../../ledger/keys/key-list.ts";
import { readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { listMembers } from "../../../ledger/people/members.ts";
import { listProjectNames } from "../../../ledger/projects/project-list.ts";
import { listDeliveries, queueEvent } from "../../../ledger/webhooks/deliveries.ts";
import { findWebhook, removeWebhook, setWebhook } from "../../../ledger/webhooks/webhooks.ts";
import type { AppDeps } from "../../app-deps.ts";
import { budgetForm } from "../../budgets/budget-form.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { showUsd } from "../../money.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { BUDGETS_PATH, budgetsPage, confirmBudgetPage } from "../../views/budgets/budgets.ts";
import { confirmWebhookPage, webhookSecretDialog } from "../../views/budgets/webhook.ts";
import { checkWebhookUrl } from "../../webhooks/target.ts";

type BudgetRequest = FastifyRequest<{ Params: { id: string } }>;
const SHOWN_DELIVERIES = 10;

/** Budgets of the account, and their webhook. */
export function budgetRoutes(app: FastifyInstance, { database, pepper, webhookNetworks = "public" }: AppDeps): void {
  async function render(visitor: Member, forms: { budget?: FormState; webhook?: FormState } = {}, dialog = ""): Promise<string> {
    const { accountId } = visitor.membership;
    const [budgets, projects, keys, members, labels, webhook, deliveries] = await Promise.all([
      listBudgets(database, accountId),
      listProjectNames(database, accountId),
      listKeyNames(database, accountId),
      listMembers(database, accountId),
      readAccountLabels(database, accountId),
      findWebhook(database, accountId),
      listDeliveries(database, { accountId, limit: SHOWN_DELIVERIES }),
    ]);
    return budgetsPage({
      visitor,
      budgets,
      projects,
      keys,
      members,
      keepsEndUsers: labels.keeping === "kept",
      webhook: { webhook, deliveries, form: forms.webhook ?? EMPTY_FORM },
      form: forms.budget ?? EMPTY_FORM,
      dialog,
    });
  }

  app.get(BUDGETS_PATH, async (request, reply) => {
    const budget = { ...EMPTY_FORM, values: { covered: readQuery(request, "covered") } };
    return sendPage(reply, await render(memberOf(request), { budget }));
  });

  app.post(BUDGETS_PATH, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const budget = await submitForm(values, async () => {
      const { covered, amount } = budgetForm.parse(values);
      await database.transaction(async (transaction) => {
        const id = await setBudget(transaction, { accountId, amountNanoUsd: amount, ...covered });
        const subject = `${showUsd(amount)} a month: ${id}`;
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "account.budget_set", subject });
      });
    });
    if (budget !== undefined) return refuseForm(reply, await render(visitor, { budget }), { form: budget });
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
      await deleteBudget(transaction, { accountId, id });
      await noteAction(transaction, { accountId, personId: visitor.person.id, action: "account.budget_deleted", subject: id });
    });
    return goTo(reply, BUDGETS_PATH, "Budget deleted.");
  });

  app.post(`${BUDGETS_PATH}/webhook`, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    checkFresh(visitor, BUDGETS_PATH);
    const { accountId } = visitor.membership;
    const values = readForm(request);
    let secret = "";
    const webhook = await submitForm(values, async () => {
      const url = checkWebhookUrl(values["url"] ?? "", webhookNetworks);
      await database.transaction(async (transaction) => {
        ({ secret } = await setWebhook(transaction, { accountId, url, pepper }));
        const subject = new URL(url).origin;
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "account.webhook_set", subject });
      });
    });
    if (webhook !== undefined) return refuseForm(reply, await render(visitor, { webhook }), { form: webhook });
    return sendPage(reply, await render(visitor, {}, webhookSecretDialog(secret)));
  });

  app.post(`${BUDGETS_PATH}/webhook/test`, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { accountId } = visitor.membership;
    const isQueued = await database.transaction(async (transaction) => {
      await admitChange(transaction, "webhook", accountId);
      const event = { accountId, type: "webhook.test", at: new Date(), data: { account_id: accountId } };
      if (!(await queueEvent(transaction, event))) return false;
      const personId = visitor.person.id;
      await noteAction(transaction, { accountId, personId, action: "account.webhook_tested", subject: accountId });
      return true;
    });
    return goTo(reply, `${BUDGETS_PATH}#webhook`, isQueued ? "Test event queued." : "Save a webhook first.");
  });

  app.get(`${BUDGETS_PATH}/webhook/remove`, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const webhook = await findWebhook(database, visitor.membership.accountId);
    if (webhook === undefined) return goTo(reply, `${BUDGETS_PATH}#webhook`, "This account has no webhook.");
    return sendPage(reply, confirmWebhookPage({ visitor, webhook }));
  });

  app.post(`${BUDGETS_PATH}/webhook/remove`, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { accountId } = visitor.membership;
    await database.transaction(async (transaction) => {
      const isRemoved = await removeWebhook(transaction, accountId);
      const action = "account.webhook_removed" as const;
      if (isRemoved) await noteAction(transaction, { accountId, personId: visitor.person.id, action, subject: accountId });
    });
    return goTo(reply, `${BUDGETS_PATH}#webhook`, "Webhook removed.");
  });
}
