import { html } from "ghtml";
import { renderSVG } from "uqr";
import type { TotpOffer } from "../../../ledger/people/second-factor.ts";
import type { FormState } from "../../form.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { copyable } from "../keys/snippets.ts";
import { csrfField, layout } from "../layout.ts";

const SETTINGS = "/dashboard/settings";
const PATH = `${SETTINGS}/second-factor`;
const CODE_FIELD = { name: "code", label: "Code", autocomplete: "one-time-code", isRequired: true } as const;

export function secondFactorPage({ visitor, offer, form }: { visitor: Member; offer: TotpOffer; form: FormState }): string {
  const body = html`<h1>Set up a second factor</h1>
    <form method="post" action="${PATH}" class="card stack">
      !${csrfField(visitor.csrf)} !${formProblem(form)}
      <input type="hidden" name="sealed" value="${offer.sealed}" />
      <p>Scan this with an authenticator app, or type the key into it. Then enter the code that the app shows.</p>
      <div class="qr" role="img" aria-label="QR code of the key below">!${renderSVG(offer.uri, { border: 2 })}</div>
      !${copyable({ id: "totp-secret", text: offer.secret, label: "The key" })}
      !${field({ ...CODE_FIELD, help: "Six digits.", inputMode: "numeric" }, form)}
      <div class="buttons">
        <button class="primary">Turn on</button>
        <a class="button quiet" href="${SETTINGS}">Cancel</a>
      </div>
    </form>`;
  return layout({ title: "Set up a second factor", visitor, path: SETTINGS, body, isNarrow: true });
}

export function recoveryCodesPage({ visitor, codes }: { visitor: Member; codes: readonly string[] }): string {
  const body = html`<h1>Your recovery codes</h1>
    <div class="card stack">
      <p role="status">The second factor is on.</p>
      <p>
        <strong>Keep these codes now: you will not see them again.</strong> If you lose the app, each of them lets you in once, in
        place of a code.
      </p>
      !${copyable({ id: "recovery-codes", text: codes.join("\n"), label: "Recovery codes" })}
      <p><a class="button primary" href="${SETTINGS}">I have kept them</a></p>
    </div>`;
  return layout({ title: "Your recovery codes", visitor, path: SETTINGS, body, isNarrow: true });
}

/** On the settings page. @param view.codesLeft recovery codes. */
export function secondFactorSection({ person, csrf }: Member, codesLeft: number): string {
  if (!person.hasPassword) return "";
  const on = html`<p>On. You have ${codesLeft} recovery codes left; turn it off and on again for new ones.</p>
    <form method="post" action="${PATH}/off">!${csrfField(csrf)}<button class="quiet danger">Turn off</button></form>`;
  const off = html`<p>
      Off. A code of an authenticator app, asked for beside your password, keeps out whoever learns the password.
    </p>
    <p><a class="button" href="${PATH}">Set it up</a></p>`;
  return html`<h2>Second factor</h2>
    <div class="card stack">!${person.hasSecondFactor ? on : off}</div>`;
}

/** The second step of signing in. @param view.note proves that the password was right. */
export function signInCodePage({ form, note }: { form: FormState; note: string }): string {
  const body = html`<h1>Enter your code</h1>
    <form method="post" action="/dashboard/sign-in/code" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="note" value="${note}" />
      !${field({ ...CODE_FIELD, help: "The six digits that your authenticator app shows, or a recovery code." }, form)}
      <button class="primary">Sign in</button>
    </form>
    <p class="muted"><a href="/dashboard/sign-in">Start again</a></p>`;
  return layout({ title: "Enter your code", visitor: null, body, isNarrow: true });
}
