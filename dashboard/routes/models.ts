import type { FastifyInstance } from "fastify";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../reply.ts";
import { modelsPage } from "../views/models.ts";

/** Prices are nobody's secret. */
export function modelRoutes(app: FastifyInstance, { database, publicBaseUrl }: AppDeps): void {
  app.get("/dashboard/models", async (request, reply) => {
    const models = await listModels(database, Date.now());
    return sendPage(reply, modelsPage({ visitor: request.visitor, models, baseUrl: publicBaseUrl }));
  });
}
