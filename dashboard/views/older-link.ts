import { html } from "ghtml";

/** A list's link to older entries. */
export function olderLink(path: string, query: Readonly<Record<string, string>>, words: string): string {
  return html`<p class="more"><a class="button" href="${path}?${new URLSearchParams(query).toString()}">${words}</a></p>`;
}
