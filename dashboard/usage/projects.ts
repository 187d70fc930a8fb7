import type { DaySpan } from "../../contract/days.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { usageByProject, type UsageOfProject } from "../../ledger/usage/project-series.ts";
import type { Bar } from "../charts/series.ts";
import { deletedName } from "../projects/project-choices.ts";
import { readGroupBars } from "./group-bars.ts";
import type { DayRange } from "./range.ts";

export const NO_PROJECT = "No project";

/** Usage by project, highest charge first; empty if no key that was used is in one. */
export async function readProjectUsage(
  database: Reader,
  query: DaySpan & { accountId: string; most: number },
): Promise<UsageOfProject[]> {
  const rows = await usageByProject(database, { ...query, step: "range" });
  return rows.some(({ projectId }) => projectId !== "") ? rows : [];
}

/** By bucket and project. */
export async function readProjectBars(
  database: Reader,
  {
    accountId,
    range,
    byProject,
    bars,
  }: { accountId: string; range: DayRange; byProject: readonly UsageOfProject[]; bars: readonly Bar[] },
): Promise<Bar[]> {
  return readGroupBars({
    range,
    groups: byProject.length,
    bars,
    others: "Other projects",
    async read(query) {
      const { fromDay, toDay } = range;
      const rows = await usageByProject(database, { accountId, fromDay, toDay, ...query });
      return rows.map(({ projectId, name, isDeleted, ...usage }) => ({
        ...usage,
        group: projectId === "" ? NO_PROJECT : isDeleted ? deletedName(name) : name,
      }));
    },
  });
}
