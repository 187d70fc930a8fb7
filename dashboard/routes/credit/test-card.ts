import type { FastifyInstance } from "fastify";
import { readForm } from "../../http/form.ts";
import type { TestProvider } from "../../payments/test-provider.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import { testCardPage } from "../../views/credit/test-card.ts";

/** Stands in for the page where a provider saves a card. */
export function testCardRoutes(app: FastifyInstance, provider: TestProvider): void {
  app.get("/dashboard/credit/test-card", async (request, reply) =>
    sendPage(reply, testCardPage(memberOf(request, "manageCard"))),
  );

  app.post("/dashboard/credit/test-card", async (request, reply) => {
    const { membership } = memberOf(request, "manageCard");
    await provider.giveCard(membership.accountId, readForm(request)["card"] === "works" ? "works" : "declines");
    return goTo(reply, "/dashboard/credit?card=saved");
  });
}
