import { html } from "ghtml";

/**
 * A secret that cannot be read again, in a dialog that ends when it is copied. Without scripts it is shown above the page.
 * @param body HTML.
 * @param what is to be copied: "it", "them".
 */
export function shownOnce({
  title,
  body,
  done,
  what = "it",
}: {
  title: string;
  body: string;
  /** Address of the page that follows. */
  done: string;
  what?: "it" | "them";
}): string {
  return html`<dialog open data-once aria-labelledby="once-title" class="stack">
    <h2 id="once-title">${title}</h2>
    !${body}
    <form method="get" action="${done}" class="stack">
      <label class="check"><input type="checkbox" required />I have copied ${what}</label>
      <button class="primary">Done</button>
    </form>
  </dialog>`;
}
