import type { FastifyInstance, FastifyReply } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { setAlertThreshold } from "../../../ledger/payments/balance-alerts.ts";
import { redeemCode } from "../../../ledger/credit/codes.ts";
import { parseNanoUsd } from "../../../ledger/money.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { typedAmount } from "../../http/typed-amount.ts";
import { showUsd } from "../../money.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { allowFormsTo } from "../../http/security-headers.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { renderCreditPage } from "./page.ts";

const querySchema = z.object({
  after: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt)
    .optional()
    .catch(undefined),
  card: z.string().optional().catch(undefined),
});

const alertForm = z.object({
  threshold: z.union(
    [
      z.literal("").transform(() => null),
      z
        .string()
        .overwrite(typedAmount)
        .regex(/^\d{1,6}(\.\d{1,2})?$/)
        .transform(parseNanoUsd)
        .refine((amount) => amount > 0n, "Enter an amount above zero, or leave it empty."),
    ],
    "Enter an amount in USD below 1,000,000, such as 5 or 2.50.",
  ),
});

export function creditRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, pepper, payments } = deps;

  app.get("/dashboard/credit", async (request, reply) => {
    const { after, card } = querySchema.parse(request.query ?? {});
    allowFormsTo(reply, payments?.checkoutOrigin ?? null);
    const view = { form: EMPTY_FORM, afterId: after, isCardSaved: card === "saved" };
    return sendPage(reply, await renderCreditPage(deps, memberOf(request), view));
  });

  async function refuse(visitor: Member, form: FormState, reply: FastifyReply): Promise<FastifyReply> {
    allowFormsTo(reply, payments?.checkoutOrigin ?? null);
    return sendPage(reply, await renderCreditPage(deps, visitor, { form }), 400);
  }

  app.post("/dashboard/credit/redeem", async (request, reply) => {
    const visitor = memberOf(request, "addCredit");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      if (!/\w/.test(values["code"] ?? "")) throw new GatewayError("invalid_request", "Enter a code.", { field: "code" });
      await redeemCode(database, { actor: { accountId, personId: visitor.person.id }, code: values["code"] ?? "", pepper });
    });
    if (failed !== undefined) return refuse(visitor, failed, reply);
    return goTo(reply, "/dashboard/credit", "Code redeemed.");
  });

  app.post("/dashboard/credit/alert", async (request, reply) => {
    const visitor = memberOf(request, "setAlert");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const { threshold } = alertForm.parse(values);
      const subject = threshold === null ? "off" : `below ${showUsd(threshold)}`;
      await database.transaction(async (transaction) => {
        await admitChange(transaction, "settings", { accountId, personId: visitor.person.id }, "setAlert");
        await setAlertThreshold(transaction, accountId, threshold);
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "credit.alert_changed", subject });
      });
    });
    if (failed !== undefined) return refuse(visitor, failed, reply);
    return goTo(reply, "/dashboard/credit", "Low-balance alert saved.");
  });
}
