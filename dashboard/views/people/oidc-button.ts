import { html } from "ghtml";

/** @param button.name of the service; null: there is none, and no button. */
export function oidcButton({ verb, name, next }: { verb: "Sign in" | "Sign up"; name: string | null; next: string }): string {
  if (name === null) return "";
  return html`<p><a class="button" href="/dashboard/oidc/start?next=${encodeURIComponent(next)}">${verb} with ${name}</a></p>`;
}
