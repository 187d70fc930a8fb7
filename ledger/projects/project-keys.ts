import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable, Reader } from "../postgres/database.ts";

/** As SQL: the keys in the project `$position`. */
export function keysOfProject(position: number): string {
  return `SELECT public_id FROM project_key WHERE project_id = $${position}::uuid`;
}

/**
 * Puts a key into a project, or takes it out of all (null), in a transaction. The key must be the account's.
 * @param assignment.field the caller's name for the field of the project, for errors.
 * @returns whether that changed anything.
 * @throws GatewayError `not_found` when the account has no such project, or it was deleted.
 */
export async function assignProject(
  transaction: Queryable,
  {
    accountId,
    publicId,
    projectId,
    field = "project_id",
  }: { accountId: string; publicId: string; projectId: string | null; field?: string },
): Promise<boolean> {
  if (projectId === null) return (await transaction.execute("DELETE FROM project_key WHERE public_id = $1", [publicId])) > 0;
  // The lock keeps the project from being deleted before the key is in it.
  const found = await transaction.query({
    text: "SELECT id FROM project WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR KEY SHARE",
    values: [accountId, projectId],
    row: z.strictObject({ id: z.string() }),
  });
  if (found.length === 0)
    throw new GatewayError(
      "not_found",
      "This account has no such project. The Projects page and GET /api/v1/projects list them.",
      { field },
    );
  const changed = await transaction.execute(
    `INSERT INTO project_key (public_id, project_id) VALUES ($1, $2)
     ON CONFLICT (public_id) DO UPDATE SET project_id = excluded.project_id WHERE project_key.project_id <> excluded.project_id`,
    [publicId, projectId],
  );
  return changed > 0;
}

/** An account has no more keys than this, apart from those deleted long ago. */
const MAX_KEYS = 11_000;

/** Keys of an account that are in a project, deleted or not, newest first. */
export async function listKeysOfProject(
  database: Reader,
  { accountId, projectId }: { accountId: string; projectId: string },
): Promise<string[]> {
  const rows = await database.query({
    text: `SELECT public_id AS "publicId" FROM api_key JOIN project_key USING (public_id)
           WHERE account_id = $1 AND project_id = $2 ORDER BY created_at DESC LIMIT $3`,
    values: [accountId, projectId, MAX_KEYS],
    row: z.strictObject({ publicId: z.string() }),
  });
  return rows.map(({ publicId }) => publicId);
}
