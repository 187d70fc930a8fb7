import { html } from "ghtml";
import { startPath } from "../../oidc/paths.ts";
import type { Provider } from "../../oidc/provider.ts";

export type ProviderButton = Pick<Provider, "id" | "name">;

/** A button for each additional sign-in provider. */
export function providerButtons({
  verb,
  providers,
  next,
}: {
  verb: "Sign in" | "Sign up";
  providers: readonly ProviderButton[];
  next: string;
}): string {
  if (providers.length === 0) return "";
  const buttons = providers.map(
    ({ id, name }) => html`<a class="button" href="${startPath(id)}?next=${encodeURIComponent(next)}">${verb} with ${name}</a>`,
  );
  return html`<p class="buttons">!${buttons.join(" ")}</p>`;
}
