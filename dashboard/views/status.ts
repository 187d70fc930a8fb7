import { html } from "ghtml";
import type { ModelHealth } from "../../ledger/usage/model-health.ts";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";
import { clipped, responsiveTable } from "./responsive-table.ts";

export interface StatusView {
  visitor: Member | null;
  /** Of the models that are served; null: the ledger does not answer. */
  names: readonly string[] | null;
  health: readonly ModelHealth[];
}

/** So many failures in a hundred are told; fewer are ordinary. */
const TOLD_PERCENT = 5;

type State = "good" | "bad" | "quiet";

export function statusPage({ visitor, names, health }: StatusView): string {
  const states = (names ?? []).map((name) => ({ name, ...stateOf(health.find(({ model }) => model === name)) }));
  const troubled = states.filter(({ state }) => state === "bad");
  const words =
    names === null
      ? "Accounts and usage are temporarily unavailable. Requests with recently used keys still work."
      : troubled.length === 0
        ? "All systems operational."
        : `Degraded: ${troubled.map(({ name }) => name).join(", ")}.`;
  const rows = states.map(
    ({ name, state, note }) =>
      html`<tr>
        <th scope="row" data-label="Model"><code>!${clipped(name)}</code></th>
        <td data-label="Status"><span class="badge ${BADGES[state]}">${STATES[state]}</span></td>
        <td data-label="Success rate, last hour">${note}</td>
      </tr>`,
  );
  const body = html`<h1>Status</h1>
    <p role="status"><strong>${words}</strong></p>
    !${rows.length === 0 ? "" : table(rows)}
    <p class="muted">Based on requests of all accounts in the last hour. Updated every few seconds.</p>`;
  return layout({ title: "Status", visitor, path: "/dashboard/status", body, isNarrow: true });
}

function table(rows: readonly string[]): string {
  return responsiveTable(["Model", "Status", "Success rate, last hour"], rows, "narrow");
}

const STATES: Record<State, string> = { good: "operational", bad: "degraded", quiet: "no recent requests" };
const BADGES: Record<State, string> = { good: "active", bad: "expired", quiet: "" };

/** How much a model is used is nobody else's business: shares, never counts. */
function stateOf(health: ModelHealth | undefined): { state: State; note: string } {
  if (health === undefined || health.answered === 0) return { state: "quiet", note: "–" };
  const failedPercent = (health.failed / health.answered) * 100;
  const note = `${(100 - failedPercent).toFixed(failedPercent > 0 && failedPercent < 1 ? 1 : 0)}%`;
  return { state: failedPercent >= TOLD_PERCENT ? "bad" : "good", note };
}
