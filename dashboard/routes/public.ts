import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { HOUR_MS } from "../../contract/days.ts";
import { listIncidents, listOpenIncidents } from "../../ledger/incidents/incidents.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { modelHealthSince, type ModelHealth } from "../../ledger/usage/model-health.ts";
import { listModelDays, type ModelDay } from "../../ledger/usage/model-hours.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../http/reply.ts";
import { statusPage, type ServiceStatus } from "../views/status.ts";
import { supportPage } from "../views/support.ts";
import { termsPage } from "../views/terms.ts";
import { firstUptimeDay } from "../views/uptime.ts";
import { cutPage } from "../../ledger/postgres/page.ts";

/** Anybody may load the page as often as they like. */
const FRESH_MS = 15_000;
const PAST_INCIDENTS = 10;
const query = z.object({ before: z.uuid().optional().catch(undefined) });

interface Measured {
  health: ModelHealth[];
  days: ModelDay[];
}

/** Public pages besides the models. */
export function publicRoutes(app: FastifyInstance, { database, terms, operator }: AppDeps): void {
  let known: { atMs: number; measured: Promise<Measured> } | undefined;

  async function measure(nowMs: number): Promise<Measured> {
    const [health, days] = await Promise.all([
      modelHealthSince(database, nowMs - HOUR_MS),
      listModelDays(database, { fromDay: firstUptimeDay(nowMs) }),
    ]);
    return { health, days };
  }

  function readMeasured(nowMs: number): Promise<Measured> {
    if (known === undefined || nowMs - known.atMs > FRESH_MS) known = { atMs: nowMs, measured: measure(nowMs) };
    return known.measured;
  }

  async function readStatus(nowMs: number, beforeId: string | undefined): Promise<ServiceStatus> {
    const [models, measured, open, found] = await Promise.all([
      listModels(database, nowMs),
      readMeasured(nowMs),
      listOpenIncidents(database),
      listIncidents(database, { limit: PAST_INCIDENTS + 1, beforeId, isOver: true }),
    ]);
    const { page: past, next: nextPast } = cutPage(found, PAST_INCIDENTS, ({ id }) => id);
    return { names: models.map(({ model }) => model.name), ...measured, open, past, nextPast };
  }

  app.get("/dashboard/status", async (request, reply) => {
    const nowMs = Date.now();
    const { before } = query.parse(request.query ?? {});
    const service = await readStatus(nowMs, before).catch(() => {
      known = undefined;
      return null;
    });
    return sendPage(reply, statusPage({ visitor: request.visitor, service, nowMs }));
  });

  app.get("/dashboard/support", async (request, reply) => sendPage(reply, supportPage({ visitor: request.visitor, operator })));

  app.get("/dashboard/terms", async (request, reply) => sendPage(reply, termsPage({ visitor: request.visitor, terms })));
}
