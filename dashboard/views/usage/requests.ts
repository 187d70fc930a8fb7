import { html } from "ghtml";
import { unitsInWords } from "../../../contract/units.ts";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import { endUserIn, tagsIn } from "../../../contract/labels.ts";
import type { LabelledRequest } from "../../../ledger/usage/request-labels.ts";
import type { RequestPage } from "../../../ledger/usage/request-list.ts";
import type { NamedProject } from "../../../ledger/projects/project-list.ts";
import type { Member as AccountMember } from "../../../ledger/people/members.ts";
import { asset } from "../../assets.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { filterQuery, type RequestFilter } from "../../usage/filter.ts";
import type { DayRange } from "../../usage/range.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { empty } from "../empty.ts";
import { compact, compactCell, seconds, tokensPerSecond, usd } from "../figures.ts";
import { layout } from "../layout.ts";
import { describeOutcome, STATUS_NAMES } from "./outcome-names.ts";
import { noRequests } from "./no-requests.ts";
import { hiddenFields, rangePicker, rangeQuery } from "./range-picker.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { logMoment } from "../time.ts";

export interface RequestsView {
  visitor: Member;
  range: DayRange;
  page: Omit<RequestPage, "requests"> & { requests: readonly LabelledRequest[] };
  /** Some of the account's requests have tags or an end user. */
  hasLabels: boolean;
  /** Of the page's keys. */
  names: readonly NamedKey[];
  /** To choose one of them. */
  keys: readonly NamedKey[];
  projects: readonly NamedProject[];
  /** Used in these days. */
  models: readonly string[];
  members: readonly AccountMember[];
  filter: RequestFilter;
  /** A request id that was not found; "" if none. */
  search: string;
  /** The newest requests: the page can follow new ones. */
  isFirst: boolean;
}

const PATH = "/dashboard/usage/requests";
const PROMPT_LOG = html`<a class="button" href="/dashboard/prompt-log">Prompt log</a>`;

export function requestsPage(view: RequestsView): string {
  const { visitor, range, page, filter, search, isFirst } = view;
  const names = new Map(view.names.map(({ publicId, name }) => [publicId, name]));
  const kept = { ...rangeQuery(range), ...filterQuery(filter) };
  const next =
    page.next === null ? "" : new URLSearchParams({ ...kept, after: `${page.next.requestId}.${page.next.attempt}` }).toString();
  const body = html`<div class="title">
      <h1>Logs</h1>
      <div class="buttons">
        !${isFirst ? liveButtons(`${PATH}?${new URLSearchParams(kept).toString()}`) : ""}
        !${isAllowed(visitor.membership.role, "managePromptLog") ? PROMPT_LOG : ""}
        <a class="button" href="/dashboard/usage/csv/requests?${new URLSearchParams(kept).toString()}" download>Export CSV</a>
        <a class="button" href="/dashboard/usage/json/requests?${new URLSearchParams(kept).toString()}" download>Export JSON</a>
      </div>
    </div>
    !${searchForm(search)} !${rangePicker(PATH, range, filterQuery(filter))} !${filters(view)}
    <div data-live-part>!${page.requests.length === 0 ? nothing(filter) : table(page.requests, names)}</div>
    !${next === "" ? "" : html`<p class="more"><a class="button" href="${PATH}?${next}">Older requests</a></p>`}`;
  return layout({ title: "Logs", visitor, path: PATH, body });
}

function nothing(filter: RequestFilter): string {
  if (isNarrowed(filter)) return empty("No matching requests", { note: "Try a longer date range or fewer filters." });
  return noRequests("No requests in this period");
}

function isNarrowed(filter: RequestFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}

/** "Live" needs scripts, which show it; without them there is the plain link. */
function liveButtons(path: string): string {
  return html`<script type="module" src="${asset("live.js")}"></script>
    <button type="button" data-live aria-pressed="false" hidden>Live</button> <a class="button" href="${path}">Refresh</a>`;
}

function searchForm(search: string): string {
  const problem = html`<p class="problem" id="search-problem" role="alert">This account has no request with this ID.</p>`;
  return html`<form method="get" action="${PATH}" class="filters" role="search">
    <label
      ><span class="hidden">Request ID</span
      ><input
        type="search"
        name="search"
        value="${search}"
        placeholder="Request ID"
        !${search === "" ? "" : 'aria-invalid="true" aria-describedby="search-problem"'}
    /></label>
    <button>Find</button>
    !${search === "" ? "" : problem}
  </form>`;
}

function filters({ range, keys, projects, members, models, filter, hasLabels }: RequestsView): string {
  const ofKeys = Object.fromEntries(keys.map(({ publicId, name }) => [publicId, name]));
  const ofProjects = Object.fromEntries(projects.map(({ id, name }) => [id, name]));
  const ofMembers = Object.fromEntries(members.map(({ personId, email }) => [personId, email]));
  const ofModels = Object.fromEntries(models.map((model) => [model, model]));
  const all = new URLSearchParams(rangeQuery(range)).toString();
  return html`<form method="get" action="${PATH}" class="filters">
    !${hiddenFields(rangeQuery(range))}
    !${select({ name: "key", label: "Key", all: "All keys", options: ofKeys, chosen: filter.key })}
    !${projects.length === 0 && filter.project === undefined ? "" : select({ name: "project", label: "Project of the key", all: "All projects", options: ofProjects, chosen: filter.project })}
    !${select({ name: "member", label: "Member who created the key", all: "All members", options: ofMembers, chosen: filter.member })}
    !${select({ name: "model", label: "Model", all: "All models", options: ofModels, chosen: filter.model })}
    !${select({ name: "outcome", label: "Status", all: "All statuses", options: STATUS_NAMES, chosen: filter.outcome })}
    !${hasLabels || filter.tag !== undefined || filter.endUser !== undefined ? labelFilters(filter) : ""}
    <button>Filter</button>
    !${isNarrowed(filter) ? html`<a href="${PATH}?${all}">Clear filters</a>` : ""}
  </form>`;
}

function labelFilters({ tag, endUser }: RequestFilter): string {
  return html`<label
      ><span class="hidden">Tag, such as team=search</span><input name="tag" value="${tag ?? ""}" placeholder="team=search"
    /></label>
    <label><span class="hidden">End user</span><input name="end_user" value="${endUser ?? ""}" placeholder="End user" /></label>`;
}

interface Select {
  name: string;
  label: string;
  all: string;
  options: Readonly<Record<string, string>>;
  chosen: string | undefined;
}

/** The current choice stays in the list, even if it is not an option in these days. */
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

/** From here on, an amount takes the room of two columns. */
const LONG_NANO_USD = 1_000_000_000_000n;

/** What no request on the page has takes no column. */
function table(requests: readonly LabelledRequest[], names: ReadonlyMap<string, string>): string {
  const hasLabels = requests.some(({ labels }) => labels.length > 0);
  const hasLong = requests.some(({ chargeNanoUsd }) => chargeNanoUsd >= LONG_NANO_USD);
  return responsiveTable(
    [
      "Time (UTC)",
      "Model",
      "Key",
      "Status",
      ...(hasLabels ? [{ text: "Tags", isMinor: true } as const] : []),
      { number: "Input" },
      { number: "Output" },
      { number: "TTFT", isMinor: true },
      { number: "Duration", isMinor: true },
      { number: "Cost" },
    ],
    requests.map((request) => row(request, { names, hasLabels })),
    `widest${hasLabels ? " tagged" : ""}${hasLong ? " whole" : ""}`,
  );
}

function row(request: LabelledRequest, { names, hasLabels }: { names: ReadonlyMap<string, string>; hasLabels: boolean }): string {
  const cached = request.cachedInputTokens + request.cacheWriteTokens;
  const speed = tokensPerSecond(request);
  const outcome = describeOutcome(request);
  return html`<tr>
    <th scope="row" data-label="Time (UTC)">
      <a href="${PATH}/${request.requestId}">!${logMoment(request.startedAt)}</a>
    </th>
    <td data-label="Model">
      <span
        >!${clipped(request.model)}<span class="sub"
          >${INTERFACE_NAMES[request.interface]}${request.isBatch ? ", batch" : ""}</span
        ></span
      >
    </td>
    <td data-label="Key">!${clipped(names.get(request.keyId) ?? request.keyId)}</td>
    <td data-label="Status">
      <span
        ><span class="badge ${outcome.badge}">${outcome.name}</span
        >!${request.isEstimated ? ' <span class="sub" title="The model server did not report usage, so the gateway counted it">Estimated</span>' : ""}</span
      >
    </td>
    !${hasLabels ? html`<td data-label="Tags" class="minor">!${labelCell(request)}</td>` : ""}
    <td data-label="Input" class="number">
      <span
        >!${compactCell(request.inputTokens)}!${cached === 0 ? "" : html`<span class="sub">+ !${compact(cached)} cached</span>`}!${request.units === 0 ? "" : html`<span class="sub">${unitsInWords(request)}</span>`}</span
      >
    </td>
    <td data-label="Output" class="number">!${compactCell(request.outputTokens)}</td>
    <td data-label="TTFT" class="number minor">${seconds(request.firstTokenMs)}</td>
    <td data-label="Duration" class="number minor">
      <span>${seconds(request.durationMs)}!${speed === "–" ? "" : html`<span class="sub">${speed} tok/s</span>`}</span>
    </td>
    <td data-label="Cost" class="number">
      <span
        >!${usd(request.chargeNanoUsd, "micros")}!${request.providerKey === null ? "" : html`<span class="sub">own key</span>`}</span
      >
    </td>
  </tr>`;
}

/** The rest of many tags is on the request's page. */
const SHOWN_TAGS = 3;

function labelCell({ labels }: LabelledRequest): string {
  if (labels.length === 0) return "";
  const tags = tagsIn(labels);
  const endUser = endUserIn(labels);
  const shown = tags.slice(0, SHOWN_TAGS).map(({ name, value }) => clipped(`${name}=${value}`));
  const more = tags.length > SHOWN_TAGS ? html`<span class="sub">and ${tags.length - SHOWN_TAGS} more</span>` : "";
  return html`<span
    >!${shown.map((tag) => html`<span class="sub">!${tag}</span>`).join("")}!${more}!${endUser === undefined ? "" : html`<span class="sub">!${clipped(`User: ${endUser}`)}</span>`}</span
  >`;
}
