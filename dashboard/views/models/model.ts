import { html } from "ghtml";
import { isInputOnly, type CatalogueModel } from "../../../contract/catalogue.ts";
import { dayOf } from "../../../contract/days.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { ModelDay } from "../../../ledger/usage/model-hours.ts";
import type { Member } from "../../session/visitor.ts";
import { isLegacy } from "../default-model.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { layout } from "../layout.ts";
import type { Language } from "../first-requests.ts";
import { quickstart } from "../quickstart.ts";
import { UPTIME_DAYS, uptimeBars, uptimeOf } from "../uptime.ts";
import { capabilityNames } from "./capabilities.ts";
import { LEGACY, modelPath } from "./models.ts";
import { prices } from "./prices.ts";

export interface ModelView {
  visitor: Member | null;
  listed: ListedModel;
  /** Of the last 30 days. */
  days: readonly ModelDay[];
  baseUrl: string;
  language: Language;
  nowMs: number;
}

export function modelPage({ visitor, listed, days, baseUrl, language, nowMs }: ModelView): string {
  const { model } = listed;
  const body = html`<p class="crumb"><a href="/dashboard/models">Models</a></p>
    <div class="title">
      <h1>${model.displayName ?? model.name} !${isLegacy(model, nowMs) ? LEGACY : ""}</h1>
      !${isInputOnly(model) ? "" : tryIt(model)}
    </div>
    !${model.description === undefined ? "" : html`<p>${model.description}</p>`} !${retirement(model, nowMs)}
    <dl class="facts card">!${facts(model).map(([term, words]) => fact(term, words))}</dl>
    !${prices(listed)}
    <section aria-labelledby="uptime">
      <h2 id="uptime">Uptime</h2>
      <p>
        !${uptimeOf(days) === undefined ? `No requests in the last ${UPTIME_DAYS} days.` : html`<strong>${uptimeOf(days)}</strong> of requests in the last ${UPTIME_DAYS} days succeeded.`}
        <span class="muted">Based on requests from all accounts, up to the last full hour.</span>
      </p>
      !${uptimeBars(days, nowMs)}
    </section>
    <section aria-labelledby="code">
      <h2 id="code">Use it</h2>
      !${quickstart({ baseUrl, model, language, path: modelPath(model.name) })}
    </section>`;
  return layout({ title: model.displayName ?? model.name, visitor, path: "/dashboard/models", body });
}

function tryIt({ name }: CatalogueModel): string {
  return html`<a class="button primary" href="/dashboard/playground?model=${encodeURIComponent(name)}">Try it</a>`;
}

function facts(model: CatalogueModel): [string, string][] {
  const { name, capabilities, interfaces, aliases } = model;
  const abilities = capabilities === undefined ? "Not stated" : capabilityNames(capabilities).join(", ") || "Text only";
  return [
    ["Model ID", name],
    ...sizes(model),
    ...(isInputOnly(model) ? [] : [["Capabilities", abilities] satisfies [string, string]]),
    ["Interfaces", interfaces.map((each) => INTERFACE_NAMES[each]).join(", ")],
    ...(aliases.length === 0 ? [] : [["Aliases", aliases.join(", ")] satisfies [string, string]]),
  ];
}

function sizes(model: CatalogueModel): [string, string][] {
  const { contextWindow, maxOutputTokens } = model;
  const context = contextWindow === null ? "Not stated" : `${contextWindow.toLocaleString("en-US")} tokens`;
  if (isInputOnly(model)) return [["Max input", contextWindow === null ? context : `${context}${maxInputOf(model)}`]];
  return [
    ["Context", context],
    ["Max output", `${maxOutputTokens.toLocaleString("en-US")} tokens`],
  ];
}

function maxInputOf({ interfaces }: CatalogueModel): string {
  if (interfaces.includes("image_generation")) return ", of the prompt";
  if (interfaces.includes("speech")) return ", of the text";
  if (interfaces.includes("transcription")) return ", of the audio and the prompt";
  return interfaces.includes("rerank") ? ", query and one document" : " each";
}

function fact(term: string, words: string): string {
  return html`<div>
    <dt>${term}</dt>
    <dd>${words}</dd>
  </div>`;
}

/** The model's removal, even if it lies ahead. */
function retirement({ deprecation }: CatalogueModel, nowMs: number): string {
  if (deprecation === undefined) return "";
  const { sinceSeconds, sunsetSeconds } = deprecation;
  const since = sinceSeconds === undefined || sinceSeconds * 1000 <= nowMs ? "" : ` from ${dayOf(sinceSeconds * 1000)}`;
  const end = sunsetSeconds === undefined ? "" : ` It will be retired on ${dayOf(sunsetSeconds * 1000)}.`;
  return html`<p class="alert" role="status">This model is deprecated${since}.${end} Choose another one for new work.</p>`;
}
