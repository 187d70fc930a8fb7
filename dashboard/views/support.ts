import { html } from "ghtml";
import type { Operator } from "../config/operator.ts";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";

/** The operator of the service, and the contact for help. */
export function supportPage({ visitor, operator }: { visitor: Member | null; operator: Operator | undefined }): string {
  const { seller, support } = operator ?? {};
  const body = html`<h1>Support</h1>
    <div class="card stack">
      !${
        support === undefined
          ? html`<p>This service has no support contact. Ask the person who gave you access.</p>`
          : html`<p>Contact !${supportLink(support)}.</p>
              <p class="muted">
                Include the request ID (the <code>x-request-id</code> header) of a request that failed, and never an API key.
              </p>`
      }
      <p><a href="/dashboard/status">Service status</a> · <a href="/dashboard/docs">Documentation</a></p>
    </div>
    !${
      seller === undefined
        ? ""
        : html`<h2>Operator</h2>
            <div class="card"><p>!${[seller.name, ...seller.addressLines].map((line) => html`${line}`).join("<br />")}</p></div>`
    }`;
  return layout({ title: "Support", visitor, path: "/dashboard/support", body, isNarrow: true });
}

/** @param support an email address or an https address. */
export function supportLink(support: string): string {
  return support.startsWith("https:")
    ? html`<a href="${support}">${support}</a>`
    : html`<a href="mailto:${support}">${support}</a>`;
}
