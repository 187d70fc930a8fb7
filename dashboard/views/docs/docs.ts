import { html } from "ghtml";
import type { CatalogueModel } from "../../../contract/catalogue.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { layout } from "../layout.ts";
import type { Language } from "../first-requests.ts";
import { quickstart } from "../quickstart.ts";

export const DOCS = "/dashboard/docs";

const TABS = [
  { path: DOCS, name: "Quickstart" },
  { path: `${DOCS}/api`, name: "API reference" },
  { path: `${DOCS}/management-api`, name: "Management API" },
] as const;

export interface DocsPage {
  visitor: Member | null;
  title: string;
  path: string;
  /** HTML. */
  body: string;
}

export function docsPage({ visitor, title, path, body }: DocsPage): string {
  const tabs = TABS.map((tab) => html`<a href="${tab.path}" !${tab.path === path ? 'aria-current="page"' : ""}>${tab.name}</a>`);
  const page = html`<h1>${title}</h1>
    <nav class="tabs" aria-label="Documentation">!${tabs}</nav>
    !${body}`;
  return layout({ title, visitor, path: DOCS, body: page });
}

export interface QuickstartPage {
  visitor: Member | null;
  baseUrl: string;
  /** null if none is served. */
  model: CatalogueModel | null;
  language: Language;
}

export function quickstartPage({ visitor, baseUrl, model, language }: QuickstartPage): string {
  // A guest must sign in first.
  const mayCreate = visitor === null || isAllowed(visitor.membership.role, "manageKeys");
  const body = html`<ol class="steps">
      <li>
        <h2>Create an API key</h2>
        <p>Its full value is shown once. Keep it in an environment variable, not in code.</p>
        !${mayCreate ? html`<p><a class="button" href="/dashboard/keys/new">Create key</a></p>` : ""}
      </li>
      <li>
        <h2>Point your client at the gateway</h2>
        <p>
          Base URL: <code>${baseUrl}/v1</code> for OpenAI clients, <code>${baseUrl}</code> for Anthropic clients. Coding tools set
          themselves up with the <a href="/dashboard/clients">installer</a>.
        </p>
      </li>
      <li>
        <h2 id="code">Send a request</h2>
        !${model === null ? "<p>No models are available yet.</p>" : quickstart({ baseUrl, model, language, path: DOCS })}
      </li>
    </ol>
    <p class="more">
      Or try a model in the <a href="/dashboard/playground">playground</a>, and look at
      <a href="/dashboard/models">models and prices</a>.
    </p>`;
  return docsPage({ visitor, title: "Quickstart", path: DOCS, body });
}
