import type { FastifyInstance, FastifyRequest } from "fastify";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { findProject, listProjects } from "../../../ledger/projects/project-list.ts";
import type { ProjectActor } from "../../../ledger/projects/projects.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage, turnAway } from "../../http/reply.ts";
import { createProjectActions } from "../../projects/project-actions.ts";
import { projectForm } from "../../projects/project-form.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmProjectPage, projectPage, PROJECTS_PATH, projectsPage } from "../../views/projects/projects.ts";

type ProjectRequest = FastifyRequest<{ Params: { id: string } }>;

/** Projects of the account (S47). */
export function projectRoutes(app: FastifyInstance, { database }: AppDeps): void {
  const actions = createProjectActions(database);
  const find = ({ membership: { accountId } }: Member, { params: { id } }: ProjectRequest) =>
    findProject(database, { accountId, id });

  async function render(visitor: Member, form: FormState = EMPTY_FORM): Promise<string> {
    const { accountId } = visitor.membership;
    const { projects } = await listProjects(database, { accountId, limit: ACCOUNT_BOUNDS.projects });
    return projectsPage({ visitor, projects, form });
  }

  app.get(PROJECTS_PATH, async (request, reply) => sendPage(reply, await render(memberOf(request))));

  app.post(PROJECTS_PATH, async (request, reply) => {
    const visitor = memberOf(request, "manageProjects");
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      await actions.create(actorOf(visitor), projectForm.parse(values).name);
    });
    if (form !== undefined) return refuseForm(reply, await render(visitor, form), { form });
    return goTo(reply, PROJECTS_PATH, "Project created.");
  });

  app.get(`${PROJECTS_PATH}/:id`, async (request: ProjectRequest, reply) => {
    const visitor = memberOf(request);
    const project = await find(visitor, request);
    return sendPage(reply, projectPage({ visitor, project, form: { values: { name: project.name }, problems: {} } }));
  });

  app.post(`${PROJECTS_PATH}/:id`, async (request: ProjectRequest, reply) => {
    const visitor = memberOf(request, "manageProjects");
    const project = await find(visitor, request);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      await actions.rename(actorOf(visitor), project.id, projectForm.parse(values).name);
    });
    if (form !== undefined) return refuseForm(reply, projectPage({ visitor, project, form }), { form });
    return goTo(reply, PROJECTS_PATH, "Project renamed.");
  });

  app.get(`${PROJECTS_PATH}/:id/delete`, async (request: ProjectRequest, reply) => {
    const visitor = memberOf(request, "manageProjects");
    const project = await find(visitor, request);
    if (project.keys > 0)
      return turnAway(reply, `/dashboard/keys?project=${project.id}`, `Move or delete the keys of “${project.name}” first.`);
    return sendPage(reply, confirmProjectPage({ visitor, project }));
  });

  app.post(`${PROJECTS_PATH}/:id/delete`, async (request: ProjectRequest, reply) => {
    const visitor = memberOf(request, "manageProjects");
    const project = await find(visitor, request);
    await actions.delete(actorOf(visitor), project.id);
    return goTo(reply, PROJECTS_PATH, `Project “${project.name}” deleted.`);
  });
}

function actorOf({ membership, person }: Member): ProjectActor {
  return { accountId: membership.accountId, personId: person.id, tokenId: null };
}
