import { html } from "ghtml";
import type { CheckResult } from "../../../ledger/upkeep/check-runs.ts";
import type { Member } from "../../session/visitor.ts";
import { adminPage } from "./admin.ts";
import { csrfField } from "../layout.ts";
import { moment } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

const PATH = "/dashboard/admin/check";

export interface AdminCheckView {
  visitor: Member;
  /** That somebody asked for. */
  last: CheckResult | undefined;
  nightly: CheckResult | undefined;
}

export function adminCheckPage({ visitor, last, nightly }: AdminCheckView): string {
  const isRunning = last !== undefined && last.endedAt === null;
  const body = html`<div class="title">
      <h1>Integrity</h1>
      !${isRunning ? html`<a class="button" href="${PATH}">Load again</a>` : askForm(visitor.csrf)}
    </div>
    <p class="muted">
      Everything is added up again: entries against balances, leases, charges, codes, payments and usage. Nothing should ever
      differ.
    </p>
    <h2>The last check that was asked for</h2>
    !${last === undefined ? html`<p>None was asked for yet.</p>` : result(last)}
    <h2>The last night's check</h2>
    !${nightly === undefined ? html`<p>None has come to its end yet.</p>` : result(nightly)}`;
  return adminPage({ title: "Integrity", visitor, path: PATH, body });
}

function askForm(csrf: string): string {
  return html`<form method="post" action="${PATH}">!${csrfField(csrf)}<button class="primary">Check now</button></form>`;
}

function result(check: CheckResult): string {
  const { startedAt, endedAt, isFailed, differences, found } = check;
  if (isFailed)
    return html`<p class="problem">It began !${moment(startedAt)} and could not be brought to its end. Ask for it again.</p>`;
  if (endedAt === null || differences === null) return html`<p>It began !${moment(startedAt)} and is under way.</p>`;
  if (differences === 0) return html`<p><span class="badge active">Everything adds up</span> !${moment(endedAt)}</p>`;
  const rows = found.map(
    (each) =>
      html`<tr>
        <th scope="row" data-label="Check">${each.check}</th>
        <td data-label="What"><code>${each.subject}</code></td>
        <td data-label="Expected" class="number">${each.expected}</td>
        <td data-label="Found" class="number">${each.found}</td>
      </tr>`,
  );
  return html`<p class="problem">
      ${differences === 1 ? "One number differs" : `${differences} numbers differ`}, !${moment(endedAt)}.
      ${found.length < differences ? `The first ${found.length}:` : ""} Money is in nano-USD.
    </p>
    !${responsiveTable(["Check", "What", { number: "Expected" }, { number: "Found" }], rows)}`;
}
