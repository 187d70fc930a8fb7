import * as z from "zod";
import { readDays } from "../../../contract/days.ts";
import type { Margin } from "../../../ledger/usage/service-figures.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createServiceFigures } from "../../usage/service-figures.ts";
import { adminCallerOf } from "../caller.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { rangeQuery, showSums, sumsShape } from "../schemas/usage.ts";
import { showMoney, usd } from "../schemas/values.ts";

const margin = z
  .object({ charged: usd, cost: usd })
  .nullable()
  .meta({ description: "On days for which the Model has a cost; null if there are none" });
const count = z.int();
const figures = z
  .object({
    currency: z.literal("USD"),
    from: z.string(),
    to: z.string(),
    top_ups: z.object({ payments: count, accounts: count, amount: usd, returned: usd }),
    granted: usd.meta({ description: "Grants and redeemed codes" }),
    active_accounts: count,
    usage: z.object(sumsShape),
    margin,
    models: z
      .array(
        z.object({
          model: z.string(),
          answered: count.meta({ description: "Requests of finished hours of the last 90 days whose outcome is known" }),
          failed: count,
          margin,
          ...sumsShape,
        }),
      )
      .meta({ description: "Highest charge first" }),
    top_accounts: z
      .array(z.object({ account_id: z.string(), name: z.string(), requests: count, amount: usd }))
      .meta({ description: "Highest charge first, at most 10" }),
  })
  .meta({ id: "ServiceFigures" });

/** Figures of the whole service, for administrators. */
export function serviceApi(api: Api, { database, reports = database }: AppDeps): void {
  const read = createServiceFigures(reports);

  api.get(
    "/service/figures",
    {
      schema: {
        tags: ["Service"],
        summary: "Get revenue, usage, errors, margins and top accounts of the whole service",
        description: "For administrators, and tokens that an administrator created with access to the service's figures.",
        querystring: z.strictObject(rangeQuery),
        response: { 200: figures, ...failures },
      },
    },
    async (request) => {
      adminCallerOf(request);
      const days = readDays(request.query, Date.now());
      const { payments, returnedNanoUsd, givenNanoUsd, activeAccounts, usage, models, topAccounts, ...all } = await read(days);
      return {
        currency: "USD" as const,
        from: days.fromDay,
        to: days.toDay,
        top_ups: {
          payments: payments.count,
          accounts: payments.accounts,
          amount: showMoney(payments.amountNanoUsd),
          returned: showMoney(returnedNanoUsd),
        },
        granted: showMoney(givenNanoUsd),
        active_accounts: activeAccounts,
        usage: showSums(usage),
        margin: showMargin(all.margin),
        models: models.map(({ model, answered, failed, margin, ...sums }) => ({
          model,
          answered,
          failed,
          margin: showMargin(margin),
          ...showSums(sums),
        })),
        top_accounts: topAccounts.map(({ accountId, name, requests, chargeNanoUsd }) => ({
          account_id: accountId,
          name,
          requests,
          amount: showMoney(chargeNanoUsd),
        })),
      };
    },
  );
}

function showMargin(margin: Margin | null) {
  return margin === null ? null : { charged: showMoney(margin.chargeNanoUsd), cost: showMoney(margin.costNanoUsd) };
}
