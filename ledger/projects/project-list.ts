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

/** Position after the last project of a page. It needs no row: the project may be renamed or deleted before the next page is read. */
export type ProjectPosition = NamedProject;

export interface ProjectPage {
  /** By name. */
  projects: ListedProject[];
  /** Of the next page; null: this is the last one. */
  next: ProjectPosition | null;
}

/** A page of an account's projects, without deleted ones. */
export async function listProjects(
  database: Reader,
  { accountId, limit, after }: { accountId: string; limit: number; after?: ProjectPosition | undefined },
): Promise<ProjectPage> {
  const rows = await database.query({
    text: `${SELECT} AND ($2::uuid IS NULL OR (${BY_NAME}) > (lower($3::text), $2)) ORDER BY ${BY_NAME} LIMIT $4`,
    values: [accountId, after?.id ?? null, after?.name ?? null, limit + 1],
    row,
  });
  const { page, next } = cutPage(rows, limit, ({ id, name }) => ({ id, name }));
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

/** The name of one of an account's projects, deleted or not; undefined if it has no such project. */
export async function readProjectName(
  database: Reader,
  { accountId, id }: { accountId: string; id: string },
): Promise<{ name: string; isDeleted: boolean } | undefined> {
  const [found] = await database.query({
    text: `SELECT name, deleted_at IS NOT NULL AS "isDeleted" FROM project WHERE account_id = $1 AND id = $2`,
    values: [accountId, id],
    row: z.strictObject({ name: z.string(), isDeleted: z.boolean() }),
  });
  return found;
}
