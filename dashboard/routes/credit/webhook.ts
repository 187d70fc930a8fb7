import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { AppDeps } from "../../app-deps.ts";
import { applyNotice } from "../../payments/notice.ts";
import type { CardNotice, PaymentNotice, PaymentProvider } from "../../payments/provider.ts";

const MAX_BYTES = 256 * 1024;
const headersSchema = z.object({ "stripe-signature": z.string().optional() });

/** Receives a provider's payment notices. The provider repeats those not answered with 2xx. */
export function webhookRoutes(app: FastifyInstance, { database, log }: AppDeps, provider: PaymentProvider): void {
  // A separate scope, because the body must stay the signed bytes.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: MAX_BYTES }, (_request, body, done) => done(null, body));
    scope.post(`/dashboard/webhooks/${provider.name}`, { config: { isWebhook: true } }, async (request, reply) => {
      if (!Buffer.isBuffer(request.body)) throw new GatewayError("invalid_request", "The event has no body.");
      const notice = await provider.readNotice(request.body, headersSchema.parse(request.headers)["stripe-signature"]);
      if (notice !== null) {
        await applyNotice(database, provider, notice);
        log.info({ provider: provider.name, notice: notice.kind, payment: subjectOf(notice) }, "payment webhook received");
      }
      return reply.send({ received: true });
    });
  });
}

function subjectOf(notice: PaymentNotice | CardNotice): string {
  return notice.kind === "card_saved" ? notice.setupId : notice.providerPaymentId;
}
