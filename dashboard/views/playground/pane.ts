import { html } from "ghtml";
import type { ListedModel } from "../../../ledger/models/model-list.ts";

export interface Pane {
  id: "first" | "second";
  /** Label of its model selection. */
  name: string;
  models: readonly ListedModel[];
  preselected: ListedModel | undefined;
  isHidden?: boolean;
}

/** A model and its conversation. */
export function pane({ id, name, models, preselected, isHidden = false }: Pane): string {
  return html`<section
    class="card pane"
    id="${id}"
    aria-label="${isHidden ? "Second conversation" : "Conversation"}"
    !${isHidden ? "hidden" : ""}
  >
    <div class="pane-head">
      <div class="field">
        <label for="${id}-model">${name}</label>
        <select id="${id}-model" data-part="model" autocomplete="off">
          !${models.map((listed) => option(listed, listed === preselected)).join("")}
        </select>
      </div>
      <p class="muted small" data-part="total" role="status"></p>
    </div>
    <div class="turns" data-part="turns" role="log" aria-label="Turns" tabindex="0">
      <p class="muted" data-part="empty">Send a message to start the conversation.</p>
    </div>
  </section>`;
}

function option({ model, price }: ListedModel, isSelected: boolean): string {
  const prices = [price.inputPicoUsd, price.cachedInputPicoUsd, price.cacheWritePicoUsd, price.outputPicoUsd].join(" ");
  return html`<option
    value="${model.name}"
    data-interfaces="${model.interfaces.join(" ")}"
    data-prices="${prices}"
    data-max-output="${model.maxOutputTokens}"
    !${isSelected ? "selected" : ""}
  >
    ${model.name}
  </option>`;
}
