import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { readBillingDetails } from "../../../ledger/billing/billing-details.ts";
import { readPayment } from "../../../ledger/payments/payments.ts";
import type { AppDeps } from "../../app-deps.ts";
import { customerLines, sellerLines } from "../../billing/parties.ts";
import { sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import { receiptPage } from "../../views/credit/receipt.ts";

/** A payment on a page to print or keep. */
export function receiptRoutes(app: FastifyInstance, { database, publicBaseUrl, operator }: AppDeps): void {
  app.get("/dashboard/credit/receipts/:id", async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const { id } = request.params;
    const payment = z.uuid().safeParse(id).success ? await readPayment(database, { accountId, id }) : undefined;
    if (payment === undefined || payment.paidAt === null)
      throw new GatewayError("not_found", "This account has no such receipt. Only completed payments have one.");
    const details = await readBillingDetails(database, accountId);
    const from = sellerLines(operator?.seller, publicBaseUrl);
    const to = customerLines(details, { id: accountId, name: visitor.membership.accountName });
    return sendPage(reply, receiptPage({ visitor, payment, paidAt: payment.paidAt, from, to }));
  });
}
