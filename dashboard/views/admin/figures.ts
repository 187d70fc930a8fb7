import { html } from "ghtml";
import { promptTokensOf } from "../../../contract/usage.ts";
import type { AccountFigures, Margin, ModelFigures, ServiceFigures } from "../../../ledger/usage/service-figures.ts";
import type { Member } from "../../session/visitor.ts";
import type { DayRange } from "../../usage/range.ts";
import { empty } from "../empty.ts";
import { compact, compactCell, figure, usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { namedRanges } from "../usage/range-picker.ts";
import { unitColumns } from "../unit-columns.ts";
import { adminPage } from "./admin.ts";
import { counted } from "../../counted.ts";

const PATH = "/dashboard/admin/figures";

export interface AdminFiguresView {
  visitor: Member;
  range: DayRange;
  figures: ServiceFigures;
}

export function adminFiguresPage({ visitor, range, figures }: AdminFiguresView): string {
  const { payments, returnedNanoUsd, givenNanoUsd, usage, margin, activeAccounts, models, topAccounts } = figures;
  const answered = models.reduce((sum, model) => sum + model.answered, 0);
  const failed = models.reduce((sum, model) => sum + model.failed, 0);
  const body = html`<div class="title">
      <h1>Service</h1>
      !${picker(range)}
    </div>
    <div class="cards">
      !${figure({
        name: "Top-ups",
        value: usd(payments.amountNanoUsd),
        note: html`${counted(payments.count, "payment")} from ${counted(payments.accounts, "account")}. Refunded or disputed:
        !${usd(returnedNanoUsd)}.`,
      })}
      !${figure({ name: "Usage", value: usd(usage.chargeNanoUsd), note: html`Charged to ${counted(activeAccounts, "active account")}. Granted or redeemed: !${usd(givenNanoUsd)}.` })}
      !${margin === null ? "" : figure({ name: "Margin", value: html`${percentOf(margin)}`, note: html`!${usd(margin.chargeNanoUsd)} charged, !${usd(margin.costNanoUsd)} of cost. Models and days without a stated cost are left out.` })}
      !${figure({ name: "Requests", value: compact(usage.requests), note: html`!${compact(promptTokensOf(usage))} input and !${compact(usage.outputTokens)} output tokens!${usage.searches === 0 ? "" : html`, !${compact(usage.searches)} ${usage.searches === 1 ? "search" : "searches"}`}.` })}
      !${figure({ name: "Error rate", value: rate(answered, failed), note: "Failed or interrupted by a model server, in full hours. Kept for 90 days." })}
    </div>
    <h2>Models</h2>
    !${models.length === 0 ? empty("No requests in this period") : modelTable(models)}
    !${models.length === 0 || margin !== null ? "" : NO_COST}
    <h2>Top accounts</h2>
    !${topAccounts.length === 0 ? empty("No requests in this period") : accountTable(topAccounts)}`;
  return adminPage({ title: "Service", visitor, path: PATH, body });
}

function picker(range: DayRange): string {
  const { fromDay, toDay } = range;
  return html`<div class="range">
    !${namedRanges(PATH, range)}
    <span class="muted small">${fromDay === toDay ? fromDay : `${fromDay} to ${toDay}`}, UTC</span>
  </div>`;
}

function rate(answered: number, failed: number): string {
  if (answered === 0) return "–";
  return failed === 0 ? "0%" : `${((failed / answered) * 100).toFixed(2)}%`;
}

const NO_COST = html`<p class="muted small">
  To see margins, state what the model servers charge you in <code>spec.cost</code> of each Model.
</p>`;

/** Charges minus costs; a loss is negative. */
function percentOf({ chargeNanoUsd, costNanoUsd }: Margin): string {
  if (chargeNanoUsd === 0n) return "–";
  const tenths = Number(((chargeNanoUsd - costNanoUsd) * 1000n) / chargeNanoUsd) / 10;
  return `${tenths.toFixed(1).replace("-", "−")}%`;
}

function modelTable(models: readonly ModelFigures[]): string {
  const hasMargins = models.some(({ margin }) => margin !== null);
  const units = unitColumns(models);
  const marginCells = (margin: Margin | null) =>
    html`<td data-label="Cost" class="number">!${margin === null ? "–" : usd(margin.costNanoUsd)}</td>
      <td data-label="Margin" class="number">${margin === null ? "–" : percentOf(margin)}</td>`;
  const rows = models.map(
    ({ model, requests, answered, failed, outputTokens, chargeNanoUsd, margin, ...sums }) =>
      html`<tr>
        <th scope="row" data-label="Model"><code>!${clipped(model)}</code></th>
        <td data-label="Requests" class="number">${requests.toLocaleString("en-US")}</td>
        <td data-label="Errors" class="number">${rate(answered, failed)}</td>
        <td data-label="Input tokens" class="number">!${compactCell(promptTokensOf(sums))}</td>
        <td data-label="Output tokens" class="number">!${compactCell(outputTokens)}</td>
        !${units.map(({ head, of }) => html`<td data-label="${head}" class="number">!${compactCell(of(sums))}</td>`).join("")}
        <td data-label="Charged" class="number">!${usd(chargeNanoUsd)}</td>
        !${hasMargins ? marginCells(margin) : ""}
      </tr>`,
  );
  const names = [
    "Requests",
    "Errors",
    "Input tokens",
    "Output tokens",
    ...units.map(({ head }) => head),
    "Charged",
    ...(hasMargins ? ["Cost", "Margin"] : []),
  ];
  return responsiveTable(["Model", ...names.map((number) => ({ number }))], rows, names.length > 6 ? "whole" : "wide");
}

function accountTable(accounts: readonly AccountFigures[]): string {
  const rows = accounts.map(
    ({ accountId, name, requests, chargeNanoUsd }) =>
      html`<tr>
        <th scope="row" data-label="Account">
          <span
            ><a href="/dashboard/admin/accounts/${accountId}">!${clipped(name)}</a
            ><span class="sub">!${clipped(accountId)}</span></span
          >
        </th>
        <td data-label="Requests" class="number">${requests.toLocaleString("en-US")}</td>
        <td data-label="Charged" class="number">!${usd(chargeNanoUsd)}</td>
      </tr>`,
  );
  return responsiveTable(["Account", { number: "Requests" }, { number: "Charged" }], rows);
}
