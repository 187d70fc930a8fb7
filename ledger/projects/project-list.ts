import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { cutPage } from "../postgres/page.ts";
import type { Queryable, Reader } from "../postgres/database.ts";

/** A project's name. */
export interface NamedProject {
  id: string;
  name: string;
}

export interface ListedProject extends NamedProject {
  createdAt: Date;
  /** Email address. */
  createdBy: string;
  /** Deleted ones are not counted. */
  keys: number;
  /** By its keys, deleted ones too, in the UTC month. */
  spentThisMonthNanoUsd: bigint;
  budgetNanoUsd: bigint | null;
}

const row = z.strictObject({
  id: z.string(),
  name: z.string(),
  createdAt: z.date(),
  createdBy: z.string(),
  keys: z.int(),
  spentThisMonthNanoUsd: z.bigint(),
  budgetNanoUsd: z.bigint().nullable(),
});

const BY_NAME = "lower(project.name), project.id";

/** Usage is summed by key once, for all projects of the account. */
const SELECT = `WITH spent AS (
    SELECT project_id, sum(charge_nano_usd)::bigint AS amount FROM usage_by_day JOIN project_key ON public_id = key_id
    WHERE account_id = $1 AND day >= date_trunc('month', now() AT TIME ZONE 'UTC')::date GROUP BY project_id
  )
  SELECT project.id, project.name, project.created_at AS "createdAt", email AS "createdBy",
    (SELECT count(*)::integer FROM project_key JOIN api_key USING (public_id) WHERE project_id = project.id AND revoked_at IS NULL) AS keys,
    coalesce(spent.amount, 0) AS "spentThisMonthNanoUsd", amount_nano_usd AS "budgetNanoUsd"
  FROM project JOIN person ON person.id = created_by LEFT JOIN spent ON spent.project_id = project.id
  LEFT JOIN project_budget ON project_budget.project_id = project.id
  WHERE project.account_id = $1 AND deleted_at IS NULL`;

export interface ProjectPage {
  /** By name. */
  projects: ListedProject[];
  /** Id of the last one of this page, if another page follows. */
  next: string | null;
}

/** A page of an account's projects, without deleted ones. */
export async function listProjects(
  database: Reader,
  { accountId, limit, afterId = null }: { accountId: string; limit: number; afterId?: string | null },
): Promise<ProjectPage> {
  const rows = await database.query({
    text: `${SELECT} AND ($2::uuid IS NULL
             OR (lower(project.name), project.id) > (SELECT lower(name), id FROM project WHERE account_id = $1 AND id = $2))
           ORDER BY ${BY_NAME} LIMIT $3`,
    values: [accountId, afterId, limit + 1],
    row,
  });
  const { page, next } = cutPage(rows, limit, ({ id }) => id);
  return { projects: page, next };
}

/** @throws GatewayError `not_found` when the account has no such project, or it was deleted. */
export async function findProject(
  database: Reader,
  { accountId, id }: { accountId: string; id: string },
): Promise<ListedProject> {
  const isId = z.uuid().safeParse(id).success;
  const [found] = isId ? await database.query({ text: `${SELECT} AND project.id = $2`, values: [accountId, id], row }) : [];
  if (found === undefined) throw new GatewayError("not_found", "This account has no such project.", { field: "id" });
  return found;
}

/** All projects of an account, without deleted ones, to choose one of them. */
export async function listProjectNames(database: Queryable, accountId: string): Promise<NamedProject[]> {
  return database.query({
    text: `SELECT id, name FROM project WHERE account_id = $1 AND deleted_at IS NULL ORDER BY ${BY_NAME} LIMIT $2`,
    values: [accountId, ACCOUNT_BOUNDS.projects],
    row: z.strictObject({ id: z.string(), name: z.string() }),
  });
}
