import { html } from "ghtml";
import type { Incident } from "../../ledger/incidents/incidents.ts";
import type { ModelHealth } from "../../ledger/usage/model-health.ts";
import type { ModelDay } from "../../ledger/usage/model-hours.ts";
import type { Member } from "../session/visitor.ts";
import { empty } from "./empty.ts";
import { incidentCard } from "./incident.ts";
import { layout } from "./layout.ts";
import { UPTIME_DAYS, uptimeBars, uptimeOf } from "./uptime.ts";

export interface StatusView {
  visitor: Member | null;
  /** null if the ledger does not answer. */
  service: ServiceStatus | null;
  nowMs: number;
}

export interface ServiceStatus {
  /** Of the models that are served. */
  names: readonly string[];
  /** In the last hour. */
  health: readonly ModelHealth[];
  /** In the last days. */
  days: readonly ModelDay[];
  /** Open incidents, newest first. */
  open: readonly Incident[];
  /** Past incidents, newest first. */
  past: readonly Incident[];
  /** Cursor of the next page; null on the last page. */
  nextPast: string | null;
}

/** Percentage of failures that is reported; fewer are normal. */
const FAILING_PERCENT = 5;
const UNAVAILABLE = "Accounts and usage are temporarily unavailable. Requests with recently used keys still work.";

type State = "good" | "bad" | "quiet";

export function statusPage({ visitor, service, nowMs }: StatusView): string {
  const body = html`<h1>Status</h1>
    <p role="status"><strong>${service === null ? UNAVAILABLE : summary(service)}</strong></p>
    !${service === null ? "" : details(service, nowMs)}`;
  return layout({ title: "Status", visitor, path: "/dashboard/status", body, isNarrow: true });
}

function summary({ names, health, open }: ServiceStatus): string {
  const troubled = names.filter((name) => stateOf(name, health).state === "bad");
  if (troubled.length > 0) return `Degraded: ${troubled.join(", ")}.`;
  const outages = open.filter((incident) => incident.impact !== "maintenance" && !isScheduled(incident));
  return outages.length > 0 ? "There is an ongoing incident." : "All systems operational.";
}

function details({ names, health, days, open, past, nextPast }: ServiceStatus, nowMs: number): string {
  const models = names.map((name) => modelCard(name, { health, days: days.filter(({ model }) => model === name), nowMs }));
  const older = html`<p class="more">
    <a class="button" href="/dashboard/status?before=${nextPast ?? ""}#history">Older incidents</a>
  </p>`;
  const scheduled = open.filter(isScheduled);
  const ongoing = open.filter((incident) => !isScheduled(incident));
  return html`!${incidents("Ongoing", ongoing)} !${incidents("Scheduled", scheduled)}
    !${models.length === 0 ? "" : html`<h2>Models</h2>`} !${models.join("")}
    <p class="muted">Based on requests from all accounts. The badge covers the last hour; the bars cover 30 days (UTC).</p>
    <h2 id="history">Past incidents</h2>
    !${past.length === 0 ? empty("No past incidents") : past.map(incidentCard).join("")} !${nextPast === null ? "" : older}`;
}

function isScheduled({ updates }: Incident): boolean {
  return updates[0]?.status === "scheduled";
}

function incidents(title: string, listed: readonly Incident[]): string {
  return listed.length === 0
    ? ""
    : html`<h2>${title}</h2>
        !${listed.map(incidentCard).join("")}`;
}

function modelCard(
  name: string,
  { health, days, nowMs }: { health: readonly ModelHealth[]; days: readonly ModelDay[]; nowMs: number },
): string {
  const { state, note } = stateOf(name, health);
  const uptime = uptimeOf(days);
  return html`<section class="card stack" aria-label="${name}">
    <div class="title">
      <h3><code>${name}</code></h3>
      <span class="badge ${BADGES[state]}">${STATES[state]}</span>
    </div>
    !${uptimeBars(days, nowMs)}
    <p class="muted small">${successWords(note, uptime)}</p>
  </section>`;
}

function successWords(lastHour: string | undefined, days: string | undefined): string {
  if (lastHour === undefined)
    return days === undefined
      ? `No requests in the last ${UPTIME_DAYS} days.`
      : `No requests in the last hour. ${days} succeeded in the last ${UPTIME_DAYS} days.`;
  return `${lastHour} of requests succeeded in the last hour${days === undefined ? "" : `, ${days} in the last ${UPTIME_DAYS} days`}.`;
}

const STATES: Record<State, string> = { good: "operational", bad: "degraded", quiet: "no recent requests" };
const BADGES: Record<State, string> = { good: "active", bad: "expired", quiet: "" };

/** A model's usage is confidential: shares are shown, never counts. */
function stateOf(name: string, health: readonly ModelHealth[]): { state: State; note: string | undefined } {
  const counts = health.find(({ model }) => model === name);
  if (counts === undefined || counts.answered === 0) return { state: "quiet", note: undefined };
  const failedPercent = (counts.failed / counts.answered) * 100;
  const note = `${(100 - failedPercent).toFixed(failedPercent > 0 && failedPercent < 1 ? 1 : 0)}%`;
  return { state: failedPercent >= FAILING_PERCENT ? "bad" : "good", note };
}
