import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { isLoopback } from "../../../contract/loopback.ts";
import type { Outbox } from "../../mail/letter.ts";
import { sendPage } from "../../http/reply.ts";
import { NO_SUCH_PAGE } from "../../session/guard.ts";
import { outboxPage } from "../../views/people/outbox.ts";

/** Emails that this machine keeps instead of sending them; the page does not exist if mail is sent. */
export function outboxRoutes(app: FastifyInstance, { publicBaseUrl }: { publicBaseUrl: string }, outbox: Outbox): void {
  app.get("/dashboard/outbox", async (request, reply) => {
    // Someone's domain name may resolve to this machine, and its page would read the emails. It can send any header but this one.
    if (!isOwnName(request.headers.host ?? "", publicBaseUrl)) throw new GatewayError("not_found", NO_SUCH_PAGE);
    return sendPage(reply, outboxPage({ visitor: request.visitor, letters: outbox.letters }));
  });
}

function isOwnName(host: string, publicBaseUrl: string): boolean {
  const url = URL.parse(`http://${host}`);
  return url !== null && (isLoopback(url) || url.hostname === new URL(publicBaseUrl).hostname);
}
