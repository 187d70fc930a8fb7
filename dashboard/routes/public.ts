import type { FastifyInstance } from "fastify";
import { modelHealthSince, type ModelHealth } from "../../ledger/usage/model-health.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../reply.ts";
import { statusPage } from "../views/status.ts";
import { termsPage } from "../views/terms.ts";
import { HOUR_MS } from "../../contract/days.ts";

/** Anybody may load the page as often as they like. */
const FRESH_MS = 15_000;

/** Pages for everybody, beside the models. */
export function publicRoutes(app: FastifyInstance, { database, terms }: AppDeps): void {
  let known: { atMs: number; health: Promise<ModelHealth[]> } | undefined;

  function readHealth(): Promise<ModelHealth[]> {
    const nowMs = Date.now();
    if (known === undefined || nowMs - known.atMs > FRESH_MS)
      known = { atMs: nowMs, health: modelHealthSince(database, nowMs - HOUR_MS) };
    return known.health;
  }

  app.get("/dashboard/status", async (request, reply) => {
    const [models, health] = await Promise.all([listModels(database, Date.now()), readHealth()]).catch(() => {
      known = undefined;
      return [null, []] as const;
    });
    const names = models?.map(({ model }) => model.name) ?? null;
    return sendPage(reply, statusPage({ visitor: request.visitor, names, health }));
  });

  app.get("/dashboard/terms", async (request, reply) => sendPage(reply, termsPage({ visitor: request.visitor, terms })));
}
