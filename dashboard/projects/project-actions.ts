import { lockForChange } from "../../ledger/people/actor.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { findProject, type ListedProject } from "../../ledger/projects/project-list.ts";
import { createProject, deleteProject, renameProject, type ProjectActor } from "../../ledger/projects/projects.ts";

/** Changes to projects, for pages and the management API, each in one transaction with its audit entry. */
export interface ProjectActions {
  create(actor: ProjectActor, name: string): Promise<ListedProject>;
  rename(actor: ProjectActor, id: string, name: string): Promise<ListedProject>;
  /** @returns its name. */
  delete(actor: ProjectActor, id: string): Promise<string>;
}

export function createProjectActions(database: Database): ProjectActions {
  return {
    create: (actor, name) =>
      database.transaction(async (transaction) => {
        const { accountId } = actor;
        const id = await createProject(transaction, actor, name);
        await noteAction(transaction, { ...actor, action: "project.created", subject: name });
        return findProject(transaction, { accountId, id });
      }),
    rename: (actor, id, name) =>
      database.transaction(async (transaction) => {
        const { accountId } = actor;
        const before = await renameProject(transaction, actor, { id, name });
        await noteAction(transaction, { ...actor, action: "project.renamed", subject: `${before} → ${name}` });
        return findProject(transaction, { accountId, id });
      }),
    delete: (actor, id) =>
      database.transaction(async (transaction) => {
        await lockForChange(transaction, actor, "manageProjects");
        const name = await deleteProject(transaction, { accountId: actor.accountId, id });
        await noteAction(transaction, { ...actor, action: "project.deleted", subject: name });
        return name;
      }),
  };
}
