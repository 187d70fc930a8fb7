import type { FastifyInstance } from "fastify";
import { readBalance } from "../../ledger/accounts/accounts.ts";
import { countKeys } from "../../ledger/keys/key-list.ts";
import { usageTotals } from "../../ledger/usage/reports.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../reply.ts";
import { memberOf } from "../session/guard.ts";
import { overviewPage } from "../views/overview.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { chooseModels } from "../views/keys/choose-models.ts";

export function overviewRoutes(app: FastifyInstance, { database, publicBaseUrl, payments }: AppDeps): void {
  app.get("/dashboard", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const today = new Date().toISOString().slice(0, 10);
    const [balance, keys, usage, models] = await Promise.all([
      readBalance(database, accountId),
      countKeys(database, accountId),
      usageTotals(database, { accountId, today }),
      listModels(database, Date.now()),
    ]);
    return sendPage(
      reply,
      overviewPage({
        visitor,
        balance,
        keys,
        usage,
        baseUrl: publicBaseUrl,
        canPay: payments !== undefined,
        ...chooseModels(models),
      }),
    );
  });
}
