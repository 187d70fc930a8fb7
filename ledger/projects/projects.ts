import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { admitChange } from "../people/audit.ts";
import type { Queryable } from "../postgres/database.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** Who acts: a person, or a management token, for which its creator counts. */
export interface ProjectActor {
  accountId: string;
  personId: string | null;
  tokenId: string | null;
}

/** A project of an account. */
interface ProjectIdentity {
  accountId: string;
  id: string;
}

export const PROJECT_NAME_LENGTH = 64;

/**
 * Creates a project, in a transaction.
 * @returns its id.
 * @throws GatewayError `invalid_request` for a name that another project of the account has, whatever its case, or for too many
 * projects; `rate_limited` for too many changes in a day.
 */
export async function createProject(transaction: Queryable, actor: ProjectActor, name: string): Promise<string> {
  const { accountId, personId, tokenId } = actor;
  await admitChange(transaction, "project", actor, "manageProjects");
  if ((await countProjects(transaction, accountId)) >= ACCOUNT_BOUNDS.projects)
    throw new GatewayError(
      "invalid_request",
      `An account can have at most ${ACCOUNT_BOUNDS.projects} projects. Delete one without keys first.`,
    );
  await checkNameIsFree(transaction, { accountId, name });
  const id = uuidv7();
  await transaction.execute(
    `INSERT INTO project (id, account_id, name, created_by)
     SELECT $1, $2, $3, coalesce($4, (SELECT created_by FROM management_token WHERE id = $5))`,
    [id, accountId, name, personId, tokenId],
  );
  return id;
}

/**
 * Renames a project, in a transaction.
 * @returns its name until now.
 * @throws GatewayError `not_found` when the account has no such project; otherwise as `createProject`.
 */
export async function renameProject(
  transaction: Queryable,
  actor: ProjectActor,
  { id, name }: { id: string; name: string },
): Promise<string> {
  const { accountId } = actor;
  await admitChange(transaction, "project", actor, "manageProjects");
  const before = await readName(transaction, { accountId, id });
  await checkNameIsFree(transaction, { accountId, name, exceptId: id });
  await transaction.execute("UPDATE project SET name = $2 WHERE id = $1", [id, name]);
  return before;
}

/**
 * Deletes a project without keys, and its budget, in a transaction. Its row stays if usage of deleted keys refers to it.
 * @returns its name.
 * @throws GatewayError `not_found` when the account has no such project; `invalid_request` while keys are in it.
 */
export async function deleteProject(transaction: Queryable, project: ProjectIdentity): Promise<string> {
  await lockAccount(transaction, project.accountId);
  const name = await readName(transaction, project);
  // Waits for keys that are being moved here, and lets none follow.
  await transaction.execute("SELECT FROM project WHERE id = $1 FOR UPDATE", [project.id]);
  const [counted] = await transaction.query({
    text: `SELECT count(*)::integer AS keys, (count(*) FILTER (WHERE revoked_at IS NULL))::integer AS "keysInUse"
           FROM project_key JOIN api_key USING (public_id) WHERE project_id = $1`,
    values: [project.id],
    row: z.strictObject({ keys: z.int(), keysInUse: z.int() }),
  });
  const { keys, keysInUse } = counted ?? { keys: 0, keysInUse: 0 };
  if (keysInUse > 0)
    throw new GatewayError(
      "invalid_request",
      `This project has ${keysInUse === 1 ? "a key" : `${keysInUse} keys`}. Move or delete ${keysInUse === 1 ? "it" : "them"} first.`,
    );
  await transaction.execute("DELETE FROM project_budget WHERE project_id = $1", [project.id]);
  const statement = keys === 0 ? "DELETE FROM project WHERE id = $1" : "UPDATE project SET deleted_at = now() WHERE id = $1";
  await transaction.execute(statement, [project.id]);
  return name;
}

/** The number of an account's projects, without deleted ones. */
async function countProjects(database: Queryable, accountId: string): Promise<number> {
  const [row] = await database.query({
    text: "SELECT count(*)::integer AS projects FROM project WHERE account_id = $1 AND deleted_at IS NULL",
    values: [accountId],
    row: z.strictObject({ projects: z.int() }),
  });
  return row?.projects ?? 0;
}

async function checkNameIsFree(
  transaction: Queryable,
  { accountId, name, exceptId = null }: { accountId: string; name: string; exceptId?: string | null },
): Promise<void> {
  const taken = await transaction.query({
    text: `SELECT id FROM project WHERE account_id = $1 AND lower(name) = lower($2) AND deleted_at IS NULL AND id IS DISTINCT FROM $3`,
    values: [accountId, name, exceptId],
    row: z.strictObject({ id: z.string() }),
  });
  if (taken.length > 0)
    throw new GatewayError("invalid_request", "This account already has a project with this name. Choose another name.", {
      field: "name",
    });
}

async function readName(transaction: Queryable, { accountId, id }: ProjectIdentity): Promise<string> {
  const [row] = await transaction.query({
    text: "SELECT name FROM project WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL",
    values: [accountId, id],
    row: z.strictObject({ name: z.string() }),
  });
  if (row === undefined) throw new GatewayError("not_found", "This account has no such project.", { field: "id" });
  return row.name;
}
