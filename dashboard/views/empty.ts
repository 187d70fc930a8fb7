import { html } from "ghtml";

/**
 * Shown instead of an empty list.
 * @param more HTML: what to do about it.
 */
export function empty(words: string, { note = "", more = "" }: { note?: string; more?: string } = {}): string {
  return html`<div class="card empty">
    <p>${words}</p>
    !${note === "" ? "" : html`<p class="muted">${note}</p>`} !${more === "" ? "" : html`<p class="buttons">!${more}</p>`}
  </div>`;
}
