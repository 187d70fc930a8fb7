import { html } from "ghtml";
import type { Incident, IncidentStatus } from "../../ledger/incidents/incidents.ts";
import type { OrOther } from "../../ledger/postgres/known-or-other.ts";
import { msOfId } from "../../ledger/usage/request-id-time.ts";
import { exactMoment } from "./time.ts";

export const STATUS_NAMES: Record<OrOther<IncidentStatus>, string> = {
  investigating: "Investigating",
  identified: "Identified",
  monitoring: "Monitoring",
  resolved: "Resolved",
  scheduled: "Scheduled",
  other: "Other",
};
export const IMPACT_NAMES: Record<Incident["impact"], string> = {
  minor: "Minor outage",
  major: "Major outage",
  maintenance: "Maintenance",
  other: "Other",
};
const IMPACT_BADGES: Record<Incident["impact"], string> = { minor: "warn", major: "bad", maintenance: "", other: "" };

export function statusOf({ updates }: Incident): string {
  const [latest] = updates;
  return latest === undefined ? "" : STATUS_NAMES[latest.status];
}

export function impactBadge({ impact }: Incident): string {
  return html`<span class="badge ${IMPACT_BADGES[impact]}">${IMPACT_NAMES[impact]}</span>`;
}

/** An incident with all of its updates. */
export function incidentCard(incident: Incident): string {
  return html`<article class="card stack incident">
    <h3>${incident.title}</h3>
    <p>
      !${impactBadge(incident)}
      <span class="badge ${incident.resolvedAt === null ? "warn" : "active"}">${statusOf(incident)}</span>
    </p>
    !${updateList(incident)}
  </article>`;
}

export function updateList({ updates }: Incident): string {
  const items = updates.map(
    ({ id, status, message }) =>
      html`<li>
        <p><strong>${STATUS_NAMES[status]}</strong> · <span class="muted small">!${exactMoment(new Date(msOfId(id)))}</span></p>
        <p>
          !${message
            .split(/\r?\n/)
            .map((line) => html`${line}`)
            .join("<br />")}
        </p>
      </li>`,
  );
  return html`<ol class="updates">
    !${items.join("")}
  </ol>`;
}
