import type { FastifyInstance } from "fastify";
import type { Outbox } from "../../mail/letter.ts";
import { sendPage } from "../../reply.ts";
import { outboxPage } from "../../views/people/outbox.ts";

/** The letters that this machine keeps instead of sending them; there is no such page where mail goes out. */
export function outboxRoutes(app: FastifyInstance, outbox: Outbox): void {
  app.get("/dashboard/outbox", async (request, reply) =>
    sendPage(reply, outboxPage({ visitor: request.visitor, letters: outbox.letters })),
  );
}
