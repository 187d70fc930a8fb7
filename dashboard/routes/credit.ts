import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { readBalance } from "../../ledger/accounts.ts";
import { redeemCode } from "../../ledger/codes.ts";
import { listEntries } from "../../ledger/entry-list.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import type { AppDeps } from "../app.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../form.ts";
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

export function creditRoutes(app: FastifyInstance, { database, pepper, payments }: AppDeps): void {
  async function render(visitor: Member, form: FormState, afterId?: bigint): Promise<string> {
    const { accountId } = visitor.membership;
    const [balance, page] = await Promise.all([
      readBalance(database, accountId),
      listEntries(database, { accountId, limit: PAGE, ...(afterId === undefined ? {} : { afterId }) }),
    ]);
    return creditPage({ visitor, balance, page, form, canPay: payments !== undefined });
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
}
