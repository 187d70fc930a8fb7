import { html } from "ghtml";

/** Leaves a page that shows a secret once. @param what is to be copied: "it", "them". */
export function copied(action: string, what: "it" | "them" = "it"): string {
  return html`<form method="get" action="${action}" class="stack">
    <label class="check"><input type="checkbox" required />I have copied ${what}</label>
    <button class="primary">Done</button>
  </form>`;
}
