import { html } from "ghtml";

/** The terms of a list of facts, a `<dl>`. @param facts a term and its words, which are markup. */
export function factTerms(facts: readonly (readonly [term: string, words: string])[]): string {
  return facts
    .map(
      ([term, words]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>!${words}</dd>
        </div>`,
    )
    .join("");
}
