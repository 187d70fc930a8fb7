import { html } from "ghtml";
import type { FormState } from "../../http/form.ts";
import type { PasskeyChallenge } from "../../passkeys/passkeys.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { passkeyForm } from "./passkey-form.ts";
import { providerButtons, type ProviderButton } from "./provider-buttons.ts";

const PATH = "/dashboard/confirm-identity";

/** Proofs of identity besides a passkey: the password, the sign-in provider, and a code. */
export interface Proofs {
  first: "password" | "elsewhere" | "none";
  isCodeAsked: boolean;
}

export interface ConfirmIdentityView {
  visitor: Member;
  /** Path to continue to. */
  next: string;
  form: FormState;
  proofs: Proofs;
  /** null if they have no passkey. */
  challenge: PasskeyChallenge | null;
  /** That can confirm who they are. */
  providers: readonly ProviderButton[];
}

export function confirmIdentityPage({ visitor, next, form, proofs, challenge, providers }: ConfirmIdentityView): string {
  const { person, csrf } = visitor;
  const hidden = html`!${csrfField(csrf)}<input type="hidden" name="next" value="${next}" />`;
  const passkey = (asked: PasskeyChallenge) =>
    html`<div class="card">
      !${passkeyForm({ kind: "get", action: `${PATH}/passkey`, challenge: asked, button: "Use your passkey", isPrimary: true, fields: hidden })}
    </div>`;
  const own = html`<form method="post" action="${PATH}" class="card stack">
    !${hidden} !${fieldsFor(proofs, visitor, form)}
    <button class="${challenge === null ? "primary" : ""}">${proofs.first === "elsewhere" ? "Sign in again" : "Continue"}</button>
  </form>`;
  const elsewhere = html`<div class="card stack">
    <p>You sign in with another provider. Sign in there again to continue.</p>
    !${providerButtons({ verb: "Sign in again", providers, next })}
  </div>`;
  const body = html`<h1>Confirm that it is you</h1>
    <p>
      For your security, verify your identity${person.hasSecondFactor ? " with your second factor" : ""} to continue. Nothing has
      been changed yet.
    </p>
    !${formProblem(form)} !${challenge === null ? "" : passkey(challenge)}
    !${proofs.first === "elsewhere" && providers.length > 0 ? elsewhere : own}`;
  return layout({ title: "Confirm that it is you", visitor, body, isNarrow: true });
}

function fieldsFor({ first, isCodeAsked }: Proofs, { person }: Member, form: FormState): string {
  if (first === "elsewhere") return html`<p>You sign in with another provider. Sign in there again to continue.</p>`;
  const password = html`<input type="email" name="username" value="${person.email}" autocomplete="username" hidden />
    !${field({ name: "current", label: "Password", type: "password", autocomplete: "current-password", isRequired: true }, form)}`;
  const help = person.hasTotp
    ? "The 6-digit code from your authenticator app, or a recovery code."
    : "One of your recovery codes.";
  const code = field({ name: "code", label: "Code", help, autocomplete: "one-time-code", isRequired: true }, form);
  return `${first === "password" ? password : ""}${isCodeAsked ? code : ""}`;
}
