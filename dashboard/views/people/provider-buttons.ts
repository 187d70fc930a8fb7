import { html } from "ghtml";
import { againPath, startPath } from "../../oidc/paths.ts";
import type { Provider } from "../../oidc/provider.ts";

export type ProviderButton = Pick<Provider, "id" | "name">;

/** A button for each additional sign-in provider. */
export function providerButtons({
  verb,
  providers,
  next,
}: {
  /** "Sign in again": somebody who has a session. */
  verb: "Sign in" | "Sign up" | "Sign in again";
  providers: readonly ProviderButton[];
  next: string;
}): string {
  if (providers.length === 0) return "";
  const pathOf = ({ id }: ProviderButton) =>
    verb === "Sign in again" ? againPath(id, next) : `${startPath(id)}?next=${encodeURIComponent(next)}`;
  const buttons = providers.map(
    (provider) => html`<a class="button" href="${pathOf(provider)}">${verb} with ${provider.name}</a>`,
  );
  return html`<p class="buttons">!${buttons.join(" ")}</p>`;
}
