import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import { findAccount } from "../../../ledger/accounts/accounts.ts";
import { readBillingDetails, setBillingDetails } from "../../../ledger/billing/billing-details.ts";
import { monthOf, monthsDown, monthSchema } from "../../../ledger/billing/month.ts";
import { listPaidPayments } from "../../../ledger/payments/payments.ts";
import { findSavedCard } from "../../../ledger/payments/saved-cards.ts";
import type { AppDeps } from "../../app-deps.ts";
import { parseBillingDetails } from "../../billing/details-form.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { allowFormsTo } from "../../http/security-headers.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { billingPage } from "../../views/billing/billing.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const PAYMENTS = 20;
const MONTHS = 12;
const PATH = "/dashboard/billing";

const querySchema = z.object({
  /** Id of the last payment on the previous page. */
  before: z.uuid().optional().catch(undefined),
  /** The newest month to list. */
  until: monthSchema.optional().catch(undefined),
});

/** The payer, the payment method, and their documents. */
export function billingRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, payments } = deps;

  async function render(
    visitor: Member,
    form: FormState,
    { before: beforeId, until }: z.infer<typeof querySchema> = {},
  ): Promise<string> {
    const { accountId } = visitor.membership;
    const [details, card, found, account] = await Promise.all([
      readBillingDetails(database, accountId),
      payments === undefined ? undefined : findSavedCard(database, { accountId, provider: payments.name }),
      listPaidPayments(database, { accountId, limit: PAYMENTS + 1, beforeId }),
      findAccount(database, accountId),
    ]);
    const thisMonth = monthOf(Date.now());
    const oldest = account === undefined ? thisMonth : monthOf(account.createdAt.getTime());
    const newest = until !== undefined && until < thisMonth ? until : thisMonth;
    // One more than shown, to find out whether there is another page.
    const months = monthsDown(newest, oldest, MONTHS + 1);
    const { page: paid, next: nextPayment } = cutPage(found, PAYMENTS, ({ id }) => id);
    return billingPage({
      visitor,
      form,
      details,
      payment: payments === undefined ? null : { card },
      months: months.slice(0, MONTHS),
      nextMonth: months[MONTHS] ?? null,
      payments: paid,
      nextPayment,
    });
  }

  function answer(reply: FastifyReply, page: string, status = 200): FastifyReply {
    allowFormsTo(reply, payments?.checkoutOrigin ?? null);
    return sendPage(reply, page, status);
  }

  app.get(PATH, async (request, reply) =>
    answer(reply, await render(memberOf(request), EMPTY_FORM, querySchema.parse(request.query ?? {}))),
  );

  app.post(PATH, async (request, reply) => {
    const visitor = memberOf(request, "setBilling");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const details = await parseBillingDetails(values);
      await setBillingDetails(database, { accountId, personId: visitor.person.id }, details);
    });
    if (failed !== undefined) return answer(reply, await render(visitor, failed), 400);
    return goTo(reply, PATH, "Billing details saved.");
  });
}
