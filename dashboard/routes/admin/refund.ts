import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Account } from "../../../ledger/accounts/accounts.ts";
import { refundRequestIn } from "../../../ledger/credit/refunds.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { refundForm } from "./admin-form.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { adminRefundPage } from "../../views/admin/refund.ts";
import { accountOf, type AccountRequest } from "./account-of.ts";

const PATH = "/dashboard/admin/accounts/:accountId/refund";

/** Refunds the charge of a request, or a part of it. */
export function adminRefundRoutes(app: FastifyInstance, { database }: AppDeps): void {
  const render = (visitor: Member, account: Account, form: FormState) =>
    adminRefundPage({ visitor, account, form, attemptId: form.values["attempt"] ?? randomUUID() });

  app.get(PATH, async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    return sendPage(reply, render(visitor, await accountOf(database, request), EMPTY_FORM));
  });

  app.post(PATH, async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    const account = await accountOf(database, request);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      const { requestId, amount, reason, attempt } = refundForm.parse(values);
      await database.transaction(async (transaction) => {
        const { isNew } = await refundRequestIn(transaction, {
          accountId: account.id,
          requestId,
          reference: `admin:${attempt}`,
          note: reason,
          ...(amount === null ? {} : { amountNanoUsd: amount }),
        });
        const subject = `${requestId}: ${reason}`;
        if (isNew)
          await noteAction(transaction, {
            accountId: account.id,
            personId: visitor.person.id,
            action: "credit.refunded",
            subject,
          });
      });
    });
    if (form !== undefined) return sendPage(reply, render(visitor, account, nameAmount(form)), 400);
    return goTo(reply, `/dashboard/admin/accounts/${account.id}`, "Request refunded.");
  });
}

/** The form's name for the ledger's amountNanoUsd. */
function nameAmount({ problems, ...form }: FormState): FormState {
  const { amountNanoUsd, ...others } = problems;
  return { ...form, problems: amountNanoUsd === undefined ? others : { ...others, amount: amountNanoUsd } };
}
