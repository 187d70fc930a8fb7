import { html } from "ghtml";
import type { FormState } from "../../http/form.ts";
import { field, formProblem } from "../field.ts";
import { outboxHint } from "./forgot.ts";
import { providerButtons, type ProviderButton } from "./provider-buttons.ts";
import { layout } from "../layout.ts";

export interface SignUpView {
  form: FormState;
  /** Token of an invitation; "" without one. */
  invitation: string;
  /** Name of the account. */
  invitedTo: string | null;
  /** Token of a mailed link; "" without one. */
  proof: string;
  /** The address that the link was mailed to; null: it may be any. */
  email: string | null;
  /** Additional sign-up providers. */
  providers: readonly ProviderButton[];
}

export function signUpPage({ form, invitation, invitedTo, proof, email, providers }: SignUpView): string {
  const next = invitation === "" ? "/dashboard" : `/dashboard/invitation?token=${invitation}`;
  const address =
    email === null
      ? field({ name: "email", label: "Email", type: "email", autocomplete: "username", isRequired: true }, form)
      : html`<p>Your email address is <strong>${email}</strong>.</p>
          !${formProblem(form, "email")}`;
  const body = html`<h1>Sign up</h1>
    <p class="muted">
      ${invitedTo === null ? "One account and one key for every model, in any tool that takes a base URL." : `You are joining ${invitedTo}.`}
    </p>
    <form method="post" action="/dashboard/sign-up" class="card stack">
      !${formProblem(form)}
      <input type="hidden" name="invitation" value="${invitation}" />
      <input type="hidden" name="proof" value="${proof}" />
      !${field({ name: "name", label: "Name", help: invitedTo === null ? "Your name or your team's. It becomes the account's name." : "Your name.", autocomplete: "name", isRequired: true }, form)}
      !${address}
      !${field({ name: "password", label: "Password", type: "password", help: "At least 10 characters. A few random words work well.", autocomplete: "new-password", isRequired: true }, form)}
      <button class="primary">Sign up</button>
    </form>
    !${providerButtons({ verb: "Sign up", providers, next })} !${SIGN_IN}`;
  return layout({ title: "Sign up", visitor: null, body, isNarrow: true });
}

export interface AddressView {
  form: FormState;
  /** Token of an invitation; "" without one. */
  invitation: string;
  /** The domains whose addresses can sign up; null: all. */
  domains: readonly string[] | null;
  /** Whether a link can be emailed. */
  canMail: boolean;
  providers: readonly ProviderButton[];
}

/** The first step if an address must be confirmed. */
export function addressPage({ form, invitation, domains, canMail, providers }: AddressView): string {
  const next = invitation === "" ? "/dashboard" : `/dashboard/invitation?token=${invitation}`;
  const mailed = html`<form method="post" action="/dashboard/sign-up/address" class="card stack">
    !${formProblem(form)}
    <input type="hidden" name="invitation" value="${invitation}" />
    !${field({ name: "email", label: "Email", type: "email", help: "We will send you a link to sign up.", autocomplete: "username", isRequired: true }, form)}
    <button class="primary">Send sign-up link</button>
  </form>`;
  const body = html`<h1>Sign up</h1>
    !${domains === null ? "" : html`<p class="muted">Only addresses at ${domains.join(", ")} can sign up.</p>`}
    !${canMail ? mailed : ""} !${providerButtons({ verb: "Sign up", providers, next })} !${SIGN_IN}`;
  return layout({ title: "Sign up", visitor: null, body, isNarrow: true });
}

export function addressSentPage({ hasOutbox }: { hasOutbox: boolean }): string {
  const body = html`<h1>Check your email</h1>
    <div class="card stack">
      <p role="status">We sent a link to your address. It expires in an hour.</p>
      !${hasOutbox ? outboxHint : ""}
      <p class="muted">Nothing there? Check your spam folder, or check the address and try again.</p>
    </div>
    <p class="muted"><a href="/dashboard/sign-up">Try again</a> · <a href="/dashboard/sign-in">Sign in</a></p>`;
  return layout({ title: "Check your email", visitor: null, body, isNarrow: true });
}

const SIGN_IN = html`<p class="muted">Already have an account? <a href="/dashboard/sign-in">Sign in</a></p>`;
