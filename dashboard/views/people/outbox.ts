import { html } from "ghtml";
import type { Outbox } from "../../mail/letter.ts";
import type { Member } from "../../session/visitor.ts";
import { empty } from "../empty.ts";
import { layout } from "../layout.ts";
import { moment } from "../time.ts";

export function outboxPage({ visitor, letters }: { visitor: Member | null; letters: Outbox["letters"] }): string {
  const items = letters.map(
    ({ letter, at }) =>
      html`<article class="card stack">
        <h2>${letter.subject}</h2>
        <p class="muted small">To ${letter.to}, !${moment(at)}</p>
        <p class="letter">!${withLinks(letter.text)}</p>
      </article>`,
  );
  const body = html`<h1>Outbox</h1>
    <p class="muted">
      This gateway sends no email. Messages are kept here until it restarts; set <code>MAIL=smtp</code> to send them.
    </p>
    !${items.length === 0 ? empty("No messages yet") : items.join("")}`;
  return layout({ title: "Outbox", visitor, body, isNarrow: true });
}

/** An email's links are on separate lines. */
function withLinks(text: string): string {
  return text
    .split("\n")
    .map((line) => (/^https?:\/\/\S+$/.test(line) ? html`<a href="${line}">${line}</a>` : html`${line}`))
    .join("\n");
}
