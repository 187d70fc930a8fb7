import { html } from "ghtml";
import { asset } from "../assets.ts";
import type { Draft } from "../session/draft.ts";
import type { Member, Toast } from "../session/visitor.ts";
import { csrfField } from "./csrf-field.ts";
import { guestNavigation, memberNavigation } from "./navigation.ts";
import { themeSwitch } from "./theme-switch.ts";

export interface Page {
  title: string;
  /** null if nobody is signed in. */
  visitor: Member | null;
  /** Address of the page's section, to mark it in the navigation. */
  path?: string;
  /** HTML. */
  body: string;
  /** Narrow layout for forms and texts. */
  isNarrow?: boolean;
}

/** A complete page. In templates `!` marks existing HTML; everything else is escaped. */
export function layout({ title, visitor, path, body, isNarrow = false }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Model Gateway</title>
        <link rel="icon" href="${asset("icon.svg")}" type="image/svg+xml" />
        <script src="${asset("theme.js")}"></script>
        <link rel="stylesheet" href="${asset("style.css")}" />
        <script type="module" src="${asset("page.js")}"></script>
        <script type="module" src="${asset("dialog.js")}"></script>
      </head>
      <body class="${visitor === null ? "guest" : "app"}">
        <a class="skip" href="#main">Skip to content</a>
        !${visitor === null ? guestNavigation(path) : memberNavigation(visitor, path)}
        <div class="page">
          !${visitor === null ? "" : banners(visitor)} !${visitor?.draft == null ? "" : draftNote(visitor.draft)}
          <main id="main" class="${isNarrow ? "narrow" : ""}">!${body}</main>
          <footer class="muted small">
            <a href="/dashboard/models">Models</a> <a href="/dashboard/status">Status</a> <a href="/dashboard/terms">Terms</a>
            <a href="/dashboard/docs">Docs</a> <a href="/dashboard/support">Support</a> !${visitor === null ? themeSwitch() : ""}
          </footer>
        </div>
        !${visitor?.toast == null ? "" : toast(visitor.toast)}
      </body>
    </html>`;
}

/** The result of a form. It stays until it is dismissed, or the next page is loaded. */
function toast({ text, isProblem }: Toast): string {
  return html`<p class="toast !${isProblem ? "unchanged" : ""}" role="status">
    <span>${text}</span><button type="button" class="quiet" aria-label="Dismiss" hidden>×</button>
  </p>`;
}

/** Scripts restore the typed input to its form. */
function draftNote({ action, fields }: Draft): string {
  return html`<p class="banner" role="status" data-draft="${action}" data-fields="${JSON.stringify(fields)}">
    You had to sign in again before the form could be sent, so nothing was saved. Check it, then submit it again.
  </p>`;
}

/** Information for every page. */
function banners({ membership, person, csrf, mustProveEmail, mustProveFactor }: Member): string {
  const suspended = html`<p class="banner" role="status">
    This account is suspended: its keys are refused and it cannot make payments. Contact the operator of this service.
  </p>`;
  const unproved = html`<form method="post" action="/dashboard/confirm-email/send" class="banner">
    !${csrfField(csrf)}
    <p role="status">
      Confirm your email address, ${person.email}, to make payments, invite members and create more than one key.
    </p>
    <button>Send confirmation email</button>
  </form>`;
  const who = membership.requiresSecondFactor ? `${membership.accountName} requires` : "Administrators need";
  const factor = html`<p class="banner" role="status">
    ${who} two-factor authentication.
    ${person.hasSecondFactor ? "Verify with your second factor to continue." : "Set it up to continue."}
  </p>`;
  return `${mustProveFactor ? factor : ""}${membership.isSuspended ? suspended : ""}${mustProveEmail ? unproved : ""}`;
}
