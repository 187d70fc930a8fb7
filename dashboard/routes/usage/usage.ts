import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { usageByHour, usageByKey, usageByModelAndDay, usageTotals } from "../../../ledger/usage/reports.ts";
import type { AppDeps } from "../../app-deps.ts";
import type { Bar } from "../../charts/model-series.ts";
import { sendPage } from "../../reply.ts";
import { memberOf } from "../../session/guard.ts";
import { daysLeft } from "../../usage/days-left.ts";
import { readRange, type DayRange } from "../../usage/range.ts";
import { usagePage } from "../../views/usage/usage.ts";
import { dayOf, momentsOf } from "../../../contract/days.ts";

/** The dearest ones; a file has all. */
const SHOWN_KEYS = 50;
const unitSchema = z.object({ unit: z.enum(["money", "tokens"]).catch("money") });

/** Billing & Usage (S27). All of a view is in its address: it can be kept and sent. */
export function usageRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.get("/dashboard/usage", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, dayOf(Date.now()));
    const { unit } = unitSchema.parse(request.query ?? {});
    const [balance, bars, byKey, totals] = await Promise.all([
      readBalance(database, accountId),
      readBars(accountId, range),
      usageByKey(database, { accountId, ...range, limit: SHOWN_KEYS }),
      usageTotals(database, { accountId, today: dayOf(Date.now()) }),
    ]);
    const lastsDays = daysLeft(balance.postedNanoUsd, totals.last7Days.chargeNanoUsd);
    return sendPage(reply, usagePage({ visitor, range, unit, balance, lastsDays, bars, byKey }));
  });

  /** One for each day and model, or, of a single day, for each hour. */
  async function readBars(accountId: string, range: DayRange): Promise<Bar[]> {
    if (range.fromDay !== range.toDay) {
      const days = await usageByModelAndDay(database, { accountId, ...range });
      return days.map(({ day, ...usage }) => ({ ...usage, column: day }));
    }
    const hours = await usageByHour(database, { accountId, ...momentsOf(range) });
    return hours.map(({ hour, ...usage }) => ({ ...usage, column: hour.toISOString().slice(11, 16) }));
  }
}
