import { html } from "ghtml";
import { totalTokensOf } from "../../../contract/usage.ts";
import { compactCell, seconds, usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { describeOutcome } from "../usage/outcome-names.ts";
import type { Activity } from "./overview-view.ts";

export function recentRequests({ requests, keyNames }: Activity): string {
  const names = new Map(keyNames.map(({ publicId, name }) => [publicId, name]));
  const rows = requests.map(({ requestId, startedAt, model, keyId, ...request }) => {
    const { name, badge } = describeOutcome(request);
    return html`<tr>
      <th scope="row" data-label="Time"><a href="/dashboard/usage/requests/${requestId}">!${moment(startedAt)}</a></th>
      <td data-label="Model">!${clipped(model)}</td>
      <td data-label="Key">!${clipped(names.get(keyId) ?? keyId)}</td>
      <td data-label="Status"><span class="badge ${badge}">${name}</span></td>
      <td data-label="Tokens" class="number">!${compactCell(totalTokensOf(request))}</td>
      <td data-label="Duration" class="number minor">${seconds(request.durationMs)}</td>
      <td data-label="Cost" class="number">!${usd(request.chargeNanoUsd, "micros")}</td>
    </tr>`;
  });
  const heads = [
    "Time",
    "Model",
    "Key",
    "Status",
    { number: "Tokens" },
    { number: "Duration", isMinor: true },
    { number: "Cost" },
  ];
  return html`<section>
    <div class="title">
      <h2>Recent requests</h2>
      <a href="/dashboard/usage/requests">View all</a>
    </div>
    !${responsiveTable(heads, rows, "wide")}
  </section>`;
}
