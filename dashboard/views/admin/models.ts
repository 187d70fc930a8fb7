import { html } from "ghtml";
import { isInputOnly, type CatalogueModel } from "../../../contract/catalogue.ts";
import type { ModelHistory } from "../../../ledger/models/price-history.ts";
import type { PriceRule } from "../../../ledger/models/price-schedule.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { priceClasses, type PriceClass } from "../models/price-classes.ts";
import { ABSENT, clipped, responsiveTable } from "../responsive-table.ts";
import { moment } from "../time.ts";
import { adminPage } from "./admin.ts";

const PATH = "/dashboard/admin/models";
const AND = new Intl.ListFormat("en", { type: "conjunction" });

export function adminModelsPage({ visitor, models }: { visitor: Member; models: readonly ModelHistory[] }): string {
  const charged = new Set(
    models
      .filter(({ versions }) => versions.some(({ unitPicoUsd }) => unitPicoUsd > 0n))
      .map(
        ({ model }) =>
          model?.interfaces.find((each) => each === "image_generation" || each === "speech" || each === "transcription") ??
          "rerank",
      ),
  );
  const units = [
    "million tokens",
    ...(charged.has("rerank") ? ["1,000 searches"] : []),
    ...(charged.has("image_generation") ? ["image"] : []),
    ...(charged.has("speech") ? ["million characters"] : []),
    ...(charged.has("transcription") ? ["minute of audio"] : []),
  ];
  const body = html`<h1>Models</h1>
    <p class="muted">
      Models come from Model resources: change them there. Prices are in USD ${AND.format(units.map((unit) => `per ${unit}`))}. A
      published price never changes; a new one gets a new version.
    </p>
    !${models.length === 0 ? empty("No models have been published") : models.map(section).join("")}`;
  return adminPage({ title: "Models", visitor, path: PATH, body });
}

function section(history: ModelHistory): string {
  const { name, model, withdrawnAt, updatedAt } = history;
  const status = withdrawnAt === null ? "active" : "withdrawn";
  return html`<h2><code>${name}</code> <span class="badge ${status}">${status}</span></h2>
    <p class="muted small">
      !${withdrawnAt === null ? html`Last changed !${moment(updatedAt)}.` : html`Withdrawn !${moment(withdrawnAt)}.`}
      ${model === null ? "Published by a newer version of the gateway, so its details cannot be shown here." : aboutModel(model)}
    </p>
    !${model === null ? "" : backendTable(model)} !${priceTable(history)}`;
}

function aboutModel(model: CatalogueModel): string {
  const { interfaces, aliases, contextWindow, maxOutputTokens } = model;
  const context = contextWindow === null ? "" : ` Context: ${contextWindow.toLocaleString("en-US")} tokens.`;
  const others = aliases.length === 0 ? "" : ` Aliases: ${aliases.join(", ")}.`;
  const output = isInputOnly(model) ? "" : ` Max output: ${maxOutputTokens.toLocaleString("en-US")} tokens.`;
  return `Interfaces: ${interfaces.map((each) => INTERFACE_NAMES[each]).join(", ")}.${context}${output}${others}`;
}

function backendTable({ backends }: CatalogueModel): string {
  const rows = backends.map(
    (backend) =>
      html`<tr>
        <th scope="row" data-label="Backend">!${clipped(backend.name)}</th>
        <td data-label="Upstream model"><code>!${clipped(backend.upstreamModel)}</code></td>
        <td data-label="Protocol">${INTERFACE_NAMES[backend.protocol]}</td>
        <td data-label="Cluster"><code>!${clipped(backend.cluster)}</code></td>
        <td data-label="Priority" class="number">${backend.priority}</td>
        <td data-label="Weight" class="number">${backend.weight}</td>
      </tr>`,
  );
  return responsiveTable(
    ["Backend", "Upstream model", "Protocol", "Cluster", { number: "Priority" }, { number: "Weight" }],
    rows,
    "wide",
  );
}

function priceTable({ model, versions }: ModelHistory): string {
  const prices = versions.flatMap(({ schedule, ...price }) => [price, ...schedule.map((each) => each.price)]);
  const classes = priceClasses(model ?? { interfaces: [] }, prices);
  const rows = versions.map(
    ({ version, effectiveFrom, schedule, ...price }, index) =>
      html`<tr>
        <th scope="row" data-label="Price version">
          <span>${version}!${index === 0 ? ' <span class="badge active">current</span>' : ""}</span>
        </th>
        <td data-label="Effective from">!${moment(effectiveFrom)}</td>
        !${classes.map(({ name, of }) => html`<td data-label="${name}" class="number">${of(price)}</td>`)}
        <td class="wrap" data-label="Scheduled prices">
          !${schedule.length === 0 ? ABSENT : html`${schedule.map((each) => rule(each, classes)).join("; ")}`}
        </td>
      </tr>`,
  );
  const heads = ["Price version", "Effective from", ...classes.map(({ name }) => ({ number: name })), "Scheduled prices"];
  return responsiveTable(heads, rows, classes.length > 4 ? "widest whole" : "widest");
}

/** "22:00 to 06:00 UTC: input $0.05, 1,000 searches $1.50". */
function rule({ fromMs, daily, price }: PriceRule, classes: readonly PriceClass[]): string {
  const since = fromMs === null ? [] : [`from ${new Date(fromMs).toISOString().slice(0, 16).replace("T", " ")} UTC`];
  const hours = daily === null ? [] : [`${clock(daily.fromMinute)} to ${clock(daily.untilMinute)} UTC`];
  const prices = classes.map(({ name, of }) => `${name.toLowerCase()} ${of(price)}`);
  return `${[...since, ...hours].join(", ")}: ${prices.join(", ")}`;
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}
