import { html } from "ghtml";
import type { Member } from "../../session/visitor.ts";
import { outboxHint } from "./forgot.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";

export function confirmSentPage({ visitor, hasOutbox }: { visitor: Member; hasOutbox: boolean }): string {
  const body = html`<h1>Check your email</h1>
    <div class="card stack">
      <p role="status">We sent a link to ${visitor.person.email}. It expires in 24 hours.</p>
      !${hasOutbox ? outboxHint : ""}
      <p class="muted">Nothing there? Check your spam folder, then send it again.</p>
      <p><a class="button" href="/dashboard">Back to overview</a></p>
    </div>`;
  return layout({ title: "Check your email", visitor: { ...visitor, mustProveEmail: false }, body, isNarrow: true });
}

export function confirmEmailPage({ visitor, token }: { visitor: Member; token: string }): string {
  const body = html`<h1>Confirm your email address</h1>
    <form method="post" action="/dashboard/confirm-email" class="card stack">
      !${csrfField(visitor.csrf)}
      <input type="hidden" name="token" value="${token}" />
      <p>You are signed in as ${visitor.person.email}. Confirm that this address is yours.</p>
      <button class="primary">Confirm</button>
    </form>`;
  return layout({ title: "Confirm your email address", visitor: { ...visitor, mustProveEmail: false }, body, isNarrow: true });
}
