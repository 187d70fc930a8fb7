import type { FastifyInstance } from "fastify";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../reply.ts";
import { memberOf } from "../session/guard.ts";
import { playgroundPage } from "../views/playground.ts";

/** A page that asks a model with the user's own key: the browser calls the interfaces, this process never sees the key. */
export function playgroundRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.get("/dashboard/playground", async (request, reply) => {
    const visitor = memberOf(request);
    return sendPage(reply, playgroundPage({ visitor, models: await listModels(database, Date.now()) }));
  });
}
