import { html } from "ghtml";
import type { FormState } from "../../http/form.ts";
import { field, formProblem } from "../field.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";

/** @param view.visitor a signed-in person may have forgotten the password, too. */
export function forgotPage({ form, visitor }: { form: FormState; visitor: Member | null }): string {
  const body = html`<h1>Reset your password</h1>
    <form method="post" action="/dashboard/forgot" class="card stack">
      !${visitor === null ? "" : csrfField(visitor.csrf)} !${formProblem(form)}
      !${field({ name: "email", label: "Email", type: "email", help: "We will send you a link to reset your password.", autocomplete: "username", isRequired: true }, form)}
      <button class="primary">Send reset link</button>
    </form>
    <p class="muted"><a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Reset your password", visitor: null, body, isNarrow: true });
}

/** The same text whether or not the address is registered. */
export function forgotSentPage({ hasOutbox }: { hasOutbox: boolean }): string {
  const body = html`<h1>Check your email</h1>
    <div class="card stack">
      <p role="status">If this address has an account, we sent it a link. The link expires in an hour.</p>
      !${hasOutbox ? outboxHint : ""}
      <p class="muted">Nothing there? Check your spam folder, or check the address and try again.</p>
    </div>
    <p class="muted"><a href="/dashboard/forgot">Try again</a> · <a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Check your email", visitor: null, body, isNarrow: true });
}

/** Where a local gateway keeps its emails. */
export const outboxHint = html`<p>This gateway sends no email: read it in the <a href="/dashboard/outbox">outbox</a>.</p>`;

export interface ResetView {
  form: FormState;
  visitor: Member | null;
  token: string;
  /** Keys or tokens were created before the address was confirmed. */
  isAsking: boolean;
}

export function resetPage({ form, visitor, token, isAsking }: ResetView): string {
  const body = html`<h1>Choose a new password</h1>
    <form method="post" action="/dashboard/reset" class="card stack">
      !${visitor === null ? "" : csrfField(visitor.csrf)} !${formProblem(form)}
      <input type="hidden" name="token" value="${token}" />
      !${field({ name: "password", label: "New password", type: "password", help: "At least 10 characters. You will be signed out everywhere else.", autocomplete: "new-password", isRequired: true }, form)}
      !${isAsking ? whoSignedUp(form) : ""}
      <button class="primary">Save password</button>
    </form>`;
  return layout({ title: "Choose a new password", visitor: null, body, isNarrow: true });
}

function whoSignedUp(form: FormState): string {
  const option = (value: string, words: string) =>
    html`<label class="check"
      ><input
        type="radio"
        name="signed-up"
        value="${value}"
        required
        !${form.values["signed-up"] === value ? "checked" : ""}
      />${words}</label
    >`;
  return html`<fieldset>
    <legend>Did you create this account?</legend>
    <p class="help">Keys or tokens were created before this email address was confirmed.</p>
    !${option("me", "Yes: keep them")} !${option("stranger", "No: delete them all")} !${formProblem(form, "signed-up")}
  </fieldset>`;
}
