import { html } from "ghtml";
import type { FormState } from "../../form.ts";
import { field, formProblem } from "../field.ts";
import { oidcButton } from "./oidc-button.ts";
import { layout } from "../layout.ts";

export interface SignInView {
  form: FormState;
  next: string;
  isSignUpOpen: boolean;
  /** Can somebody who forgot the password be written to? */
  canReset: boolean;
  /** Of the service where people sign in, too; null: there is none. */
  oidcName: string | null;
}

export function signInPage({ form, next, isSignUpOpen, canReset, oidcName }: SignInView): string {
  const body = html`<h1>Sign in</h1>
    <form method="post" action="/dashboard/sign-in" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="next" value="${next}" />
      !${field({ name: "email", label: "E-mail", type: "email", autocomplete: "username", isRequired: true }, form)}
      !${field({ name: "password", label: "Password", type: "password", autocomplete: "current-password", isRequired: true }, form)}
      <button class="primary">Sign in</button>
    </form>
    !${oidcButton({ verb: "Sign in", name: oidcName, next })}
    !${canReset ? html`<p class="muted"><a href="/dashboard/forgot">Forgot your password?</a></p>` : ""}
    !${isSignUpOpen ? html`<p class="muted">No account yet? <a href="/dashboard/sign-up">Sign up</a></p>` : ""}`;
  return layout({ title: "Sign in", visitor: null, body, isNarrow: true });
}
