import type { FastifyInstance } from "fastify";
import { dayOf, daysBefore, momentsOf } from "../../contract/days.ts";
import { readBalance } from "../../ledger/accounts/accounts.ts";
import { countKeys, listKeys, readKeyNames } from "../../ledger/keys/key-list.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { listModelRanks } from "../../ledger/models/model-ranks.ts";
import { readAutoTopUp } from "../../ledger/payments/auto-top-up.ts";
import { readAlertThreshold } from "../../ledger/payments/balance-alerts.ts";
import { usageByKey, usageByModelAndDay, usageTotals } from "../../ledger/usage/reports.ts";
import { listRequests } from "../../ledger/usage/request-list.ts";
import type { AppDeps } from "../app-deps.ts";
import { sendPage } from "../http/reply.ts";
import { memberOf } from "../session/guard.ts";
import { chooseModels } from "../views/keys/choose-models.ts";
import type { Activity } from "../views/overview/overview-view.ts";
import { overviewPage } from "../views/overview/overview.ts";

const SHOWN_KEYS = 5;
const SHOWN_REQUESTS = 5;
/** The newest keys with limits are shown. */
const LIMITED_AMONG = 50;

export function overviewRoutes(app: FastifyInstance, { database, reports = database, publicBaseUrl, payments }: AppDeps): void {
  app.get("/dashboard", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const today = dayOf(Date.now());
    const [balance, keys, usage, models, alertNanoUsd, autoTopUp] = await Promise.all([
      readBalance(database, accountId),
      countKeys(database, accountId),
      usageTotals(database, { accountId, today }),
      listModels(database, Date.now()),
      readAlertThreshold(database, accountId),
      readAutoTopUp(database, accountId),
    ]);
    const activity = usage.last30Days.requests === 0 ? undefined : await readActivity(accountId, today);
    const page = {
      visitor,
      balance,
      keys,
      usage,
      baseUrl: publicBaseUrl,
      canPay: payments !== undefined,
      activity,
      alertNanoUsd,
      autoTopUp,
      examples: chooseModels(models),
    };
    return sendPage(reply, overviewPage(page));
  });

  async function readActivity(accountId: string, today: string): Promise<Activity> {
    const range = { fromDay: daysBefore(today, 29), toDay: today };
    const [days, byKey, { requests }, { keys }, modelRanks] = await Promise.all([
      usageByModelAndDay(reports, { accountId, ...range }),
      usageByKey(reports, { accountId, ...range, limit: SHOWN_KEYS }),
      listRequests(reports, { accountId, ...momentsOf(range), limit: SHOWN_REQUESTS }),
      listKeys(database, { accountId, limit: LIMITED_AMONG }),
      listModelRanks(database),
    ]);
    const publicIds = requests.map(({ keyId }) => keyId);
    const keyNames = await readKeyNames(database, { accountId, publicIds });
    return {
      ...range,
      bars: days.map(({ day, model, ...usage }) => ({ ...usage, group: model, bucket: day })),
      modelRanks,
      byKey,
      requests,
      keyNames,
      keys,
    };
  }
}
