import { html } from "ghtml";
import type { Passkey } from "../../../ledger/sign-in/passkeys.ts";
import type { FormState } from "../../http/form.ts";
import type { PasskeyChallenge } from "../../passkeys/passkeys.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { day } from "../time.ts";
import { passkeyForm } from "./passkey-form.ts";

const SETTINGS = "/dashboard/settings";
export const NEW_PASSKEY_PATH = `${SETTINGS}/passkeys/new`;

export interface NewPasskeyView {
  visitor: Member;
  challenge: PasskeyChallenge;
  form: FormState;
}

export function newPasskeyPage({ visitor, challenge, form }: NewPasskeyView): string {
  const name = field(
    {
      name: "name",
      label: "Name",
      help: "Such as “Laptop” or “Blue security key”.",
      isRequired: true,
    },
    form,
  );
  const body = html`<h1>Add a passkey</h1>
    <div class="card stack">
      <p>
        Your device, password manager or security key keeps a passkey, and asks for your fingerprint, face or PIN. You can then
        sign in with it alone, or use it after your password.
      </p>
      !${formProblem(form)}
      !${passkeyForm({ kind: "create", action: NEW_PASSKEY_PATH, challenge, button: "Create passkey", isPrimary: true, cancel: SETTINGS, fields: csrfField(visitor.csrf) + name })}
    </div>`;
  return layout({ title: "Add a passkey", visitor, path: SETTINGS, body, isNarrow: true });
}

/** On the settings page. */
export function passkeyList(passkeys: readonly Passkey[]): string {
  if (passkeys.length === 0) return "";
  const items = passkeys.map(
    ({ id, name, createdAt, lastUsedAt }) =>
      html`<li>
        <p>
          <strong>${name}</strong><br />
          <span class="muted small"
            >added !${day(createdAt)}, !${lastUsedAt === null ? "never used" : html`last used !${day(lastUsedAt)}`}</span
          >
        </p>
        <a
          class="button quiet danger"
          href="${SETTINGS}/passkeys/${id}/remove"
          data-dialog
          aria-label="Remove the passkey ${name}"
          >Remove</a
        >
      </li>`,
  );
  return html`<ul class="rows">
    !${items.join("")}
  </ul>`;
}

export function confirmPasskeyPage({ visitor, passkey }: { visitor: Member; passkey: Passkey }): string {
  return confirmPage({
    visitor,
    path: SETTINGS,
    title: `Remove ${passkey.name}?`,
    body: html`<p>You can no longer sign in with this passkey. Delete it on your device, too.</p>`,
    action: `${SETTINGS}/passkeys/${passkey.id}/remove`,
    button: "Remove passkey",
    cancel: SETTINGS,
  });
}
