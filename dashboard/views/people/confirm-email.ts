import { html } from "ghtml";
import type { Member } from "../../session/visitor.ts";
import { outboxHint } from "./forgot.ts";
import { csrfField, layout } from "../layout.ts";

export function confirmSentPage({ visitor, hasOutbox }: { visitor: Member; hasOutbox: boolean }): string {
  const body = html`<h1>Check your mail</h1>
    <div class="card stack">
      <p role="status">A link is on its way to ${visitor.person.email}. It works for a day.</p>
      !${hasOutbox ? outboxHint : ""}
      <p class="muted">Nothing came? Look in your spam folder, then send it again.</p>
      <p><a class="button" href="/dashboard">Back to the overview</a></p>
    </div>`;
  return layout({ title: "Check your mail", visitor: { ...visitor, mustProveEmail: false }, body, isNarrow: true });
}

export function confirmEmailPage({ visitor, token }: { visitor: Member; token: string }): string {
  const body = html`<h1>Confirm your e-mail address</h1>
    <form method="post" action="/dashboard/confirm-email" class="card stack">
      !${csrfField(visitor.csrf)}
      <input type="hidden" name="token" value="${token}" />
      <p>You are signed in as ${visitor.person.email}. Confirm that this address is yours.</p>
      <button class="primary">Confirm</button>
    </form>`;
  return layout({ title: "Confirm your e-mail address", visitor: { ...visitor, mustProveEmail: false }, body, isNarrow: true });
}
