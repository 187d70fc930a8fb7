import { html } from "ghtml";
import { IMPACTS, INCIDENT_STATUSES, type Incident } from "../../../ledger/incidents/incidents.ts";
import { msOfId } from "../../../ledger/usage/request-id-time.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem, textArea } from "../field.ts";
import { IMPACT_NAMES, impactBadge, STATUS_NAMES, statusOf, updateList } from "../incident.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { olderLink } from "../older-link.ts";
import { adminPage } from "./admin.ts";

const PATH = "/dashboard/admin/incidents";

export interface AdminIncidentsView {
  visitor: Member;
  /** The newest first. */
  incidents: readonly Incident[];
  form: FormState;
  next: string | null;
}

export function adminIncidentsPage({ visitor, incidents, form, next }: AdminIncidentsView): string {
  const body = html`<h1>Incidents</h1>
    <p class="muted">Anyone can read them on the <a href="/dashboard/status">status page</a>.</p>
    <form method="post" action="${PATH}" class="card stack">
      <h2>New incident</h2>
      !${formProblem(form)} !${csrfField(visitor.csrf)}
      !${field({ name: "title", label: "Title", placeholder: "Slow responses from modelx-v4-pro", isRequired: true }, form)}
      <div class="grid">
        !${choice({ name: "impact", label: "Impact", options: namedOptions(IMPACTS, IMPACT_NAMES) }, form)} !${statusSelect(form)}
      </div>
      !${textArea({ name: "message", label: "Message", rows: 4, isRequired: true }, form)}
      <button class="primary">Publish</button>
    </form>
    <h2>All incidents</h2>
    !${incidents.length === 0 ? empty("No incidents yet") : table(incidents)}
    !${next === null ? "" : olderLink(PATH, { before: next }, "Older incidents")}`;
  return adminPage({ title: "Incidents", visitor, path: PATH, body });
}

export function adminIncidentPage({ visitor, incident, form }: { visitor: Member; incident: Incident; form: FormState }): string {
  const body = html`<p class="crumb"><a href="${PATH}">Incidents</a></p>
    <h1>${incident.title}</h1>
    <p>!${impactBadge(incident)}</p>
    <form method="post" action="${PATH}/${incident.id}" class="card stack">
      <h2>New update</h2>
      !${formProblem(form)} !${csrfField(visitor.csrf)} !${statusSelect(form)}
      !${textArea({ name: "message", label: "Message", rows: 4, isRequired: true }, form)}
      <button class="primary">Publish update</button>
    </form>
    <h2>Updates</h2>
    <div class="card">!${updateList(incident)}</div>`;
  return adminPage({ title: incident.title, visitor, path: PATH, body });
}

function statusSelect(form: FormState): string {
  return choice({ name: "status", label: "Status", options: namedOptions(INCIDENT_STATUSES, STATUS_NAMES) }, form);
}

function namedOptions<Value extends string>(values: readonly Value[], names: Record<Value, string>): Option[] {
  return values.map((value) => [value, names[value]]);
}

function table(incidents: readonly Incident[]): string {
  const rows = incidents.map(
    (incident) =>
      html`<tr>
        <th scope="row" data-label="Incident"><a href="${PATH}/${incident.id}">!${clipped(incident.title)}</a></th>
        <td data-label="Impact">!${impactBadge(incident)}</td>
        <td data-label="Status">${statusOf(incident)}</td>
        <td data-label="Published">!${moment(new Date(msOfId(incident.id)))}</td>
        <td data-label="Resolved">!${incident.resolvedAt === null ? "–" : moment(incident.resolvedAt)}</td>
      </tr>`,
  );
  return responsiveTable(["Incident", "Impact", "Status", "Published", "Resolved"], rows, "wide");
}
