import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { findPayment, type Payment } from "../../../ledger/payments/payments.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm } from "../../http/form.ts";
import type { TestProvider } from "../../payments/test-provider.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { testPayPage } from "../../views/credit/test-pay.ts";

type PayRequest = FastifyRequest<{ Params: { id: string } }>;

const ID_FORM = /^cs_test_[0-9a-f]{32}$/;

/** Stands in for a provider's own payment page. */
export function testPayRoutes(app: FastifyInstance, { database }: AppDeps, provider: TestProvider): void {
  async function paymentOf({ params }: PayRequest, { membership }: Member): Promise<Payment> {
    const name = { provider: provider.name, providerPaymentId: params.id };
    const payment = ID_FORM.test(params.id) ? await findPayment(database, name) : undefined;
    if (payment === undefined || payment.accountId !== membership.accountId)
      throw new GatewayError("not_found", "This account has no such payment.");
    return payment;
  }

  app.get("/dashboard/credit/test-pay/:id", async (request: PayRequest, reply) => {
    const visitor = memberOf(request, "addCredit");
    return sendPage(reply, testPayPage({ visitor, payment: await paymentOf(request, visitor) }));
  });

  app.post("/dashboard/credit/test-pay/:id", async (request: PayRequest, reply) => {
    const payment = await paymentOf(request, memberOf(request, "addCredit"));
    const isPaid = readForm(request)["decision"] === "pay";
    await provider.decide(payment, isPaid ? "pay" : "decline");
    return goTo(reply, `/dashboard/credit/top-up${isPaid ? "?paid=yes" : ""}`);
  });
}
