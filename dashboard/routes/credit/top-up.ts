import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { admitTopUp, beginPayment, findPayment, listPayments } from "../../../ledger/payments/payments.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import type { PaymentProvider } from "../../payments/provider.ts";
import { parseTopUpForm } from "../../payments/top-up-form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { allowFormsTo } from "../../http/security-headers.ts";
import { memberOf } from "../../session/guard.ts";
import { checkEmailProved, checkNotSuspended } from "../../session/requirements.ts";
import type { Member } from "../../session/visitor.ts";
import { topUpPage } from "../../views/credit/top-up.ts";

const PAGE = 50;
const querySchema = z.object({ paid: z.string().optional().catch(undefined) });

export function topUpRoutes(app: FastifyInstance, { database }: AppDeps, provider: PaymentProvider): void {
  async function render(visitor: Member, form: FormState, isBack = false): Promise<string> {
    const { accountId } = visitor.membership;
    const payments = await listPayments(database, { accountId, limit: PAGE });
    // Read after the payments: it includes those that are listed as paid.
    const balanceNanoUsd = isBack ? (await readBalance(database, accountId)).postedNanoUsd : undefined;
    const isTest = provider.name === "test";
    return topUpPage({ visitor, form, payments, isTest, balanceNanoUsd, attemptId: form.values["attempt"] ?? randomUUID() });
  }

  app.get("/dashboard/credit/top-up", async (request, reply) => {
    const visitor = memberOf(request);
    allowFormsTo(reply, provider.checkoutOrigin);
    const { paid } = querySchema.parse(request.query ?? {});
    return sendPage(reply, await render(visitor, EMPTY_FORM, paid === "yes"));
  });

  app.post("/dashboard/credit/top-up", async (request, reply) => {
    const visitor = memberOf(request, "addCredit");
    checkNotSuspended(visitor);
    checkEmailProved(visitor);
    const { accountId } = visitor.membership;
    const actor = { accountId, personId: visitor.person.id };
    const values = readForm(request);
    let address = "";
    const failed = await submitForm(values, async () => {
      const { amountNanoUsd, attemptId } = parseTopUpForm(values);
      await admitTopUp(database, actor);
      const { providerPaymentId, url } = await provider.openCheckout({ accountId, amountNanoUsd, attemptId });
      const begun = { accountId, provider: provider.name, providerPaymentId, amountNanoUsd };
      await database.transaction(async (transaction) => {
        // Others may have begun while the provider answered, and the visitor may have lost access.
        await admitTopUp(transaction, actor);
        const known = await findPayment(transaction, begun);
        const { id: subject } = await beginPayment(transaction, begun);
        // The same form again begins nothing.
        if (known !== undefined) return;
        await noteAction(transaction, { ...actor, action: "credit.payment-begun", subject });
      });
      address = url;
    });
    if (failed === undefined) return goTo(reply, address);
    allowFormsTo(reply, provider.checkoutOrigin);
    return sendPage(reply, await render(visitor, failed), 400);
  });
}
