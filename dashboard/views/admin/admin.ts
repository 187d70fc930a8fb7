import { html } from "ghtml";
import type { Member } from "../../session/visitor.ts";
import { layout } from "../layout.ts";

const PAGES = [
  { path: "/dashboard/admin", name: "Accounts" },
  { path: "/dashboard/admin/figures", name: "Service" },
  { path: "/dashboard/admin/codes", name: "Redeem codes" },
  { path: "/dashboard/admin/models", name: "Models" },
  { path: "/dashboard/admin/incidents", name: "Incidents" },
  { path: "/dashboard/admin/check", name: "Integrity" },
  { path: "/dashboard/admin/audit", name: "Audit log" },
];

/** An administration page, with links to the others. */
export function adminPage({
  title,
  visitor,
  path,
  body,
}: {
  title: string;
  visitor: Member;
  path: string;
  body: string;
}): string {
  const links = PAGES.map(
    (page) => html`<a href="${page.path}" !${page.path === path ? 'aria-current="true"' : ""}>${page.name}</a>`,
  );
  return layout({
    title: `${title} · Admin`,
    visitor,
    path: "/dashboard/admin",
    body: html`<nav class="tabs" aria-label="Administration">!${links.join("")}</nav>
      !${body}`,
  });
}
