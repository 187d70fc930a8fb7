import { html } from "ghtml";
import type { ListedModel } from "../../ledger/models/model-list.ts";
import { showPrice } from "../money.ts";
import type { Member } from "../session/visitor.ts";
import { INTERFACE_NAMES } from "./interface-names.ts";
import { empty } from "./empty.ts";
import { layout } from "./layout.ts";
import { clipped, responsiveTable } from "./responsive-table.ts";

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
      Prices are in USD per million tokens. Base URL: <code>${baseUrl}/v1</code> for OpenAI clients, <code>${baseUrl}</code> for
      Anthropic clients.
    </p>
    !${models.length === 0 ? empty("No models available") : table(models)}`;
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
      { number: "Max output" },
    ],
    models.map(row),
    "wide",
  );
}

function row({ model, price }: ListedModel): string {
  return html`<tr>
    <th scope="row" data-label="Model"><code>!${clipped(model.name)}</code></th>
    <td class="wrap" data-label="Interfaces">${model.interfaces.map((each) => INTERFACE_NAMES[each]).join(", ")}</td>
    <td data-label="Input" class="number">${showPrice(price.inputPicoUsd)}</td>
    <td data-label="Cached input" class="number">${showPrice(price.cachedInputPicoUsd)}</td>
    <td data-label="Output" class="number">${showPrice(price.outputPicoUsd)}</td>
    <td data-label="Context" class="number">
      ${model.contextWindow === null ? "–" : model.contextWindow.toLocaleString("en-US")}
    </td>
    <td data-label="Max output" class="number">${model.maxOutputTokens.toLocaleString("en-US")}</td>
  </tr>`;
}
