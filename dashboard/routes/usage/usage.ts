import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { dayOf, momentsOf } from "../../../contract/days.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { listModelRanks } from "../../../ledger/models/model-ranks.ts";
import { usageOfKeys } from "../../../ledger/usage/key-series.ts";
import { readProviderKeyUsage } from "../../../ledger/usage/provider-key-usage.ts";
import { usageByMember, type UsageOfMember } from "../../../ledger/usage/member-series.ts";
import { usageByHour, usageByKey, usageByModelAndDay, usageTotals, type KeyUsagePage } from "../../../ledger/usage/reports.ts";
import type { AppDeps } from "../../app-deps.ts";
import { bucketOf, stepOf, type Step } from "../../charts/buckets.ts";
import type { Bar } from "../../charts/series.ts";
import { sendPage } from "../../http/reply.ts";
import { listProjectChoices } from "../../projects/project-choices.ts";
import { memberOf } from "../../session/guard.ts";
import { daysLeft } from "../../usage/days-left.ts";
import { readGroupBars } from "../../usage/group-bars.ts";
import { readLabelBars, readLabelChoices, readLabelUsage, withRest, type LabelChoices } from "../../usage/labels.ts";
import { readMemberNames } from "../../usage/member-names.ts";
import { readProjectBars, readProjectUsage } from "../../usage/projects.ts";
import { readRange, type DayRange } from "../../usage/range.ts";
import type { ChartChoice } from "../../views/usage/usage-chart.ts";
import { usagePage } from "../../views/usage/usage.ts";

/** Those with the highest charges; a file has all. */
const SHOWN_KEYS = 50;
const SHOWN_MEMBERS = 50;
const SHOWN_PROJECTS = 50;
const choiceSchema = z.object({
  unit: z.enum(["money", "requests", "tokens", "searches", "images", "characters", "minutes"]).catch("money"),
  by: z.enum(["model", "key", "project", "member", "tag", "user", "class"]).catch("model"),
  tag: z.string().optional().catch(undefined),
  project: z.uuid().optional().catch(undefined),
  only: z.string().optional().catch(undefined),
});

const NO_LABELS: LabelChoices = { hasSome: false, tagNames: [] };

/** An account, or one of its projects. */
interface Scope {
  accountId: string;
  projectId: string | undefined;
}

/** Billing & Usage (S27). The whole view is in its address, so it can be kept and sent. */
export function usageRoutes(app: FastifyInstance, { database, reports = database }: AppDeps): void {
  app.get("/dashboard/usage", async (request, reply) => {
    const visitor = memberOf(request);
    const { accountId } = visitor.membership;
    const range = readRange(request.query, dayOf(Date.now()));
    const asked = choiceSchema.parse(request.query ?? {});
    const { project: projectId } = asked;
    // Usage by label is not kept by key.
    const labels = projectId === undefined ? await readLabelChoices(reports, accountId) : NO_LABELS;
    const byProject =
      projectId === undefined ? await readProjectUsage(reports, { accountId, ...range, most: SHOWN_PROJECTS }) : [];
    const choice = readChoice(asked, { ...labels, hasProjects: byProject.length > 0 });
    const byLabel = await readLabelUsage(reports, { accountId, range, choice });
    const ofLabels = byLabel && (await readLabelBars(reports, { accountId, range, byLabel }));
    const step = ofLabels?.step ?? stepOf(range);
    const [balance, bars, byKey, totals, byMember, modelRanks, projects, providerKeys] = await Promise.all([
      readBalance(database, accountId),
      readBars({ accountId, projectId }, range, step),
      usageByKey(reports, { accountId, projectId, ...range, limit: SHOWN_KEYS }),
      usageTotals(reports, { accountId, today: dayOf(Date.now()) }),
      usageByMember(reports, { accountId, projectId, ...range, step: "range", most: SHOWN_MEMBERS }),
      listModelRanks(database),
      listProjectChoices(database, accountId, projectId),
      projectId === undefined ? readProviderKeyUsage(reports, { accountId, ...range }) : [],
    ]);
    const memberNames = await readMemberNames(
      database,
      accountId,
      byMember.map(({ personId }) => personId),
    );
    const groupBars = await readChosenBars();
    const lastsDays = daysLeft(balance.postedNanoUsd, totals.last7Days.chargeNanoUsd);
    return sendPage(
      reply,
      usagePage({
        visitor,
        range,
        choice,
        step,
        balance,
        lastsDays,
        bars,
        groupBars,
        byKey,
        projects,
        byProject,
        byMember,
        byLabel,
        labels,
        memberNames,
        modelRanks,
        providerKeys,
      }),
    );

    /** Usage of the chosen grouping, unless it is by model. */
    async function readChosenBars(): Promise<Bar[]> {
      switch (choice.by) {
        case "key":
          return readKeyBars(accountId, { range, byKey, bars });
        case "project":
          return readProjectBars(reports, { accountId, range, byProject, bars });
        case "member":
          return readMemberBars({ accountId, projectId }, { range, byMember, memberNames, bars });
        case "tag":
        case "user":
          return byLabel === undefined || ofLabels === undefined ? [] : withRest(ofLabels.bars, byLabel, bars);
        case "model":
        case "class":
          return [];
      }
    }
  });

  /** By bucket and model. */
  async function readBars(scope: Scope, range: DayRange, step: Step): Promise<Bar[]> {
    if (step === "hour") {
      const hours = await usageByHour(reports, { ...scope, ...momentsOf(range) });
      return hours.map(({ hour, model, ...usage }) => ({ ...usage, group: model, bucket: bucketOf(hour.toISOString(), step) }));
    }
    const days = await usageByModelAndDay(reports, { ...scope, ...range });
    return days.map(({ day, model, ...usage }) => ({ ...usage, group: model, bucket: bucketOf(day, step) }));
  }

  /** By bucket and key. */
  async function readKeyBars(
    accountId: string,
    { range, byKey: { keys }, bars }: { range: DayRange; byKey: KeyUsagePage; bars: readonly Bar[] },
  ): Promise<Bar[]> {
    return readGroupBars({
      range,
      groups: keys.length,
      bars,
      others: "Other keys",
      async read({ step, most }) {
        const names = new Map(keys.slice(0, most).map(({ keyId, name }) => [keyId, name]));
        const rows = await usageOfKeys(reports, { accountId, ...range, keyIds: [...names.keys()], step });
        return rows.map(({ keyId, ...usage }) => ({ ...usage, group: names.get(keyId) ?? keyId }));
      },
    });
  }

  /** By bucket and the member who created the key. */
  async function readMemberBars(
    scope: Scope,
    {
      range,
      byMember,
      memberNames,
      bars,
    }: {
      range: DayRange;
      byMember: readonly UsageOfMember[];
      memberNames: ReadonlyMap<string, string>;
      bars: readonly Bar[];
    },
  ): Promise<Bar[]> {
    return readGroupBars({
      range,
      groups: byMember.length,
      bars,
      others: "Other members",
      async read(query) {
        const rows = await usageByMember(reports, { ...scope, ...range, ...query });
        return rows.map(({ personId, ...usage }) => ({ ...usage, group: memberNames.get(personId) ?? "Former member" }));
      },
    });
  }
}

/** An invalid value counts as not chosen. */
function readChoice(
  { unit, by, only, tag, project }: z.infer<typeof choiceSchema>,
  { hasSome, tagNames, hasProjects }: LabelChoices & { hasProjects: boolean },
): ChartChoice {
  const isOffered = {
    class: unit === "tokens",
    tag: tagNames.length > 0,
    user: hasSome,
    model: true,
    key: true,
    project: hasProjects,
    member: true,
  };
  return {
    metric: unit,
    by: isOffered[by] ? by : "model",
    tag: tagNames.find((name) => name === tag) ?? tagNames[0],
    project,
    only: only === "" ? undefined : only,
  };
}
