import { html } from "ghtml";
import { asset } from "../assets.ts";
import type { Member } from "../session/visitor.ts";
import { csrfField } from "./csrf-field.ts";
import { icon, type IconName } from "./icon.ts";
import { themeSwitch } from "./theme-switch.ts";

interface Section {
  path: string;
  name: string;
  icon: IconName;
}

interface Group {
  /** null: the first group needs no name. */
  name: string | null;
  sections: readonly Section[];
}

const GROUPS: readonly Group[] = [
  {
    name: null,
    sections: [
      { path: "/dashboard", name: "Overview", icon: "overview" },
      { path: "/dashboard/playground", name: "Playground", icon: "playground" },
    ],
  },
  {
    name: "Build",
    sections: [
      { path: "/dashboard/keys", name: "API keys", icon: "keys" },
      { path: "/dashboard/projects", name: "Projects", icon: "projects" },
      { path: "/dashboard/models", name: "Models", icon: "models" },
      { path: "/dashboard/clients", name: "Tools", icon: "tools" },
      { path: "/dashboard/docs", name: "Docs", icon: "docs" },
    ],
  },
  {
    name: "Billing & Usage",
    sections: [
      { path: "/dashboard/usage", name: "Usage", icon: "usage" },
      { path: "/dashboard/usage/requests", name: "Logs", icon: "logs" },
      { path: "/dashboard/batches", name: "Batches", icon: "batches" },
      { path: "/dashboard/limits", name: "Limits", icon: "limits" },
      { path: "/dashboard/budgets", name: "Budgets", icon: "budgets" },
      { path: "/dashboard/credit", name: "Credit", icon: "credit" },
      { path: "/dashboard/billing", name: "Billing", icon: "billing" },
    ],
  },
  {
    name: "Account",
    sections: [
      { path: "/dashboard/members", name: "Members", icon: "members" },
      { path: "/dashboard/tokens", name: "Management tokens", icon: "tokens" },
      { path: "/dashboard/webhook-endpoints", name: "Webhooks", icon: "webhooks" },
      { path: "/dashboard/trace-destinations", name: "Traces", icon: "traces" },
      { path: "/dashboard/settings", name: "Settings", icon: "settings" },
    ],
  },
];
const ADMIN: Group = { name: "Operator", sections: [{ path: "/dashboard/admin", name: "Admin", icon: "admin" }] };

/**
 * A column next to the page, and on small screens a popover behind a button: both work without scripts.
 * @param path of the page, to mark it.
 */
export function memberNavigation(visitor: Member, path: string | undefined): string {
  const groups = visitor.person.isAdmin ? [...GROUPS, ADMIN] : GROUPS;
  return html`<header class="top">
      !${brand}
      <button type="button" class="quiet menu-button" popovertarget="sidebar">
        !${icon("menu")}<span class="hidden">Menu</span>
      </button>
    </header>
    <div id="sidebar" class="sidebar" popover>
      !${brand}
      <nav aria-label="Sections">!${groups.map((each) => group(each, path)).join("")}</nav>
      <div class="sidebar-end">!${accountMenu(visitor)} !${themeSwitch()}</div>
    </div>`;
}

export function guestNavigation(path: string | undefined): string {
  const links = [
    { path: "/dashboard/models", name: "Models" },
    { path: "/dashboard/clients", name: "Tools" },
    { path: "/dashboard/docs", name: "Docs" },
  ].map((section) => link(section, path));
  return html`<header class="top">
    !${brand}
    <nav aria-label="Sections">!${links.join("")}<a class="button" href="/dashboard/sign-in">Sign in</a></nav>
  </header>`;
}

const brand = html`<a class="brand" href="/dashboard"
  ><img src="${asset("icon.svg")}" alt="" width="24" height="24" />Model Gateway</a
>`;

function group({ name, sections }: Group, path: string | undefined): string {
  return html`!${name === null ? "" : html`<p class="nav-group">${name}</p>`}!${sections.map((section) => link(section, path)).join("")}`;
}

function link(section: { path: string; name: string; icon?: IconName }, here: string | undefined): string {
  return html`<a href="${section.path}" !${section.path === here ? 'aria-current="page"' : ""}
    >!${section.icon === undefined ? "" : icon(section.icon)}${section.name}</a
  >`;
}

function accountMenu({ person, membership, memberships, csrf }: Member): string {
  const others = memberships.filter(({ accountId }) => accountId !== membership.accountId);
  const switches = others.map(
    ({ accountId, accountName }) =>
      html`<form method="post" action="/dashboard/accounts/${accountId}/view">
        !${csrfField(csrf)}<button>${accountName}</button>
      </form>`,
  );
  return html`<details class="menu account-menu">
    <summary title="${membership.accountName}, ${person.email}">
      !${icon("person")}<span>${membership.accountName}</span>!${icon("chevron")}
    </summary>
    <div class="menu-items">
      <p class="muted small">Signed in as ${person.email}</p>
      !${switches.length === 0 ? "" : html`<p class="muted small">Switch account</p>`} !${switches.join("")}
      <form method="post" action="/dashboard/sign-out">!${csrfField(csrf)}<button>Sign out</button></form>
    </div>
  </details>`;
}
