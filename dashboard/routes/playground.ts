import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { isInputOnly } from "../../contract/catalogue.ts";
import { GatewayError } from "../../contract/errors.ts";
import { issuePlaygroundKey } from "../../ledger/keys/playground-key.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../http/reply.ts";
import { memberOf } from "../session/guard.ts";
import { playgroundPage } from "../views/playground/playground.ts";

const query = z.object({ model: z.string().optional().catch(undefined) });

/**
 * The page calls `/v1` itself, with a key for an hour that it gets here: no prompt or answer passes through this process
 * (docs/decisions/0054).
 */
export function playgroundRoutes(app: FastifyInstance, { database, pepper, publicBaseUrl }: AppDeps): void {
  app.get("/dashboard/playground", async (request, reply) => {
    const visitor = memberOf(request);
    const { model } = query.parse(request.query ?? {});
    const models = (await listModels(database, Date.now())).filter(({ model }) => !isInputOnly(model));
    return sendPage(reply, playgroundPage({ visitor, models, chosen: model, baseUrl: publicBaseUrl }));
  });

  app.post("/dashboard/playground/key", async (request, reply) => {
    const { person, membership } = memberOf(request, "usePlayground");
    try {
      const { value, expiresAt } = await database.transaction((transaction) =>
        issuePlaygroundKey(transaction, {
          accountId: membership.accountId,
          personId: person.id,
          personName: person.name,
          pepper,
        }),
      );
      return reply.send({ value, expires_at: expiresAt.toISOString() });
    } catch (error) {
      // For the page's script, which shows the sentence in place of the answer.
      if (!(error instanceof GatewayError)) throw error;
      return reply
        .status(error.status)
        .headers({ ...error.headers })
        .send({ problem: error.message });
    }
  });
}
