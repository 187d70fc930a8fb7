import type { FastifyInstance } from "fastify";
import { turnOffAutoTopUp, turnOnAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { findSavedCard } from "../../../ledger/payments/saved-cards.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, readQuery, submitForm } from "../../http/form.ts";
import { showUsd } from "../../money.ts";
import { parseAutoTopUpForm } from "../../payments/auto-top-up-form.ts";
import type { PaymentProvider } from "../../payments/provider.ts";
import { removeCard } from "../../payments/remove-card.ts";
import { goTo, sendPage, turnAway } from "../../http/reply.ts";
import { allowFormsTo } from "../../http/security-headers.ts";
import { memberOf } from "../../session/guard.ts";
import { checkFresh } from "../../session/fresh.ts";
import { checkEmailProved, checkNotSuspended } from "../../session/requirements.ts";
import { confirmCardPage } from "../../views/credit/auto-top-up.ts";
import { renderCreditPage } from "./page.ts";

export function autoTopUpRoutes(app: FastifyInstance, deps: AppDeps, provider: PaymentProvider): void {
  const { database } = deps;

  async function cardCheckout(accountId: string): Promise<string> {
    const card = await findSavedCard(database, { accountId, provider: provider.name });
    return provider.openCardCheckout({ accountId, customerId: card?.customerId });
  }

  app.post("/dashboard/credit/auto-top-up", async (request, reply) => {
    const visitor = memberOf(request, "manageCard");
    checkNotSuspended(visitor);
    checkEmailProved(visitor);
    checkFresh(visitor, "/dashboard/credit");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const terms = parseAutoTopUpForm(values);
      const { belowNanoUsd, amountNanoUsd, monthlyNanoUsd } = terms;
      const subject = `${showUsd(amountNanoUsd)} below ${showUsd(belowNanoUsd)}, ${showUsd(monthlyNanoUsd)} a month`;
      await database.transaction(async (transaction) => {
        await admitChange(transaction, "settings", { accountId, personId: visitor.person.id }, "manageCard");
        await turnOnAutoTopUp(transaction, accountId, terms);
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "credit.auto_top_up_on", subject });
      });
    });
    if (failed !== undefined) {
      allowFormsTo(reply, provider.checkoutOrigin);
      return sendPage(reply, await renderCreditPage(deps, visitor, { form: failed }), 400);
    }
    const hasCard = (await findSavedCard(database, { accountId, provider: provider.name })) !== undefined;
    return hasCard ? goTo(reply, "/dashboard/credit", "Automatic top-up is on.") : goTo(reply, await cardCheckout(accountId));
  });

  app.post("/dashboard/credit/auto-top-up/off", async (request, reply) => {
    const visitor = memberOf(request, "manageCard");
    const { accountId } = visitor.membership;
    const actor = { accountId, personId: visitor.person.id };
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, actor, "manageCard");
      if (await turnOffAutoTopUp(transaction, accountId))
        await noteAction(transaction, { ...actor, action: "credit.auto_top_up_off", subject: "by hand" });
    });
    return goTo(reply, "/dashboard/credit", "Automatic top-up is off.");
  });

  app.post("/dashboard/credit/auto-top-up/card", async (request, reply) => {
    const visitor = memberOf(request, "manageCard");
    checkFresh(visitor, "/dashboard/credit");
    const { accountId } = visitor.membership;
    checkNotSuspended(visitor);
    checkEmailProved(visitor);
    // Before the provider is asked: other changes of the account do not wait for its answer.
    await database.transaction(async (transaction) => {
      await admitChange(transaction, "settings", { accountId, personId: visitor.person.id }, "manageCard");
      const { name: subject } = provider;
      await noteAction(transaction, { accountId, personId: visitor.person.id, action: "credit.card_asked_for", subject });
    });
    return goTo(reply, await cardCheckout(accountId));
  });

  app.get("/dashboard/credit/auto-top-up/card/remove", async (request, reply) => {
    const visitor = memberOf(request, "manageCard");
    checkFresh(visitor, "/dashboard/credit");
    const isFromBilling = readQuery(request, "page") === "billing";
    const card = await findSavedCard(database, { accountId: visitor.membership.accountId, provider: provider.name });
    if (card === undefined)
      return turnAway(reply, isFromBilling ? "/dashboard/billing" : "/dashboard/credit", "No card is saved.");
    return sendPage(reply, confirmCardPage({ visitor, card, isFromBilling }));
  });

  app.post("/dashboard/credit/auto-top-up/card/remove", async (request, reply) => {
    const visitor = memberOf(request, "manageCard");
    checkFresh(visitor, "/dashboard/credit");
    await removeCard(database, provider, { accountId: visitor.membership.accountId, personId: visitor.person.id });
    const isFromBilling = readForm(request)["page"] === "billing";
    return goTo(reply, isFromBilling ? "/dashboard/billing" : "/dashboard/credit", "Card removed.");
  });
}
