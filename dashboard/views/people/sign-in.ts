import { html } from "ghtml";
import type { FormState } from "../../http/form.ts";
import type { PasskeyChallenge } from "../../passkeys/passkeys.ts";
import { field, formProblem } from "../field.ts";
import { passkeyForm } from "./passkey-form.ts";
import { providerButtons, type ProviderButton } from "./provider-buttons.ts";
import { layout } from "../layout.ts";

export interface SignInView {
  form: FormState;
  next: string;
  /** This browser's session has ended. */
  isSessionOver: boolean;
  isSignUpOpen: boolean;
  /** Whether password resets can be emailed. */
  canReset: boolean;
  /** Additional sign-in providers. */
  providers: readonly ProviderButton[];
  /** For anybody's passkey; null if passkeys do not work at this address. */
  challenge: PasskeyChallenge | null;
}

export function signInPage({ form, next, isSessionOver, isSignUpOpen, canReset, providers, challenge }: SignInView): string {
  const passkey = (asked: PasskeyChallenge) =>
    passkeyForm({
      kind: "get",
      action: "/dashboard/sign-in/passkey",
      challenge: asked,
      button: "Sign in with a passkey",
      fields: html`<input type="hidden" name="next" value="${next}" />`,
    });
  const over = html`<p class="note" role="status">Your session has ended. Sign in to continue where you left off.</p>`;
  const body = html`<h1>Sign in</h1>
    !${isSessionOver ? over : ""}
    <form method="post" action="/dashboard/sign-in" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="next" value="${next}" />
      !${field({ name: "email", label: "Email", type: "email", autocomplete: "username", isRequired: true }, form)}
      !${field({ name: "password", label: "Password", type: "password", autocomplete: "current-password", isRequired: true }, form)}
      <button class="primary">Sign in</button>
    </form>
    !${challenge === null ? "" : passkey(challenge)} !${providerButtons({ verb: "Sign in", providers, next })}
    !${canReset ? html`<p class="muted"><a href="/dashboard/forgot">Forgot your password?</a></p>` : ""}
    !${isSignUpOpen ? html`<p class="muted">No account yet? <a href="/dashboard/sign-up">Sign up</a></p>` : ""}`;
  return layout({ title: "Sign in", visitor: null, body, isNarrow: true });
}
