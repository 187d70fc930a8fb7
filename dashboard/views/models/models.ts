import { html } from "ghtml";
import { isInputOnly, type CatalogueModel } from "../../../contract/catalogue.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Price } from "../../../ledger/money.ts";
import { showImagePrice, showMinutePrice, showPrice, showUnitPrice } from "../../money.ts";
import { feeWords } from "../../provider-keys/words.ts";
import type { Member } from "../../session/visitor.ts";
import { isLegacy } from "../default-model.ts";
import { empty } from "../empty.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";
import { layout } from "../layout.ts";
import { ABSENT, clipped, responsiveTable } from "../responsive-table.ts";
import { capabilityNames } from "./capabilities.ts";

const PATH = "/dashboard/models";

export function modelsPage({
  visitor,
  models,
  baseUrl,
}: {
  visitor: Member | null;
  models: readonly ListedModel[];
  baseUrl: string;
}): string {
  // Deprecated models come last.
  const sorted = [...models.filter(({ model }) => !isLegacy(model)), ...models.filter(({ model }) => isLegacy(model))];
  const hasUnits = models.some(({ price }) => price.unitPicoUsd > 0n);
  const body = html`<h1>Models</h1>
    <p class="muted">
      Prices are in USD per million tokens${hasUnits ? " unless stated otherwise" : ""}. Base URL:
      <code>${baseUrl}/v1</code> for OpenAI clients, <code>${baseUrl}</code> for Anthropic clients.
    </p>
    !${models.length === 0 ? empty("No models available", { note: "The operator of this service has not published any yet." }) : table(sorted)}`;
  return layout({ title: "Models", visitor, path: PATH, body });
}

/** The page of one model; names may contain slashes. */
export function modelPath(name: string): string {
  return `${PATH}/${name.split("/").map(encodeURIComponent).join("/")}`;
}

export const LEGACY = html`<span class="badge warn">legacy</span>`;

function table(models: readonly ListedModel[]): string {
  return responsiveTable(
    [
      "Model",
      { number: "Input" },
      { number: "Cached input" },
      { number: "Cache write", isMinor: true },
      { number: "Output" },
      { number: "Context" },
      { number: "Max output" },
    ],
    models.map(row),
    "wide",
  );
}

function row({ model, price, schedule, providerKeyFee }: ListedModel): string {
  // Vectors and rankings have no tokens, and requests for them use no cache.
  const ofTokens = (figure: string) => (isInputOnly(model) ? ABSENT : figure);
  // Those of an image may have a price.
  const hasOutput = !isInputOnly(model) || price.outputPicoUsd > 0n;
  return html`<tr>
    <th scope="row" class="wrap" data-label="Model">
      <span
        ><a href="${modelPath(model.name)}">!${nameOf(model)}</a> !${isLegacy(model) ? LEGACY : ""}
        !${model.displayName === undefined ? "" : html`<span class="sub"><code>!${clipped(model.name)}</code></span>`}
        !${model.capabilities === undefined || isInputOnly(model) ? "" : html`<span class="sub">${capabilityNames(model.capabilities).join(" · ")}</span>`}
        <span class="sub">${model.interfaces.map((each) => INTERFACE_NAMES[each]).join(" · ")}</span>
        !${schedule.length === 0 ? "" : html`<span class="sub">Prices vary by time</span>`}
        !${providerKeyFee === null ? "" : html`<span class="sub">Fee with your own key: ${feeWords(providerKeyFee)}</span>`}</span
      >
    </th>
    <td data-label="${isByUnit(price) && price.inputPicoUsd === 0n ? "Price" : "Input"}" class="number">
      !${inputPrice(model, price)}
    </td>
    <td data-label="Cached input" class="number">!${ofTokens(showPrice(price.cachedInputPicoUsd))}</td>
    <td data-label="Cache write" class="number minor">!${ofTokens(showPrice(price.cacheWritePicoUsd))}</td>
    <td data-label="Output" class="number">!${hasOutput ? showPrice(price.outputPicoUsd) : ABSENT}</td>
    <td data-label="Context" class="number">
      !${model.contextWindow === null ? "–" : model.contextWindow.toLocaleString("en-US")}
    </td>
    <td data-label="Max output" class="number">!${ofTokens(model.maxOutputTokens.toLocaleString("en-US"))}</td>
  </tr>`;
}

/** Of tokens, of units, or of both. */
function inputPrice({ interfaces }: CatalogueModel, price: Price): string {
  const { inputPicoUsd } = price;
  if (!isByUnit(price)) return showPrice(inputPicoUsd);
  const [units, per] = unitPrice(interfaces, price);
  if (inputPicoUsd === 0n) return html`<span>${units}<span class="sub">${per}</span></span>`;
  return html`<span>${showPrice(inputPicoUsd)}<span class="sub">+ ${units} ${per}</span></span>`;
}

function unitPrice(interfaces: CatalogueModel["interfaces"], price: Price): [price: string, per: string] {
  if (interfaces.includes("image_generation")) return [imagePriceRange(price), "per image"];
  if (interfaces.includes("speech")) return [showPrice(price.unitPicoUsd), "per million characters"];
  if (interfaces.includes("transcription")) return [showMinutePrice(price.unitPicoUsd), "per minute of audio"];
  return [showUnitPrice(price.unitPicoUsd), "per 1,000 searches"];
}

/** Units have a price. */
function isByUnit({ unitPicoUsd, imagePrices = [] }: Price): boolean {
  return unitPicoUsd > 0n || imagePrices.length > 0;
}

/** "$0.04–$0.19". */
function imagePriceRange({ unitPicoUsd, imagePrices = [] }: Price): string {
  const prices = [unitPicoUsd, ...imagePrices.map((each) => each.unitPicoUsd)];
  const lowest = prices.reduce((a, b) => (a < b ? a : b));
  const highest = prices.reduce((a, b) => (a > b ? a : b));
  return lowest === highest ? showImagePrice(lowest) : `${showImagePrice(lowest)}–${showImagePrice(highest)}`;
}

function nameOf({ displayName, name }: CatalogueModel): string {
  return displayName === undefined ? html`<code>!${clipped(name)}</code>` : clipped(displayName);
}
