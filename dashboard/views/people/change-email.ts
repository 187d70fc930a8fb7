import { html } from "ghtml";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { field, formProblem } from "../field.ts";
import { layout } from "../layout.ts";
import { outboxHint } from "./forgot.ts";

const SETTINGS = "/dashboard/settings";

export function changeEmailPage({ visitor, form }: { visitor: Member; form: FormState }): string {
  const title = "Change email address";
  const body = html`<p class="crumb"><a href="${SETTINGS}">Settings</a></p>
    <h1>${title}</h1>
    <form method="post" action="${SETTINGS}/email" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)}
      <p>You sign in as ${visitor.person.email}. It stays that way until you confirm the new address.</p>
      !${field({ name: "email", label: "New email address", type: "email", autocomplete: "email", isRequired: true }, form)}
      <div class="buttons">
        <button class="primary">Send confirmation link</button>
        <a class="button quiet" href="${SETTINGS}">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: SETTINGS, body, isNarrow: true });
}

export function changeEmailSentPage({
  visitor,
  email,
  hasOutbox,
}: {
  visitor: Member;
  email: string;
  hasOutbox: boolean;
}): string {
  const title = "Check your email";
  const body = html`<h1>${title}</h1>
    <div class="card stack">
      <p role="status">We sent a link to ${email}. Open it in this browser within an hour.</p>
      !${hasOutbox ? outboxHint : ""}
      <p><a class="button" href="${SETTINGS}">Back to settings</a></p>
    </div>`;
  return layout({ title, visitor, path: SETTINGS, body, isNarrow: true });
}

export function confirmNewEmailPage({ visitor, token, email }: { visitor: Member; token: string; email: string }): string {
  const title = "Confirm your new email address";
  const body = html`<h1>${title}</h1>
    <form method="post" action="${SETTINGS}/email/confirm" class="card stack">
      !${csrfField(visitor.csrf)}
      <input type="hidden" name="token" value="${token}" />
      <p>
        You will sign in as <strong>${email}</strong> instead of ${visitor.person.email}. You will be signed out everywhere else.
      </p>
      <button class="primary">Change email address</button>
    </form>`;
  return layout({ title, visitor, path: SETTINGS, body, isNarrow: true });
}
