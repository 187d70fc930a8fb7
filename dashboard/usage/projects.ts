import type { DaySpan } from "../../contract/days.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { usageByProject, type UsageOfProject } from "../../ledger/usage/project-series.ts";
import { bucketOf, stepOf } from "../charts/buckets.ts";
import { MAX_SERIES, restOf, type Bar } from "../charts/series.ts";
import { deletedName } from "../projects/project-choices.ts";
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

/** By bucket and project, for as many projects as there are colours; the others are combined. */
export async function readProjectBars(
  database: Reader,
  {
    accountId,
    range,
    byProject,
    bars,
  }: { accountId: string; range: DayRange; byProject: readonly UsageOfProject[]; bars: readonly Bar[] },
): Promise<Bar[]> {
  const step = stepOf(range);
  const hasRest = byProject.length > MAX_SERIES;
  const rows = await usageByProject(database, {
    accountId,
    fromDay: range.fromDay,
    toDay: range.toDay,
    step: step === "hour" ? step : "day",
    most: hasRest ? MAX_SERIES - 1 : MAX_SERIES,
  });
  const ofProjects = rows.map(({ projectId, name, isDeleted, start, ...usage }) => ({
    ...usage,
    group: projectId === "" ? NO_PROJECT : isDeleted ? deletedName(name) : name,
    bucket: bucketOf(start, step),
  }));
  return hasRest ? [...ofProjects, ...restOf(bars, ofProjects, "Other projects")] : ofProjects;
}
