import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { readBalance } from "../../ledger/accounts.ts";
import { listKeys } from "../../ledger/key-list.ts";
import { usageByKey, usageByModelAndDay, usageTotals } from "../../ledger/reports.ts";
import { listRequests } from "../../ledger/request-list.ts";
import type { AppDeps } from "../app.ts";
import { sendPage } from "../reply.ts";
import { memberOf } from "../session/guard.ts";
import { daysLeft } from "../usage/days-left.ts";
import { readRange, type DayRange } from "../usage/range.ts";
import { requestsPage } from "../views/requests.ts";
import { usagePage } from "../views/usage.ts";

const PAGE = 50;
const DAY_MS = 86_400_000;
const filterSchema = z.object({
  key: z
    .string()
    .regex(/^[0-9A-Za-z]{12}$/)
    .optional()
    .catch(undefined),
  model: z.string().min(1).max(128).optional().catch(undefined),
  /** Id and attempt of the last request of the page before. */
  after: z
    .string()
    .regex(/^[0-9a-f-]{36}\.\d{1,3}$/)
    .transform((text) => ({ requestId: text.slice(0, 36), attempt: Number(text.slice(37)) }))
    .optional()
    .catch(undefined),
});

const unitSchema = z.object({ unit: z.enum(["money", "tokens"]).catch("money") });

/** Billing & Usage (S27). All of a view is in its address: it can be kept and sent. */
export function usageRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.get("/dashboard/usage", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, today());
    const { unit } = unitSchema.parse(request.query ?? {});
    const [balance, byModel, byKey, totals] = await Promise.all([
      readBalance(database, accountId),
      usageByModelAndDay(database, { accountId, ...range }),
      usageByKey(database, { accountId, ...range }),
      usageTotals(database, { accountId, today: today() }),
    ]);
    const lastsDays = daysLeft(balance.postedNanoUsd, totals.last7Days.chargeNanoUsd);
    return sendPage(reply, usagePage({ visitor, range, unit, balance, lastsDays, byModel, byKey }));
  });

  app.get("/dashboard/usage/requests", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, today());
    const { key, model, after } = filterSchema.parse(request.query ?? {});
    const [page, keys] = await Promise.all([
      listRequests(database, {
        accountId,
        ...momentsOf(range),
        limit: PAGE,
        ...(key === undefined ? {} : { keyId: key }),
        ...(model === undefined ? {} : { model }),
        ...(after === undefined ? {} : { after }),
      }),
      listKeys(database, { accountId }),
    ]);
    return sendPage(reply, requestsPage({ visitor, range, page, keys, filter: { key, model } }));
  });
}

function momentsOf({ fromDay, toDay }: DayRange): { from: Date; to: Date } {
  return { from: new Date(fromDay), to: new Date(Date.parse(toDay) + DAY_MS) };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}
