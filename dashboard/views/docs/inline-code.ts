import { html } from "ghtml";

/** A sentence in which `…` is code. @returns HTML. */
export function inlineCode(text: string): string {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`))
    .join("");
}
