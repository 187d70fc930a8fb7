import { html } from "ghtml";
import type { CatalogueModel } from "../../contract/catalogue.ts";
import { INTERFACE_NAMES } from "./interface-names.ts";
import { FIRST_REQUESTS, LANGUAGE_NAMES, LANGUAGES, type Language } from "./first-requests.ts";
import { copyable } from "./keys/snippets.ts";

export interface Quickstart {
  baseUrl: string;
  model: Pick<CatalogueModel, "name" | "interfaces">;
  language: Language;
  /** Of the page; its `language` parameter selects one. */
  path: string;
}

/** The first request in a language, on each interface that the model has. The tabs are links: they work without scripts. */
export function quickstart({ baseUrl, model, language, path }: Quickstart): string {
  const tabs = LANGUAGES.map(
    (each) =>
      html`<a href="${path}?language=${each}#code" !${each === language ? 'aria-current="true"' : ""}
        >${LANGUAGE_NAMES[each]}</a
      >`,
  );
  const snippets = model.interfaces.map(
    (each) =>
      html`<h3>${INTERFACE_NAMES[each]}</h3>
        !${copyable({ id: `code-${each}`, text: FIRST_REQUESTS[language][each]({ baseUrl, model: model.name }), label: `${INTERFACE_NAMES[each]}, ${LANGUAGE_NAMES[language]}` })}`,
  );
  return html`<div class="switch" role="group" aria-label="Language">!${tabs}</div>
    <div class="quickstart">!${snippets}</div>
    <p class="muted small">Set <code>MODEL_GATEWAY_API_KEY</code> to an <a href="/dashboard/keys">API key</a>.</p>`;
}
