import * as z from "zod";
import { findProject, listProjects, type ListedProject } from "../../../ledger/projects/project-list.ts";
import { PROJECT_NAME_LENGTH } from "../../../ledger/projects/projects.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createProjectActions } from "../../projects/project-actions.ts";
import { callerOf } from "../caller.ts";
import { encodeProjectCursor, readProjectCursor } from "../cursor.ts";
import type { Api } from "../provider.ts";
import { failures } from "../schemas/error.ts";
import { moment, nextCursor, pageQuery, projectId, showMoment, showMoney, usd, words } from "../schemas/values.ts";

const tags = ["Projects"];
const params = z.object({ id: projectId });
const project = z
  .object({
    id: z.uuid(),
    name: z.string(),
    created_at: moment,
    keys: z.int().meta({ description: "How many keys are in it" }),
    spent_this_month: usd,
    budget: usd.nullable().meta({ description: "Per UTC month; null: none" }),
  })
  .meta({ id: "Project" });
const named = z.strictObject({ name: words("A name", PROJECT_NAME_LENGTH) });

/** Named groups of an account's keys (docs/projects.md). */
export function projectApi(api: Api, { database }: AppDeps): void {
  const projects = createProjectActions(database);

  api.get(
    "/projects",
    {
      schema: {
        tags,
        summary: "List projects by name",
        querystring: z.strictObject(pageQuery),
        response: { 200: z.object({ data: z.array(project), next_cursor: nextCursor }), ...failures },
      },
    },
    async (request) => {
      const { accountId } = callerOf(request);
      const { limit, cursor } = request.query;
      const after = cursor === undefined ? undefined : readProjectCursor(cursor);
      const { projects: listed, next } = await listProjects(database, { accountId, limit, after });
      return { data: listed.map(showProject), next_cursor: next === null ? null : encodeProjectCursor(next) };
    },
  );

  api.post(
    "/projects",
    {
      schema: {
        tags,
        summary: "Create a project",
        description: "Its name is unique in the account, ignoring case. Requires the owner role.",
        body: named,
        response: { 201: project, ...failures },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request, "manageProjects");
      return reply.status(201).send(showProject(await projects.create(caller, request.body.name)));
    },
  );

  api.get(
    "/projects/:id",
    { schema: { tags, summary: "Get a project", params, response: { 200: project, ...failures } } },
    async (request) =>
      showProject(await findProject(database, { accountId: callerOf(request).accountId, id: request.params.id })),
  );

  api.patch(
    "/projects/:id",
    {
      schema: {
        tags,
        summary: "Rename a project",
        description: "Requires the owner role.",
        params,
        body: named,
        response: { 200: project, ...failures },
      },
    },
    async (request) => {
      const caller = callerOf(request, "manageProjects");
      return showProject(await projects.rename(caller, request.params.id, request.body.name));
    },
  );

  api.delete(
    "/projects/:id",
    {
      schema: {
        tags,
        summary: "Delete a project that has no keys",
        description: "Its budget is deleted with it. Usage of its deleted keys stays in reports. Requires the owner role.",
        params,
        response: { 204: z.null().meta({ description: "Deleted." }), ...failures },
      },
    },
    async (request, reply) => {
      await projects.delete(callerOf(request, "manageProjects"), request.params.id);
      return reply.status(204).send(null);
    },
  );
}

function showProject(listed: ListedProject): z.infer<typeof project> {
  return {
    id: listed.id,
    name: listed.name,
    created_at: showMoment(listed.createdAt),
    keys: listed.keys,
    spent_this_month: showMoney(listed.spentThisMonthNanoUsd),
    budget: listed.budgetNanoUsd === null ? null : showMoney(listed.budgetNanoUsd),
  };
}
