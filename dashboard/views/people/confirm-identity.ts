import { html } from "ghtml";
import type { FormState } from "../../form.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { csrfField, layout } from "../layout.ts";

export interface ConfirmIdentityView {
  visitor: Member;
  /** Path to go on to. */
  next: string;
  form: FormState;
}

export function confirmIdentityPage({ visitor, next, form }: ConfirmIdentityView): string {
  const { person, csrf } = visitor;
  const password = html`<input type="email" name="username" value="${person.email}" autocomplete="username" hidden />
    !${field({ name: "current", label: "Password", type: "password", autocomplete: "current-password", isRequired: true }, form)}
    <button class="primary">Go on</button>`;
  const elsewhere = html`<button class="primary">Sign in again</button>`;
  const body = html`<h1>Confirm that it is you</h1>
    <form method="post" action="/dashboard/confirm-identity" class="card stack">
      !${csrfField(csrf)} !${formProblem(form)}
      <input type="hidden" name="next" value="${next}" />
      <p>You signed in a while ago. Cards, automatic top-up and tokens take a recent sign-in. Nothing was changed yet.</p>
      !${person.hasPassword ? password : elsewhere}
    </form>`;
  return layout({ title: "Confirm that it is you", visitor, body, isNarrow: true });
}
