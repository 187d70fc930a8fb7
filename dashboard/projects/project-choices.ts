import type { Database } from "../../ledger/postgres/database.ts";
import { listProjectNames, readProjectName, type NamedProject } from "../../ledger/projects/project-list.ts";

/**
 * An account's projects, for a filter. A report may link to a deleted project: the chosen one is always among them.
 * @param chosen id of the project that is filtered by now.
 */
export async function listProjectChoices(
  database: Database,
  accountId: string,
  chosen: string | undefined,
): Promise<NamedProject[]> {
  const projects = await listProjectNames(database, accountId);
  if (chosen === undefined || projects.some(({ id }) => id === chosen)) return projects;
  const found = await readProjectName(database, { accountId, id: chosen });
  return [{ id: chosen, name: found === undefined ? "Unknown project" : deletedName(found.name) }, ...projects];
}

/** A deleted project where only its name is shown: another project may have the same name now. */
export function deletedName(name: string): string {
  return `${name} (deleted)`;
}
