import { html } from "ghtml";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";

export function termsPage({ visitor, terms }: { visitor: Member | null; terms: string | undefined }): string {
  const none = html`<p>The operator of this service has not written any terms yet.</p>
    <p class="muted">Whoever runs it puts them here with <code>TERMS_FILE</code>, the path of a plain text.</p>`;
  const body = html`<h1>Terms</h1>
    <div class="card">!${terms === undefined ? none : html`<p class="letter">${terms}</p>`}</div>`;
  return layout({ title: "Terms", visitor, path: "/dashboard/terms", body, isNarrow: true });
}
