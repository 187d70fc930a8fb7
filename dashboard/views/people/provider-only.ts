import { html } from "ghtml";
import { layout } from "../layout.ts";
import { providerButtons, type ProviderButton } from "./provider-buttons.ts";

/** Shown instead of a password to an address with a single provider, whether or not it is registered here. */
export function providerOnlyPage({ domain, provider, next }: { domain: string; provider: ProviderButton; next: string }): string {
  const body = html`<h1>Sign in with ${provider.name}</h1>
    <div class="card stack">
      <p>People with an address at ${domain} sign in with ${provider.name} only. They have no password here.</p>
      !${providerButtons({ verb: "Sign in", providers: [provider], next })}
    </div>
    <p class="muted"><a href="/dashboard/sign-in">Use another address</a></p>`;
  return layout({ title: `Sign in with ${provider.name}`, visitor: null, body, isNarrow: true });
}
