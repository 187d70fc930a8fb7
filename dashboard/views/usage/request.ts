import { html } from "ghtml";
import { endUserIn, tagsIn } from "../../../contract/labels.ts";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import type { LabelledRequest } from "../../../ledger/usage/request-labels.ts";
import { showPrice, showUnitPrice } from "../../money.ts";
import type { Member } from "../../session/visitor.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { grouped, tokensPerSecond } from "../figures.ts";
import { layout } from "../layout.ts";
import { OUTCOME_NAMES, OUTCOME_NOTES } from "./outcome-names.ts";
import { responsiveTable } from "../responsive-table.ts";

export interface RequestView {
  visitor: Member;
  /** Attempts of one request, in order, at least one. */
  attempts: readonly LabelledRequest[];
  keys: readonly NamedKey[];
}

/** A request and the calculation of its charge. */
export function requestPage({ visitor, attempts, keys }: RequestView): string {
  const id = attempts[0]?.requestId ?? "";
  const body = html`<p class="crumb"><a href="/dashboard/usage/requests">Logs</a></p>
    <h1>Request</h1>
    <p><code>${id}</code></p>
    <p class="muted small">The response carries this ID in its <code>x-request-id</code> header. Times are UTC.</p>
    !${attempts.map((attempt) => card(attempt, { keys, isOnly: attempts.length === 1 })).join("")}`;
  return layout({ title: "Request", visitor, path: "/dashboard/usage/requests", body });
}

function card(request: LabelledRequest, { keys, isOnly }: { keys: readonly NamedKey[]; isOnly: boolean }): string {
  const { keyId, startedAt, durationMs, firstTokenMs, outcome } = request;
  const name = keys.find(({ publicId }) => publicId === keyId)?.name ?? keyId;
  const facts: [string, string][] = [
    ["Time", startedAt.toISOString().replace("T", " ").replace("Z", "")],
    ["Key", name],
    ["Model", request.model],
    ["Interface", `${INTERFACE_NAMES[request.interface]}${request.isStream ? ", stream" : ""}`],
    ["Status", String(request.httpStatus)],
    ["Result", `${OUTCOME_NAMES[outcome]}. ${OUTCOME_NOTES[outcome]}`],
    ["Duration", `${(durationMs / 1000).toFixed(3)} s`],
    ["Time to first token", firstTokenMs === null ? "–" : `${(firstTokenMs / 1000).toFixed(3)} s`],
    ["Tokens per second", tokensPerSecond(request)],
    ["Price version", String(request.priceVersion)],
    ...labelFacts(request),
  ];
  return html`<section class="card">
    !${isOnly ? "" : html`<h2>Attempt ${request.attempt}</h2>`}
    <dl class="facts">
      !${facts
        .map(
          ([term, words]) =>
            html`<div>
              <dt>${term}</dt>
              <dd>${words}</dd>
            </div>`,
        )
        .join("")}
    </dl>
    !${charge(request)}
    !${request.isEstimated ? html`<p class="muted small">The model server did not report usage, so the gateway counted it.</p>` : ""}
  </section>`;
}

function labelFacts({ labels }: LabelledRequest): [string, string][] {
  const endUser = endUserIn(labels);
  return [
    ...(endUser === undefined ? [] : [["End user", endUser] satisfies [string, string]]),
    ...tagsIn(labels).map(({ name, value }): [string, string] => [`Tag ${name}`, value]),
  ];
}

function charge(request: ListedRequest): string {
  const { price, units } = request;
  const hasUnits = units > 0;
  const priceHead = hasUnits ? "Price" : "Price per million";
  const classes: [string, number, bigint][] = [
    ["Input", request.inputTokens, price.inputPicoUsd],
    ["Cached input", request.cachedInputTokens, price.cachedInputPicoUsd],
    ["Cache write", request.cacheWriteTokens, price.cacheWritePicoUsd],
    ["Output", request.outputTokens, price.outputPicoUsd],
  ];
  const rows = classes.map(
    ([name, tokens, picoUsd]) =>
      html`<tr>
        <th scope="row" data-label="Tokens"><span>${name}</span></th>
        <td data-label="Count" class="number">${tokens.toLocaleString("en-US")}</td>
        <td data-label="${priceHead}" class="number">${showPrice(picoUsd)}${hasUnits ? " per million" : ""}</td>
        <td data-label="Cost" class="number">${showPico(BigInt(tokens) * picoUsd)}</td>
      </tr>`,
  );
  const heads = ["Tokens", { number: "Count" }, { number: priceHead }, { number: "Cost" }];
  return html`!${responsiveTable(heads, hasUnits ? [...rows, unitRow(request)] : rows, "narrow")}
    <p>
      Charged: <strong class="nowrap">$${grouped(formatNanoUsd(request.chargeNanoUsd))}</strong>, rounded once.
      !${request.reasoningTokens === 0 ? "" : html`The output includes ${request.reasoningTokens.toLocaleString("en-US")} reasoning tokens.`}
    </p>`;
}

function unitRow({ units, price: { unitPicoUsd } }: ListedRequest): string {
  return html`<tr>
    <th scope="row" data-label="Tokens"><span>Searches</span></th>
    <td data-label="Count" class="number">${units.toLocaleString("en-US")}</td>
    <td data-label="Price" class="number">${showUnitPrice(unitPicoUsd)} per thousand</td>
    <td data-label="Cost" class="number">${showPico(BigInt(units) * unitPicoUsd)}</td>
  </tr>`;
}

/** 1_500_000n as "$0.0000015". */
function showPico(picoUsd: bigint): string {
  const digits = picoUsd.toString().padStart(13, "0");
  const decimals = digits.slice(-12).replace(/0{1,6}$/, "");
  return `$${grouped(`${digits.slice(0, -12)}.${decimals}`)}`;
}
