import { html } from "ghtml";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";

export function termsPage({ visitor, terms }: { visitor: Member | null; terms: string | undefined }): string {
  const none = html`<p>The operator of this service has not published any terms.</p>
    <p class="muted">Operators: set <code>TERMS_FILE</code> to the path of a text file.</p>`;
  const body = html`<h1>Terms</h1>
    <div class="card">!${terms === undefined ? none : html`<p class="letter">${terms}</p>`}</div>`;
  return layout({ title: "Terms", visitor, path: "/dashboard/terms", body, isNarrow: true });
}
