import { html } from "ghtml";
import { asset } from "../../assets.ts";
import type { PasskeyChallenge } from "../../passkeys/passkeys.ts";

export interface PasskeyForm {
  kind: "create" | "get";
  action: string;
  challenge: PasskeyChallenge;
  button: string;
  isPrimary?: boolean;
  /** Path of the page without it; undefined: there is none. */
  cancel?: string;
  /** HTML of further fields. */
  fields: string;
}

/** A form that a script fills with the browser's answer. Until the script runs, its button is disabled and a notice is there. */
export function passkeyForm({ kind, action, challenge, button, isPrimary = false, cancel, fields }: PasskeyForm): string {
  return html`<form method="post" action="${action}" class="stack" data-passkey="${kind}" data-options="${challenge.options}">
      !${fields}
      <input type="hidden" name="challenge" value="${challenge.note}" />
      <input type="hidden" name="credential" value="" />
      <p class="problem" role="alert" data-problem hidden></p>
      <p class="muted" data-unsupported>Passkeys need an up-to-date browser with JavaScript enabled.</p>
      <div class="buttons">
        <button class="${isPrimary ? "primary" : ""}" disabled>${button}</button>
        !${cancel === undefined ? "" : html`<a class="button quiet" href="${cancel}">Cancel</a>`}
      </div>
    </form>
    <script type="module" src="${asset("passkey.js")}"></script>`;
}
