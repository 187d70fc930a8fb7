import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import {
  IMPACTS,
  INCIDENT_STATUSES,
  listIncidents,
  openIncident,
  readIncident,
  updateIncident,
} from "../../../ledger/incidents/incidents.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { adminIncidentPage, adminIncidentsPage } from "../../views/admin/incidents.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const PATH = "/dashboard/admin/incidents";
const PAGE = 20;
const querySchema = z.object({ before: z.uuid().optional().catch(undefined) });

const update = {
  status: z.enum(INCIDENT_STATUSES, "Choose a status."),
  message: z.string("Enter a message.").trim().min(1, "Enter a message.").max(2000, "Use at most 2,000 characters."),
};
const updateForm = z.object(update);
const incidentForm = z.object({
  title: z.string("Enter a title.").trim().min(1, "Enter a title.").max(120, "Use at most 120 characters."),
  impact: z.enum(IMPACTS, "Choose an impact."),
  ...update,
});

type IncidentRequest = FastifyRequest<{ Params: { id: string } }>;

/** Outages and maintenance on the status page. */
export function adminIncidentRoutes(app: FastifyInstance, { database }: AppDeps): void {
  async function renderList(visitor: Member, form: FormState, beforeId?: string): Promise<string> {
    const found = await listIncidents(database, { limit: PAGE + 1, beforeId });
    const { page: incidents, next } = cutPage(found, PAGE, ({ id }) => id);
    return adminIncidentsPage({ visitor, incidents, form, next });
  }

  app.get(PATH, async (request, reply) => {
    const visitor = adminOf(request);
    const { before } = querySchema.parse(request.query ?? {});
    return sendPage(reply, await renderList(visitor, EMPTY_FORM, before));
  });

  app.post(PATH, async (request, reply) => {
    const visitor = adminOf(request);
    const { id: personId } = visitor.person;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const incident = incidentForm.parse(values);
      await database.transaction(async (transaction) => {
        await openIncident(transaction, { ...incident, personId });
        await noteAction(transaction, { accountId: null, personId, action: "incident.opened", subject: incident.title });
      });
    });
    if (failed !== undefined) return sendPage(reply, await renderList(visitor, failed), 400);
    return goTo(reply, PATH, "Incident published on the status page.");
  });

  app.get(`${PATH}/:id`, async (request: IncidentRequest, reply) => {
    const visitor = adminOf(request);
    const incident = await readIncident(database, request.params.id);
    return sendPage(reply, adminIncidentPage({ visitor, incident, form: EMPTY_FORM }));
  });

  app.post(`${PATH}/:id`, async (request: IncidentRequest, reply) => {
    const visitor = adminOf(request);
    const { id: personId } = visitor.person;
    const incident = await readIncident(database, request.params.id);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      const written = updateForm.parse(values);
      await database.transaction(async (transaction) => {
        await updateIncident(transaction, incident.id, { ...written, personId });
        const subject = `${written.status}: ${incident.title}`;
        await noteAction(transaction, { accountId: null, personId, action: "incident.updated", subject });
      });
    });
    if (form !== undefined) return sendPage(reply, adminIncidentPage({ visitor, incident, form }), 400);
    return goTo(reply, `${PATH}/${incident.id}`, "Update published on the status page.");
  });
}
