import { html } from "ghtml";
import type { Member } from "../session/visitor.ts";
import { supportLink } from "./support.ts";
import { layout } from "./layout.ts";

const TITLES: Readonly<Record<number, string>> = { 403: "Not allowed", 404: "Not found", 429: "Too many requests" };

export function failurePage({
  visitor,
  status,
  message,
  requestId,
  support,
}: {
  visitor: Member | null;
  status: number;
  message: string;
  requestId: string;
  /** Where customers get help; undefined: nowhere. */
  support: string | undefined;
}): string {
  const title = TITLES[status] ?? (status >= 500 ? "Something went wrong" : "That did not work");
  const body = html`<h1>${title}</h1>
    <p>${message}</p>
    <p class="muted small">Request ID: <code>${requestId}</code></p>
    !${support === undefined ? "" : html`<p class="muted small">Need help? Contact !${supportLink(support)} with this ID.</p>`}
    <p>
      <a class="button" href="!${visitor === null ? "/dashboard/sign-in" : "/dashboard"}"
        >${visitor === null ? "Sign in" : "Go to overview"}</a
      >
    </p>`;
  return layout({ title, visitor, body, isNarrow: true });
}
