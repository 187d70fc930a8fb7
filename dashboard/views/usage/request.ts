import { html } from "ghtml";
import { endUserIn, tagsIn } from "../../../contract/labels.ts";
import { isInputInterface } from "../../../contract/protocol.ts";
import type { NamedKey } from "../../../ledger/keys/key-list.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import type { LabelledRequest } from "../../../ledger/usage/request-labels.ts";
import { showImagePrice, showMinutePrice, showPrice, showUnitPrice } from "../../money.ts";
import { feeWords } from "../../provider-keys/words.ts";
import type { Member } from "../../session/visitor.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { grouped, tokensPerSecond } from "../figures.ts";
import { layout } from "../layout.ts";
import { describeOutcome } from "./outcome-names.ts";
import { responsiveTable } from "../responsive-table.ts";

export interface RequestView {
  visitor: Member;
  /** Attempts of one request, in order, at least one. */
  attempts: readonly LabelledRequest[];
  keys: readonly NamedKey[];
  /** To which it belongs; undefined if it has none, or that was deleted. */
  batchId: string | undefined;
  /** The visitor may read its prompt and answer. */
  isRecorded: boolean;
}

/** A request and the calculation of its charge. */
export function requestPage({ visitor, attempts, keys, batchId, isRecorded }: RequestView): string {
  const id = attempts[0]?.requestId ?? "";
  const body = html`<p class="crumb"><a href="/dashboard/usage/requests">Logs</a></p>
    <h1>Request</h1>
    <p><code>${id}</code></p>
    <p class="muted small">The response carries this ID in its <code>x-request-id</code> header.</p>
    !${
      batchId === undefined
        ? ""
        : html`<p>
            Part of batch <a href="/dashboard/batches/${batchId}"><code class="wrap">${batchId}</code></a
            >.
          </p>`
    }
    !${isRecorded ? html`<p><a class="button" href="/dashboard/prompt-log/${id}">Prompt and answer</a></p>` : ""}
    !${attempts.map((attempt) => card(attempt, { keys, isOnly: attempts.length === 1 })).join("")}`;
  return layout({ title: "Request", visitor, path: "/dashboard/usage/requests", body });
}

function card(request: LabelledRequest, { keys, isOnly }: { keys: readonly NamedKey[]; isOnly: boolean }): string {
  const { keyId, startedAt, durationMs } = request;
  const outcome = describeOutcome(request);
  const name = keys.find(({ publicId }) => publicId === keyId)?.name ?? keyId;
  const facts: [string, string][] = [
    ["Time", startedAt.toISOString().replace("T", " ").replace("Z", " UTC")],
    ["Key", name],
    ["Model", request.model],
    [
      "Interface",
      `${INTERFACE_NAMES[request.interface]}${request.isStream ? ", streamed" : ""}${request.isBatch ? ", batch" : ""}`,
    ],
    ["Status", `${outcome.name}. ${outcome.note}`],
    ["HTTP status", String(request.httpStatus)],
    ["Duration", `${(durationMs / 1000).toFixed(3)} s`],
    ...speedFacts(request),
    ...(request.providerKey === null
      ? []
      : [["Sent with", `Your own key for ${request.providerKey}`] satisfies [string, string]]),
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

/** Vectors and rankings have no tokens. */
function speedFacts(request: ListedRequest): [string, string][] {
  const { firstTokenMs } = request;
  if (isInputInterface(request.interface)) return [];
  return [
    ["Time to first token", firstTokenMs === null ? "–" : `${(firstTokenMs / 1000).toFixed(3)} s`],
    ["Tokens per second", tokensPerSecond(request)],
  ];
}

function labelFacts({ labels }: LabelledRequest): [string, string][] {
  const endUser = endUserIn(labels);
  return [
    ...(endUser === undefined ? [] : [["End user", endUser] satisfies [string, string]]),
    ...tagsIn(labels).map(({ name, value }): [string, string] => [`Tag ${name}`, value]),
  ];
}

/** A part of the charge. */
interface Part {
  name: string;
  count: number;
  /** Of one token or unit. */
  picoUsd: bigint;
  /** As it is published. */
  price: string;
}

function charge(request: ListedRequest): string {
  const parts = [...tokenParts(request), ...unitParts(request)];
  const hasUnits = request.units > 0;
  const head = hasUnits ? "Usage" : "Tokens";
  const priceHead = hasUnits ? "Price" : "Price per million";
  const costs = picoAmounts(parts.map(({ count, picoUsd }) => BigInt(count) * picoUsd));
  const rows = parts.map(
    ({ name, count, price }, index) =>
      html`<tr>
        <th scope="row" data-label="${head}"><span>${name}</span></th>
        <td data-label="Count" class="number">${count.toLocaleString("en-US")}</td>
        <td data-label="${priceHead}" class="number">${price}</td>
        <td data-label="Cost" class="number">${costs[index] ?? ""}</td>
      </tr>`,
  );
  return html`!${responsiveTable([head, { number: "Count" }, { number: priceHead }, { number: "Cost" }], rows, "narrow exact")}
    !${feeNote(request)}
    <p>
      Charged: <strong class="nowrap">$${grouped(formatNanoUsd(request.chargeNanoUsd))}</strong>, rounded to a billionth of a
      dollar.
      !${request.reasoningTokens === 0 ? "" : html`The output includes ${request.reasoningTokens.toLocaleString("en-US")} reasoning tokens.`}
    </p>`;
}

function feeNote({ providerKey, providerKeyFee }: ListedRequest): string {
  if (providerKey === null || providerKeyFee === null) return "";
  return html`<p>
    The provider bills you for these tokens. This service charges a fee instead of the price: ${feeWords(providerKeyFee)}.
  </p>`;
}

/** Those whose answers have tokens. */
const WITH_OUTPUT: ReadonlySet<string> = new Set(["image_generation", "transcription"]);

function tokenParts({ price, units, interface: client, ...tokens }: ListedRequest): Part[] {
  const input: [string, number, bigint] = [units > 0 ? "Input tokens" : "Input", tokens.inputTokens, price.inputPicoUsd];
  const others: [string, number, bigint][] = [
    ["Cached input", tokens.cachedInputTokens, price.cachedInputPicoUsd],
    ["Cache write", tokens.cacheWriteTokens, price.cacheWritePicoUsd],
    ["Output", tokens.outputTokens, price.outputPicoUsd],
  ];
  const shown = others.filter(([name]) => !isInputInterface(client) || (WITH_OUTPUT.has(client) && name === "Output"));
  return [input, ...shown].map(([name, count, picoUsd]) => ({
    name,
    count,
    picoUsd,
    price: `${showPrice(picoUsd)}${units > 0 ? " per million" : ""}`,
  }));
}

function unitParts({ interface: client, units, unitTerms, price: { unitPicoUsd } }: ListedRequest): Part[] {
  if (units === 0) return [];
  if (client === "image_generation") {
    const terms = unitTerms === null || unitTerms === "" ? "" : `, ${unitTerms}`;
    return [{ name: `Images${terms}`, count: units, picoUsd: unitPicoUsd, price: `${showImagePrice(unitPicoUsd)} each` }];
  }
  if (client === "speech")
    return [{ name: "Characters", count: units, picoUsd: unitPicoUsd, price: `${showPrice(unitPicoUsd)} per million` }];
  if (client === "transcription")
    return [
      { name: "Seconds of audio", count: units, picoUsd: unitPicoUsd, price: `${showMinutePrice(unitPicoUsd)} per minute` },
    ];
  return [{ name: "Searches", count: units, picoUsd: unitPicoUsd, price: `${showUnitPrice(unitPicoUsd)} per 1,000` }];
}

/** 1_500_000n as "$0.0000015". All have as many decimals as the longest needs, at least six, so that points align. */
function picoAmounts(amounts: readonly bigint[]): string[] {
  const all = amounts.map((amount) => amount.toString().padStart(13, "0"));
  const decimals = Math.max(6, ...all.map((digits) => digits.slice(-12).replace(/0+$/, "").length));
  return all.map((digits) => `$${grouped(`${digits.slice(0, -12)}.${digits.slice(-12, digits.length - 12 + decimals)}`)}`);
}
