import { html } from "ghtml";
import { addUsage, NO_USAGE_SUMS, type UsageSums } from "../../../ledger/usage/sums.ts";
import { totalTokensOf } from "../../../contract/usage.ts";
import { compactCell, usd } from "../figures.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import type { Activity } from "./overview-view.ts";

const MOST = 5;

export function topModels({ bars }: Activity): string {
  const sums = new Map<string, UsageSums>();
  for (const bar of bars) sums.set(bar.group, addUsage(sums.get(bar.group) ?? NO_USAGE_SUMS, bar));
  const rows = [...sums]
    .map(([model, usage]) => ({ name: model, link: `model=${encodeURIComponent(model)}`, usage }))
    .sort((a, b) => Number(b.usage.chargeNanoUsd - a.usage.chargeNanoUsd));
  return topList("Top models", "Model", rows);
}

export function topKeys({ byKey }: Activity): string {
  const rows = byKey.keys.map(({ keyId, name, ...usage }) => ({ name, link: `key=${keyId}`, usage }));
  return topList("Top keys", "Key", rows);
}

interface Row {
  name: string;
  /** Query of the logs that belong to it. */
  link: string;
  usage: UsageSums;
}

function topList(title: string, head: string, rows: readonly Row[]): string {
  const cells = rows.slice(0, MOST).map(
    ({ name, link, usage }) =>
      html`<tr>
        <th scope="row" data-label="${head}"><a href="/dashboard/usage/requests?range=30d&${link}">!${clipped(name)}</a></th>
        <td data-label="Requests" class="number">${usage.requests.toLocaleString("en-US")}</td>
        <td data-label="Tokens" class="number">!${compactCell(totalTokensOf(usage))}</td>
        <td data-label="Spend" class="number">!${usd(usage.chargeNanoUsd)}</td>
      </tr>`,
  );
  return html`<section>
    <h2>${title}</h2>
    !${responsiveTable([head, { number: "Requests" }, { number: "Tokens" }, { number: "Spend" }], cells, "narrow")}
  </section>`;
}
