import { html } from "ghtml";
import { asset } from "../assets.ts";
import { CSRF_FIELD } from "../session/csrf.ts";
import type { Member } from "../session/visitor.ts";

export interface Page {
  title: string;
  /** null: nobody has signed in. */
  visitor: Member | null;
  /** Address of the page, to mark it in the navigation. */
  path?: string;
  /** HTML. */
  body: string;
  /** A form stands alone in the middle. */
  isNarrow?: boolean;
}

const SECTIONS = [
  { path: "/dashboard", name: "Overview" },
  { path: "/dashboard/keys", name: "Keys" },
  { path: "/dashboard/usage", name: "Billing & Usage" },
  { path: "/dashboard/credit", name: "Credit" },
  { path: "/dashboard/models", name: "Models" },
  { path: "/dashboard/playground", name: "Playground" },
  { path: "/dashboard/clients", name: "Tools" },
];
/** In the menu under the account's name. */
const ACCOUNT_SECTIONS = [
  { path: "/dashboard/members", name: "Members" },
  { path: "/dashboard/tokens", name: "API tokens" },
  { path: "/dashboard/settings", name: "Settings" },
];
const ADMIN = { path: "/dashboard/admin", name: "Admin" };

/** A whole page. In templates `!` marks what is HTML already; all else is escaped. */
export function layout({ title, visitor, path, body, isNarrow = false }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Model Gateway</title>
        <link rel="icon" href="${asset("icon.svg")}" type="image/svg+xml" />
        <link rel="stylesheet" href="${asset("style.css")}" />
        <script type="module" src="${asset("copy.js")}"></script>
      </head>
      <body>
        <a class="skip" href="#main">To the page's content</a>
        <header class="top">
          <a class="brand" href="/dashboard"><img src="${asset("icon.svg")}" alt="" width="24" height="24" />Model Gateway</a>
          !${visitor === null ? guestNavigation(path) : memberNavigation(visitor, path)}
        </header>
        !${visitor === null ? "" : banners(visitor)}
        <main id="main" class="${isNarrow ? "narrow" : ""}">!${body}</main>
        <footer class="muted small">
          <a href="/dashboard/models">Models</a> <a href="/dashboard/status">Status</a> <a href="/dashboard/terms">Terms</a>
          <a href="/api/v1/openapi.json">API</a>
        </footer>
      </body>
    </html>`;
}

/** What somebody must know on whatever page they are. */
function banners({ membership, person, csrf, mustProveEmail, mustProveFactor }: Member): string {
  const suspended = html`<p class="banner" role="status">
    This account is suspended: its keys are refused, and nothing can be paid. Ask the operator of this service.
  </p>`;
  const unproved = html`<form method="post" action="/dashboard/confirm-email/send" class="banner">
    !${csrfField(csrf)}
    <p role="status">Confirm that ${person.email} is yours: until then you cannot pay, invite people or make a second key.</p>
    <button>Send me the link</button>
  </form>`;
  const who = membership.requiresSecondFactor ? `${membership.accountName} requires` : "Administrators need";
  const factor = html`<p class="banner" role="status">
    ${who} a second factor. ${person.hasSecondFactor ? "Confirm that it is you with yours." : "Set one up to continue."}
  </p>`;
  return `${mustProveFactor ? factor : ""}${membership.isSuspended ? suspended : ""}${mustProveEmail ? unproved : ""}`;
}

function memberNavigation(visitor: Member, path: string | undefined): string {
  return html`<nav aria-label="Sections">!${SECTIONS.map((section) => link(section, path)).join("")}</nav>
    !${accountMenu(visitor, path)}`;
}

/** Opens without script. */
function accountMenu({ person, membership, memberships, csrf }: Member, path: string | undefined): string {
  const sections = person.isAdmin ? [...ACCOUNT_SECTIONS, ADMIN] : ACCOUNT_SECTIONS;
  const others = memberships.filter(({ accountId }) => accountId !== membership.accountId);
  const switches = others.map(
    ({ accountId, accountName }) =>
      html`<form method="post" action="/dashboard/accounts/${accountId}/view">
        !${csrfField(csrf)}<button class="quiet">${accountName}</button>
      </form>`,
  );
  return html`<details class="menu">
    <summary title="${person.email}">${membership.accountName}</summary>
    <nav aria-label="Account">
      !${sections.map((section) => link(section, path)).join("")}
      !${switches.length === 0 ? "" : html`<p class="muted small">Your other accounts</p>`} !${switches.join("")}
      <form method="post" action="/dashboard/sign-out">!${csrfField(csrf)}<button class="quiet">Sign out</button></form>
    </nav>
  </details>`;
}

function guestNavigation(path: string | undefined): string {
  return html`<nav aria-label="Sections">
      !${link({ path: "/dashboard/models", name: "Models" }, path)}!${link({ path: "/dashboard/clients", name: "Tools" }, path)}
    </nav>
    <div class="who"><a class="button quiet" href="/dashboard/sign-in">Sign in</a></div>`;
}

function link({ path, name }: { path: string; name: string }, here: string | undefined): string {
  return html`<a href="${path}" !${path === here ? 'aria-current="page"' : ""}>${name}</a>`;
}

/** In every form of a member's. */
export function csrfField(csrf: string): string {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrf}" />`;
}
