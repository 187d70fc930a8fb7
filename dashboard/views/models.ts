import { html } from "ghtml";
import type { ListedModel } from "../../ledger/models/model-list.ts";
import { showPrice } from "../money.ts";
import type { Member } from "../session/visitor.ts";
import { INTERFACE_NAMES } from "./interface-names.ts";
import { layout } from "./layout.ts";
import { responsiveTable } from "./responsive-table.ts";

export function modelsPage({
  visitor,
  models,
  baseUrl,
}: {
  visitor: Member | null;
  models: readonly ListedModel[];
  baseUrl: string;
}): string {
  const body = html`<h1>Models</h1>
    <p class="muted">
      Prices are in USD for a million tokens. Base address: <code>${baseUrl}/v1</code> for OpenAI-style clients,
      <code>${baseUrl}</code> for Anthropic-style ones.
    </p>
    !${models.length === 0 ? html`<div class="card empty"><p>No model is served at the moment.</p></div>` : table(models)}`;
  return layout({ title: "Models", visitor, path: "/dashboard/models", body });
}

function table(models: readonly ListedModel[]): string {
  return responsiveTable(
    [
      "Model",
      "Interfaces",
      { number: "Input" },
      { number: "Cached input" },
      { number: "Output" },
      { number: "Context" },
      { number: "Longest answer" },
    ],
    models.map(row),
  );
}

function row({ model, price }: ListedModel): string {
  return html`<tr>
    <th scope="row" data-label="Model"><code>${model.name}</code></th>
    <td data-label="Interfaces">${model.interfaces.map((each) => INTERFACE_NAMES[each]).join(", ")}</td>
    <td data-label="Input" class="number">${showPrice(price.inputPicoUsd)}</td>
    <td data-label="Cached input" class="number">${showPrice(price.cachedInputPicoUsd)}</td>
    <td data-label="Output" class="number">${showPrice(price.outputPicoUsd)}</td>
    <td data-label="Context" class="number">${model.contextWindow === null ? "–" : tokens(model.contextWindow)}</td>
    <td data-label="Longest answer" class="number">${tokens(model.maxOutputTokens)}</td>
  </tr>`;
}

function tokens(count: number): string {
  return `${count.toLocaleString("en-US")} tokens`;
}
