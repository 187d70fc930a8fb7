import { html } from "ghtml";
import type { ListedKey } from "../../ledger/key-list.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import type { ListedRequest, RequestPage } from "../../ledger/request-list.ts";
import type { Member } from "../session/visitor.ts";
import type { DayRange } from "../usage/range.ts";
import { INTERFACE_NAMES } from "./interface-names.ts";
import { layout } from "./layout.ts";
import { rangePicker, rangeQuery } from "./range-picker.ts";

export interface RequestsView {
  visitor: Member;
  range: DayRange;
  page: RequestPage;
  keys: readonly ListedKey[];
  filter: { key: string | undefined; model: string | undefined };
}

export function requestsPage({ visitor, range, page, keys, filter }: RequestsView): string {
  const names = new Map(keys.map(({ publicId, name }) => [publicId, name]));
  const kept = {
    ...rangeQuery(range),
    ...(filter.key === undefined ? {} : { key: filter.key }),
    ...(filter.model === undefined ? {} : { model: filter.model }),
  };
  const next =
    page.next === null ? "" : new URLSearchParams({ ...kept, after: `${page.next.requestId}.${page.next.attempt}` }).toString();
  const body = html`<p class="small">
      <a href="/dashboard/usage?${new URLSearchParams(rangeQuery(range)).toString()}">Billing &amp; Usage</a>
    </p>
    <h1>Every request</h1>
    !${rangePicker("/dashboard/usage/requests", range)} !${chosen(filter, names, range)}
    !${page.requests.length === 0 ? html`<div class="card empty"><p>There is no such request in these days.</p></div>` : table(page.requests, names)}
    <p class="more"><a href="/dashboard/usage/csv/requests?${new URLSearchParams(kept).toString()}" download>As CSV</a></p>
    !${next === "" ? "" : html`<p class="more"><a class="button" href="/dashboard/usage/requests?${next}">Older requests</a></p>`}`;
  return layout({ title: "Every request", visitor, path: "/dashboard/usage", body });
}

function chosen({ key, model }: RequestsView["filter"], names: ReadonlyMap<string, string>, range: DayRange): string {
  const words = [
    ...(key === undefined ? [] : [`key ${names.get(key) ?? key}`]),
    ...(model === undefined ? [] : [`model ${model}`]),
  ];
  if (words.length === 0) return "";
  const all = new URLSearchParams(rangeQuery(range)).toString();
  return html`<p>Only ${words.join(", ")}. <a href="/dashboard/usage/requests?${all}">Show all</a></p>`;
}

function table(requests: readonly ListedRequest[], names: ReadonlyMap<string, string>): string {
  return html`<table class="responsive">
    <thead>
      <tr>
        <th scope="col">Time (UTC)</th>
        <th scope="col">Model</th>
        <th scope="col">Key</th>
        <th scope="col">Result</th>
        <th scope="col" class="number">Input</th>
        <th scope="col" class="number">Cached</th>
        <th scope="col" class="number">Output</th>
        <th scope="col" class="number">Seconds</th>
        <th scope="col" class="number">Charge in USD</th>
      </tr>
    </thead>
    <tbody>
      !${requests.map((request) => row(request, names)).join("")}
    </tbody>
  </table>`;
}

function row(request: ListedRequest, names: ReadonlyMap<string, string>): string {
  const at = request.startedAt.toISOString();
  return html`<tr>
    <th scope="row" data-label="Time (UTC)">
      <time datetime="${at}" title="Request ${request.requestId}">${at.slice(5, 19).replace("T", " ")}</time>
    </th>
    <td data-label="Model">
      <span
        >${request.model}<br /><span class="muted small"
          >${INTERFACE_NAMES[request.interface]}${request.isStream ? ", stream" : ""}</span
        ></span
      >
    </td>
    <td data-label="Key">${names.get(request.keyId) ?? request.keyId}</td>
    <td data-label="Result">
      <span
        >${request.outcome}!${request.isEstimated ? ' <span class="badge" title="The model server did not tell the usage: it was counted here">estimated</span>' : ""}</span
      >
    </td>
    <td data-label="Input" class="number">${request.inputTokens.toLocaleString("en-US")}</td>
    <td data-label="Cached" class="number">${(request.cachedInputTokens + request.cacheWriteTokens).toLocaleString("en-US")}</td>
    <td data-label="Output" class="number">${request.outputTokens.toLocaleString("en-US")}</td>
    <td data-label="Seconds" class="number">${(request.durationMs / 1000).toFixed(1)}</td>
    <td data-label="Charge in USD" class="number">${formatNanoUsd(request.chargeNanoUsd)}</td>
  </tr>`;
}
