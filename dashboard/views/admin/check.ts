import { html } from "ghtml";
import type { CheckResult } from "../../../ledger/upkeep/check-runs.ts";
import type { Member } from "../../session/visitor.ts";
import { adminPage } from "./admin.ts";
import { csrfField } from "../csrf-field.ts";
import { moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";
import { counted } from "../../counted.ts";

const PATH = "/dashboard/admin/check";

export interface AdminCheckView {
  visitor: Member;
  /** A manual check. */
  last: CheckResult | undefined;
  nightly: CheckResult | undefined;
}

export function adminCheckPage({ visitor, last, nightly }: AdminCheckView): string {
  const isRunning = last !== undefined && last.endedAt === null;
  const body = html`<div class="title">
      <h1>Ledger integrity</h1>
      !${isRunning ? html`<a class="button" href="${PATH}">Refresh</a>` : askForm(visitor.csrf)}
    </div>
    <p class="muted">
      A check recomputes all balances from their entries, leases, charges, codes, payments and usage. There should never be a
      difference.
    </p>
    <h2>Latest manual check</h2>
    !${last === undefined ? html`<p>None yet.</p>` : result(last)}
    <h2>Latest nightly check</h2>
    !${nightly === undefined ? html`<p>None has finished yet.</p>` : result(nightly)}`;
  return adminPage({ title: "Integrity", visitor, path: PATH, body });
}

function askForm(csrf: string): string {
  return html`<form method="post" action="${PATH}">!${csrfField(csrf)}<button class="primary">Run check</button></form>`;
}

function result(check: CheckResult): string {
  const { startedAt, endedAt, isFailed, differences, found } = check;
  if (isFailed) return html`<p class="problem">Started !${moment(startedAt)}, but could not finish. Run it again.</p>`;
  if (endedAt === null || differences === null) return html`<p>Started !${moment(startedAt)}, still running.</p>`;
  if (differences === 0) return html`<p><span class="badge active">No differences</span> !${moment(endedAt)}</p>`;
  const rows = found.map(
    (each) =>
      html`<tr>
        <th scope="row" data-label="Check">${each.check}</th>
        <td data-label="Subject"><code>${each.subject}</code></td>
        <td data-label="Expected" class="number">${each.expected}</td>
        <td data-label="Found" class="number">${each.found}</td>
      </tr>`,
  );
  return html`<p class="problem">
      ${counted(differences, "difference")}, !${moment(endedAt)}.
      ${found.length < differences ? `Showing the first ${found.length}.` : ""} Amounts are in nano-USD.
    </p>
    !${responsiveTable(["Check", "Subject", { number: "Expected" }, { number: "Found" }], rows)}`;
}
