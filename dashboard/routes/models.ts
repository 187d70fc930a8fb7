import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { listModelDays } from "../../ledger/usage/model-hours.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../http/reply.ts";
import { modelPage } from "../views/models/model.ts";
import { modelsPage } from "../views/models/models.ts";
import { LANGUAGES } from "../views/first-requests.ts";
import { firstUptimeDay } from "../views/uptime.ts";

const query = z.object({ language: z.enum(LANGUAGES).catch("curl") });

/** Prices are public. */
export function modelRoutes(app: FastifyInstance, { database, publicBaseUrl: baseUrl }: AppDeps): void {
  app.get("/dashboard/models", async (request, reply) => {
    const models = await listModels(database, Date.now());
    return sendPage(reply, modelsPage({ visitor: request.visitor, models, baseUrl }));
  });

  // Names may contain slashes.
  app.get<{ Params: { "*": string } }>("/dashboard/models/*", async (request, reply) => {
    const nowMs = Date.now();
    const name = request.params["*"];
    const models = await listModels(database, nowMs);
    const listed = models.find(({ model }) => model.name === name || model.aliases.includes(name));
    if (listed === undefined) throw new GatewayError("not_found", `This service has no model called ${name}.`);
    const { language } = query.parse(request.query ?? {});
    const days = await listModelDays(database, { fromDay: firstUptimeDay(nowMs), model: listed.model.name });
    return sendPage(reply, modelPage({ visitor: request.visitor, listed, days, baseUrl, language, nowMs }));
  });
}
