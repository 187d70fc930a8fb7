import { html } from "ghtml";
import type { Member } from "../session/visitor.ts";
import { supportLink } from "./support.ts";
import { layout } from "./layout.ts";

const DEAD_LINK = "This link no longer works";
const TITLES: Readonly<Record<number, string>> = { 403: "Not allowed", 404: "Not found", 429: "Too many requests" };

export function failurePage({
  visitor,
  status,
  message,
  requestId,
  support,
  renewal,
}: {
  visitor: Member | null;
  status: number;
  message: string;
  requestId: string;
  /** Where customers get help; undefined: nowhere. */
  support: string | undefined;
  /** Of a mailed link that has ended, where to get another; null: nowhere here. */
  renewal?: { path: string; words: string } | null;
}): string {
  const home =
    visitor === null ? { path: "/dashboard/sign-in", words: "Sign in" } : { path: "/dashboard", words: "Go to overview" };
  const link = renewal ?? home;
  const usual = TITLES[status] ?? (status >= 500 ? "Something went wrong" : "That did not work");
  const title = renewal === undefined ? usual : DEAD_LINK;
  const body = html`<h1>${title}</h1>
    <p>${message}</p>
    <p class="muted small">Request ID: <code>${requestId}</code></p>
    !${support === undefined ? "" : html`<p class="muted small">Need help? Contact !${supportLink(support)} with this ID.</p>`}
    <p>
      <a class="button" href="${link.path}">${link.words}</a>
    </p>`;
  return layout({ title, visitor, body, isNarrow: true });
}
