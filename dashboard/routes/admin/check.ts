import type { FastifyInstance } from "fastify";
import { beginCheckRun, finishCheckRun, readLastCheckRun, readLastNightlyCheck } from "../../../ledger/upkeep/check-runs.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { goTo, sendPage, turnAway } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import { adminCheckPage } from "../../views/admin/check.ts";

/** The ledger check. It may take minutes, so it runs in the background of the page that started it. */
export function adminCheckRoutes(app: FastifyInstance, { database, log }: AppDeps): void {
  let running: Promise<void> = Promise.resolve();
  app.addHook("onClose", () => running);

  app.get("/dashboard/admin/check", async (request, reply) => {
    const visitor = adminOf(request);
    const [last, nightly] = await Promise.all([readLastCheckRun(database), readLastNightlyCheck(database)]);
    return sendPage(reply, adminCheckPage({ visitor, last, nightly }));
  });

  app.post("/dashboard/admin/check", async (request, reply) => {
    const { person } = adminOf(request);
    const id = await beginCheckRun(database, person.id);
    if (id !== undefined) {
      await noteAction(database, { accountId: null, personId: person.id, action: "ledger.checked", subject: id });
      running = finishCheckRun(database, id).catch((error: unknown) => log.error({ err: error }, "failed to check the ledger"));
    }
    if (id === undefined) return turnAway(reply, "/dashboard/admin/check", "A check is already running.");
    return goTo(reply, "/dashboard/admin/check", "Check started.");
  });
}
