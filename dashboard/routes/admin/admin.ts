import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { ACTION_FILTERS } from "../../../ledger/people/action-names.ts";
import { listAllActions } from "../../../ledger/people/audit.ts";
import { listModelHistory } from "../../../ledger/models/price-history.ts";
import type { AppDeps } from "../../app-deps.ts";
import { sendPage } from "../../http/reply.ts";
import { utcDay } from "../../usage/range.ts";
import { adminOf } from "../../session/guard.ts";
import { adminAuditPage } from "../../views/admin/audit.ts";
import { adminModelsPage } from "../../views/admin/models.ts";
import { adminAccountRoutes } from "./accounts.ts";
import { adminCheckRoutes } from "./check.ts";
import { adminCodeRoutes } from "./codes.ts";
import { adminFigureRoutes } from "./figures.ts";
import { adminIncidentRoutes } from "./incidents.ts";
import { adminLimitRoutes } from "./limits.ts";
import { adminRefundRoutes } from "./refund.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const PAGE = 100;
const day = z
  .union([z.literal("").transform(() => undefined), utcDay()])
  .optional()
  .catch(undefined);
const auditQuery = z.object({
  account: z
    .string()
    .trim()
    .regex(/^[a-z0-9-]{1,63}$/)
    .optional()
    .catch(undefined),
  person: z
    .string()
    .trim()
    .min(1)
    .max(254)
    .regex(/^[^\0]*$/)
    .optional()
    .catch(undefined),
  action: z.enum(ACTION_FILTERS).optional().catch(undefined),
  from: day,
  to: day,
  before: z.uuid().optional().catch(undefined),
});

/** Pages for administrators of the service; for everybody else they do not exist. */
export function adminRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database } = deps;
  adminAccountRoutes(app, deps);
  adminFigureRoutes(app, deps);
  adminIncidentRoutes(app, deps);
  adminLimitRoutes(app, deps);
  adminRefundRoutes(app, deps);
  adminCodeRoutes(app, deps);
  adminCheckRoutes(app, deps);

  app.get("/dashboard/admin/models", async (request, reply) => {
    const visitor = adminOf(request);
    return sendPage(reply, adminModelsPage({ visitor, models: await listModelHistory(database) }));
  });

  app.get("/dashboard/admin/audit", async (request, reply) => {
    const visitor = adminOf(request);
    const { account, person, action, from, to, before } = auditQuery.parse(request.query ?? {});
    const filter = { accountId: account, person, action, fromDay: from, toDay: to };
    const found = await listAllActions(database, { filter, beforeId: before, limit: PAGE + 1 });
    const { page: actions, next } = cutPage(found, PAGE, ({ id }) => id);
    return sendPage(reply, adminAuditPage({ visitor, actions, filter, next }));
  });
}
