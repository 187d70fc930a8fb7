import { html } from "ghtml";
import type { FormState } from "../form.ts";
import { field, formProblem } from "./field.ts";
import { layout } from "./layout.ts";

export interface SignUpView {
  form: FormState;
  /** Token of an invitation; "" without one. */
  invitation: string;
  /** Name of the account. */
  invitedTo: string | null;
}

export function signUpPage({ form, invitation, invitedTo }: SignUpView): string {
  const body = html`<h1>Sign up</h1>
    <p class="muted">
      ${invitedTo === null ? "One account, every model, from any tool that can set a base address and a key." : `You join ${invitedTo}.`}
    </p>
    <form method="post" action="/dashboard/sign-up" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="invitation" value="${invitation}" />
      !${field({ name: "name", label: "Name", help: invitedTo === null ? "Yours, or your team's. The account is called so." : "Yours.", autocomplete: "name", isRequired: true }, form)}
      !${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", isRequired: true }, form)}
      !${field({ name: "password", label: "Password", type: "password", help: "At least 10 characters. A few words together are good ones.", autocomplete: "new-password", isRequired: true }, form)}
      <button class="primary">Sign up</button>
    </form>
    <p class="muted">Signed up before? <a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Sign up", visitor: null, body, isNarrow: true });
}
