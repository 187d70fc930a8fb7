import { html } from "ghtml";
import { renderSVG } from "uqr";
import type { Passkey } from "../../../ledger/sign-in/passkeys.ts";
import type { TotpOffer } from "../../../ledger/sign-in/second-factor.ts";
import type { FormState } from "../../http/form.ts";
import type { PasskeyChallenge } from "../../passkeys/passkeys.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { copyable } from "../keys/snippets.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { passkeyForm } from "./passkey-form.ts";
import { NEW_PASSKEY_PATH, passkeyList } from "./passkeys.ts";

const SETTINGS = "/dashboard/settings";
const PATH = `${SETTINGS}/second-factor`;
const CODE_FIELD = { name: "code", label: "Code", autocomplete: "one-time-code", isRequired: true } as const;

export interface SecondFactorView {
  visitor: Member;
  offer: TotpOffer;
  form: FormState;
  canAddPasskey: boolean;
}

export function secondFactorPage({ visitor, offer, form, canAddPasskey }: SecondFactorView): string {
  const instead = html`<p class="muted">
    No authenticator app? <a href="${NEW_PASSKEY_PATH}">Use a passkey instead</a>: your device's fingerprint, face or PIN.
  </p>`;
  const body = html`<h1>Set up an authenticator app</h1>
    <form method="post" action="${PATH}" class="card stack">
      !${csrfField(visitor.csrf)} !${formProblem(form)}
      <input type="hidden" name="sealed" value="${offer.sealed}" />
      <p>Scan the QR code with an authenticator app, or type in the key. Then enter the code that the app shows.</p>
      <div class="qr" role="img" aria-label="QR code of the key below">!${renderSVG(offer.uri, { border: 2 })}</div>
      !${copyable({ id: "totp-secret", text: offer.secret, label: "The key" })}
      !${field({ ...CODE_FIELD, help: "The 6-digit code from the app.", inputMode: "numeric" }, form)}
      <div class="buttons">
        <button class="primary">Turn on</button>
        <a class="button quiet" href="${SETTINGS}">Cancel</a>
      </div>
    </form>
    !${canAddPasskey ? instead : ""}`;
  return layout({ title: "Set up an authenticator app", visitor, path: SETTINGS, body, isNarrow: true });
}

export function recoveryCodesPage({ visitor, codes }: { visitor: Member; codes: readonly string[] }): string {
  const body = html`<h1>Your recovery codes</h1>
    <div class="card stack">
      <p role="status">Two-factor authentication is on.</p>
      <p>
        <strong>Save these codes now: you will not see them again.</strong> If you lose your app or passkey, each code lets you
        sign in once, together with your password.
      </p>
      !${copyable({ id: "recovery-codes", text: codes.join("\n"), label: "Recovery codes" })}
      <p><a class="button primary" href="${SETTINGS}">I have saved them</a></p>
    </div>`;
  return layout({ title: "Your recovery codes", visitor, path: SETTINGS, body, isNarrow: true });
}

/** On the settings page. */
export interface SecondFactors {
  passkeys: readonly Passkey[];
  canAddPasskey: boolean;
  /** Recovery codes. */
  codesLeft: number;
}

export function secondFactorSection(visitor: Member, { passkeys, canAddPasskey, codesLeft }: SecondFactors): string {
  const { person } = visitor;
  const words = person.hasSecondFactor
    ? "On. You sign in with your password and a second factor."
    : "Off. Turn it on to protect your account even if someone learns your password.";
  const app = person.hasTotp
    ? html`<a class="button quiet danger" href="${PATH}/off" data-dialog>Remove authenticator app</a>`
    : html`<a class="button" href="${PATH}">Set up an authenticator app</a>`;
  const codes = html`<p class="muted">${codesLeft} of 10 recovery codes left.</p>
    <p><a class="button" href="${PATH}/recovery-codes" data-dialog>Generate new recovery codes</a></p>`;
  return html`<h2>Two-factor authentication</h2>
    <div class="card stack">
      <p>${words}</p>
      !${passkeyList(passkeys)}
      <div class="buttons">
        !${canAddPasskey ? html`<a class="button" href="${NEW_PASSKEY_PATH}">Add a passkey</a>` : ""} !${app}
      </div>
      !${person.hasSecondFactor ? codes : ""}
    </div>`;
}

export function confirmTotpOffPage({ visitor }: { visitor: Member }): string {
  return confirmPage({
    visitor,
    path: SETTINGS,
    title: "Remove the authenticator app?",
    body: html`<p>Its codes will stop working. Unless you have a passkey, you will sign in with your password alone.</p>`,
    action: `${PATH}/off`,
    button: "Remove authenticator app",
    cancel: SETTINGS,
  });
}

export function confirmRecoveryCodesPage({ visitor, codesLeft }: { visitor: Member; codesLeft: number }): string {
  return confirmPage({
    visitor,
    path: SETTINGS,
    title: "Generate new recovery codes?",
    body: html`<p>
      You get 10 new codes.
      ${codesLeft === 0 ? "" : `The ${codesLeft === 1 ? "code" : `${codesLeft} codes`} that you have left will no longer work.`}
    </p>`,
    action: `${PATH}/recovery-codes`,
    button: "Generate new codes",
    cancel: SETTINGS,
  });
}

export interface SignInCodeView {
  form: FormState;
  /** Proves that the password was right. */
  note: string;
  hasTotp: boolean;
  /** null if they have no passkey. */
  challenge: PasskeyChallenge | null;
  /** Path to continue to. */
  next: string;
}

/** The second step of signing in. */
export function signInCodePage({ form, note, hasTotp, challenge, next }: SignInCodeView): string {
  const title = challenge === null ? "Enter your code" : "Use your passkey";
  const passkey =
    challenge === null
      ? ""
      : html`<div class="card">
          !${passkeyForm({ kind: "get", action: "/dashboard/sign-in/passkey", challenge, button: "Use your passkey", isPrimary: true, fields: html`<input type="hidden" name="next" value="${next}" />` })}
        </div>`;
  const help = hasTotp ? "The 6-digit code from your authenticator app, or a recovery code." : "One of your recovery codes.";
  const body = html`<h1>${title}</h1>
    !${passkey}
    <form method="post" action="/dashboard/sign-in/code" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="note" value="${note}" />
      !${field({ ...CODE_FIELD, help }, form)}
      <button class="${challenge === null ? "primary" : ""}">Sign in</button>
    </form>
    <p class="muted"><a href="/dashboard/sign-in">Start again</a></p>`;
  return layout({ title, visitor: null, body, isNarrow: true });
}
