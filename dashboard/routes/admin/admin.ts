import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { listAllActions } from "../../../ledger/people/audit.ts";
import { listModelHistory } from "../../../ledger/models/price-history.ts";
import type { AppDeps } from "../../app-deps.ts";
import { sendPage } from "../../reply.ts";
import { adminOf } from "../../session/guard.ts";
import { adminAuditPage } from "../../views/admin/audit.ts";
import { adminModelsPage } from "../../views/admin/models.ts";
import { adminAccountRoutes } from "./accounts.ts";
import { adminCheckRoutes } from "./check.ts";
import { adminCodeRoutes } from "./codes.ts";
import { adminLimitRoutes } from "./limits.ts";
import { adminRefundRoutes } from "./refund.ts";

const PAGE = 100;
const auditQuery = z.object({
  account: z
    .string()
    .trim()
    .regex(/^[a-z0-9-]{1,63}$/)
    .optional()
    .catch(undefined),
  before: z.uuid().optional().catch(undefined),
});

/** What those who run the service see and do; for everybody else there are no such pages. */
export function adminRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database } = deps;
  adminAccountRoutes(app, deps);
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
    const { account, before } = auditQuery.parse(request.query ?? {});
    // One more than is shown tells whether there is another page.
    const found = await listAllActions(database, { accountId: account, beforeId: before, limit: PAGE + 1 });
    const actions = found.slice(0, PAGE);
    const next = found.length > PAGE ? (actions.at(-1)?.id ?? null) : null;
    return sendPage(reply, adminAuditPage({ visitor, actions, account, next }));
  });
}
