import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { dayOf } from "../../../contract/days.ts";
import { readKeyNames } from "../../../ledger/keys/key-list.ts";
import { listModelRanks } from "../../../ledger/models/model-ranks.ts";
import { MEASURES, readPerformance, type PerformanceGroup } from "../../../ledger/usage/performance-report.ts";
import type { AppDeps } from "../../app-deps.ts";
import { stepOf } from "../../charts/buckets.ts";
import { MAX_SERIES } from "../../charts/series.ts";
import { sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import { readMemberNames } from "../../usage/member-names.ts";
import { METRICS } from "../../usage/performance.ts";
import { readRange } from "../../usage/range.ts";
import { performancePage, type PerformanceChoice } from "../../views/usage/performance.ts";

/** Rows of the table: those with the most requests. */
const SHOWN_GROUPS = 50;
const choiceSchema = z.object({
  metric: z.enum(["latency", "first-token", "speed", "errors"]).catch("latency"),
  by: z.enum(["all", "model", "key", "member"]).catch("all"),
  at: z.enum(["p50", "p95"]).catch("p95"),
  only: z.string().optional().catch(undefined),
});

/** Speed and outcome of requests. The whole view is in its address. */
export function performanceRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  app.get("/dashboard/usage/performance", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, dayOf(Date.now()));
    const choice = readChoice(request.query);
    const asked = { accountId, fromDay: range.fromDay, toDay: range.toDay };
    const [all, table, drawn, modelRanks] = await Promise.all([
      readPerformance(reports, { ...asked, measures: MEASURES, by: "all", step: "range", most: 1 }),
      readPerformance(reports, {
        ...asked,
        measures: MEASURES,
        by: choice.by === "all" ? "model" : choice.by,
        step: "range",
        most: SHOWN_GROUPS,
      }),
      readPerformance(reports, {
        ...asked,
        measures: [METRICS[choice.metric].measure],
        by: choice.by,
        step: stepOf(range),
        most: MAX_SERIES,
      }),
      listModelRanks(database),
    ]);
    const names = await readNames(accountId, choice.by, [...new Set([...table, ...drawn].map(({ group }) => group))]);
    return sendPage(reply, performancePage({ visitor, range, choice, all, table, drawn, names, modelRanks }));
  });

  /** Display names of groups whose ids differ from them. */
  async function readNames(
    accountId: string,
    by: PerformanceGroup,
    groups: readonly string[],
  ): Promise<ReadonlyMap<string, string>> {
    switch (by) {
      case "all":
      case "model":
        return new Map();
      case "key": {
        const keys = await readKeyNames(database, { accountId, publicIds: groups });
        return new Map(keys.map(({ publicId, name }) => [publicId, name]));
      }
      case "member": {
        return readMemberNames(database, accountId, groups);
      }
    }
  }
}

/** An invalid value counts as not chosen. */
function readChoice(query: unknown): PerformanceChoice {
  const { only, ...choice } = choiceSchema.parse(query ?? {});
  return { ...choice, only: only === "" ? undefined : only };
}
