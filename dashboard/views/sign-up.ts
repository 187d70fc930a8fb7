import { html } from "ghtml";
import type { FormState } from "../form.ts";
import { field, formProblem } from "./field.ts";
import { layout } from "./layout.ts";

export function signUpPage({ form }: { form: FormState }): string {
  const body = html`<h1>Sign up</h1>
    <p class="muted">One account, every model, from any tool that can set a base address and a key.</p>
    <form method="post" action="/dashboard/sign-up" class="card stack">
      !${formProblem(form)}
      !${field({ name: "name", label: "Name", help: "Yours, or your team's. The account is called so.", autocomplete: "name", isRequired: true }, form)}
      !${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", isRequired: true }, form)}
      !${field({ name: "password", label: "Password", type: "password", help: "At least 10 characters. A few words together are good ones.", autocomplete: "new-password", isRequired: true }, form)}
      <button class="primary">Sign up</button>
    </form>
    <p class="muted">Signed up before? <a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Sign up", visitor: null, body, isNarrow: true });
}
