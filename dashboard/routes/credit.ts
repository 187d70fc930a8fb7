import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { readBalance } from "../../ledger/accounts.ts";
import { readAlertThreshold, setAlertThreshold } from "../../ledger/balance-alerts.ts";
import { redeemCode } from "../../ledger/codes.ts";
import { listEntries } from "../../ledger/entry-list.ts";
import { parseNanoUsd } from "../../ledger/money.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import type { AppDeps } from "../app.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../form.ts";
import { showUsd } from "../money.ts";
import { goTo, sendPage } from "../reply.ts";
import { memberOf } from "../session/guard.ts";
import type { Member } from "../session/visitor.ts";
import { creditPage } from "../views/credit.ts";

const PAGE = 50;
const querySchema = z.object({
  after: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt)
    .optional()
    .catch(undefined),
});

const alertForm = z.object({
  threshold: z.union([
    z.literal("").transform(() => null),
    z
      .string()
      .regex(/^\d{1,6}(\.\d{1,2})?$/, "Write an amount in USD such as 5 or 2.50.")
      .transform(parseNanoUsd)
      .refine((amount) => amount > 0n, "Write more than zero, or nothing at all."),
  ]),
});

export function creditRoutes(app: FastifyInstance, { database, pepper, payments, mailer }: AppDeps): void {
  async function render(visitor: Member, form: FormState, afterId?: bigint): Promise<string> {
    const { accountId } = visitor.membership;
    const [balance, page, alertNanoUsd] = await Promise.all([
      readBalance(database, accountId),
      listEntries(database, { accountId, limit: PAGE, ...(afterId === undefined ? {} : { afterId }) }),
      readAlertThreshold(database, accountId),
    ]);
    const alert = mailer === undefined ? null : { thresholdNanoUsd: alertNanoUsd };
    return creditPage({ visitor, balance, page, form, alert, canPay: payments !== undefined });
  }

  app.get("/dashboard/credit", async (request, reply) => {
    const { after } = querySchema.parse(request.query ?? {});
    return sendPage(reply, await render(memberOf(request), EMPTY_FORM, after));
  });

  app.post("/dashboard/credit/redeem", async (request, reply) => {
    const visitor = memberOf(request, "member");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      if (!/\w/.test(values["code"] ?? ""))
        throw new GatewayError("invalid_request", "Write the code that you were given.", { field: "code" });
      const { isNew } = await redeemCode(database, { accountId, code: values["code"] ?? "", pepper });
      if (isNew)
        await noteAction(database, { accountId, personId: visitor.person.id, action: "credit.redeemed", subject: "a code" });
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, failed), 400);
    return goTo(reply, "/dashboard/credit");
  });

  app.post("/dashboard/credit/alert", async (request, reply) => {
    const visitor = memberOf(request, "member");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const { threshold } = alertForm.parse(values);
      await setAlertThreshold(database, accountId, threshold);
      const subject = threshold === null ? "off" : `below ${showUsd(threshold)}`;
      await noteAction(database, { accountId, personId: visitor.person.id, action: "credit.alert_changed", subject });
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, failed), 400);
    return goTo(reply, "/dashboard/credit");
  });
}
