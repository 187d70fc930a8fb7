import { html } from "ghtml";
import type { FormState } from "../../form.ts";
import { field, formProblem } from "../field.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField, layout } from "../layout.ts";

/** @param view.visitor somebody who is signed in may have forgotten the password, too. */
export function forgotPage({ form, visitor }: { form: FormState; visitor: Member | null }): string {
  const body = html`<h1>A new password</h1>
    <form method="post" action="/dashboard/forgot" class="card stack">
      !${visitor === null ? "" : csrfField(visitor.csrf)} !${formProblem(form)}
      !${field({ name: "email", label: "E-mail", type: "email", help: "We send a link to it with which you choose a new password.", autocomplete: "username", isRequired: true }, form)}
      <button class="primary">Send the link</button>
    </form>
    <p class="muted"><a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "A new password", visitor: null, body, isNarrow: true });
}

/** The same words whether or not somebody has the address. */
export function forgotSentPage({ hasOutbox }: { hasOutbox: boolean }): string {
  const body = html`<h1>Look into your mail</h1>
    <div class="card stack">
      <p role="status">If somebody has signed up with this address, a link is on its way to it. It works for an hour.</p>
      !${hasOutbox ? outboxHint : ""}
      <p class="muted">Nothing came? Look into the folder for unwanted mail, or check the address and try again.</p>
    </div>
    <p class="muted"><a href="/dashboard/forgot">Try again</a> · <a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Look into your mail", visitor: null, body, isNarrow: true });
}

/** Where a gateway on one machine keeps its letters. */
export const outboxHint = html`<p>This gateway sends no mail: read it in the <a href="/dashboard/outbox">outbox</a>.</p>`;

export interface ResetView {
  form: FormState;
  visitor: Member | null;
  token: string;
  /** Keys or tokens were made before anybody proved the address. */
  isAsking: boolean;
}

export function resetPage({ form, visitor, token, isAsking }: ResetView): string {
  const body = html`<h1>Choose a new password</h1>
    <form method="post" action="/dashboard/reset" class="card stack">
      !${visitor === null ? "" : csrfField(visitor.csrf)} !${formProblem(form)}
      <input type="hidden" name="token" value="${token}" />
      !${field({ name: "password", label: "New password", type: "password", help: "At least 10 characters. You are signed out everywhere else.", autocomplete: "new-password", isRequired: true }, form)}
      !${isAsking ? whoSignedUp(form) : ""}
      <button class="primary">Save it</button>
    </form>`;
  return layout({ title: "Choose a new password", visitor: null, body, isNarrow: true });
}

function whoSignedUp({ problems, values }: FormState): string {
  const problem = problems["signed-up"];
  const option = (value: string, words: string) =>
    html`<label class="check"
      ><input
        type="radio"
        name="signed-up"
        value="${value}"
        required
        !${values["signed-up"] === value ? "checked" : ""}
      />${words}</label
    >`;
  return html`<fieldset>
    <legend>Was it you who signed up here?</legend>
    <p class="help">Keys or tokens were made in this account before anybody confirmed this address.</p>
    !${option("me", "Yes: keep them")} !${option("stranger", "No: delete them all")}
    !${problem === undefined ? "" : html`<p class="problem">${problem}</p>`}
  </fieldset>`;
}
