import { html } from "ghtml";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { ListedRequest, RequestPage } from "../../../ledger/usage/request-list.ts";
import type { Member } from "../../session/visitor.ts";
import { filterQuery, type RequestFilter } from "../../usage/filter.ts";
import type { DayRange } from "../../usage/range.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { layout } from "../layout.ts";
import { OUTCOME_NAMES } from "./outcome-names.ts";
import { hiddenFields, rangePicker, rangeQuery } from "./range-picker.ts";
import { responsiveTable } from "../responsive-table.ts";

export interface RequestsView {
  visitor: Member;
  range: DayRange;
  page: RequestPage;
  keys: readonly NamedKey[];
  /** That were used in these days. */
  models: readonly string[];
  filter: RequestFilter;
}

const PATH = "/dashboard/usage/requests";

export function requestsPage({ visitor, range, page, keys, models, filter }: RequestsView): string {
  const names = new Map(keys.map(({ publicId, name }) => [publicId, name]));
  const kept = { ...rangeQuery(range), ...filterQuery(filter) };
  const next =
    page.next === null ? "" : new URLSearchParams({ ...kept, after: `${page.next.requestId}.${page.next.attempt}` }).toString();
  const body = html`<p class="small">
      <a href="/dashboard/usage?${new URLSearchParams(rangeQuery(range)).toString()}">Billing &amp; Usage</a>
    </p>
    <h1>Every request</h1>
    !${rangePicker(PATH, range, filterQuery(filter))} !${filters({ range, keys, models, filter })}
    !${page.requests.length === 0 ? html`<div class="card empty"><p>There is no such request in these days.</p></div>` : table(page.requests, names)}
    <p class="more"><a href="/dashboard/usage/csv/requests?${new URLSearchParams(kept).toString()}" download>As CSV</a></p>
    !${next === "" ? "" : html`<p class="more"><a class="button" href="${PATH}?${next}">Older requests</a></p>`}`;
  return layout({ title: "Every request", visitor, path: "/dashboard/usage", body });
}

function filters({ range, keys, models, filter }: Pick<RequestsView, "range" | "keys" | "models" | "filter">): string {
  const ofKeys = Object.fromEntries(keys.map(({ publicId, name }) => [publicId, name]));
  const ofModels = Object.fromEntries(models.map((model) => [model, model]));
  const isNarrowed = Object.values(filter).some((value) => value !== undefined);
  const all = new URLSearchParams(rangeQuery(range)).toString();
  return html`<form method="get" action="${PATH}" class="filters">
    !${hiddenFields(rangeQuery(range))}
    !${select({ name: "key", label: "Key", all: "All keys", options: ofKeys, chosen: filter.key })}
    !${select({ name: "model", label: "Model", all: "All models", options: ofModels, chosen: filter.model })}
    !${select({ name: "outcome", label: "Result", all: "All results", options: OUTCOME_NAMES, chosen: filter.outcome })}
    <button>Filter</button>
    !${isNarrowed ? html`<a href="${PATH}?${all}">Show all</a>` : ""}
  </form>`;
}

interface Select {
  name: string;
  label: string;
  all: string;
  options: Readonly<Record<string, string>>;
  chosen: string | undefined;
}

/** What is chosen stays in the list, whether or not it is an option in these days. */
function select({ name, label, all, options, chosen }: Select): string {
  const entries = Object.entries({ ...(chosen === undefined ? {} : { [chosen]: chosen }), ...options });
  const items = entries.map(
    ([value, words]) => html`<option value="${value}" !${value === chosen ? "selected" : ""}>${words}</option>`,
  );
  return html`<label
    ><span class="hidden">${label}</span
    ><select name="${name}">
      <option value="">${all}</option>
      !${items.join("")}
    </select></label
  >`;
}

function table(requests: readonly ListedRequest[], names: ReadonlyMap<string, string>): string {
  return responsiveTable(
    [
      "Time (UTC)",
      "Model",
      "Key",
      "Result",
      { number: "Input" },
      { number: "Cached" },
      { number: "Output" },
      { number: "Seconds" },
      { number: "Charge in USD" },
    ],
    requests.map((request) => row(request, names)),
  );
}

function row(request: ListedRequest, names: ReadonlyMap<string, string>): string {
  const at = request.startedAt.toISOString();
  return html`<tr>
    <th scope="row" data-label="Time (UTC)">
      <a href="${PATH}/${request.requestId}"><time datetime="${at}">${at.slice(5, 19).replace("T", " ")}</time></a>
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
        >${OUTCOME_NAMES[request.outcome]}!${request.isEstimated ? ' <span class="badge" title="The model server did not tell the usage: it was counted here">estimated</span>' : ""}</span
      >
    </td>
    <td data-label="Input" class="number">${request.inputTokens.toLocaleString("en-US")}</td>
    <td data-label="Cached" class="number">${(request.cachedInputTokens + request.cacheWriteTokens).toLocaleString("en-US")}</td>
    <td data-label="Output" class="number">${request.outputTokens.toLocaleString("en-US")}</td>
    <td data-label="Seconds" class="number">${(request.durationMs / 1000).toFixed(1)}</td>
    <td data-label="Charge in USD" class="number">${formatNanoUsd(request.chargeNanoUsd)}</td>
  </tr>`;
}
