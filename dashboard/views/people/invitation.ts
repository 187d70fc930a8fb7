import { html } from "ghtml";
import type { OpenInvitation } from "../../../ledger/people/invitations.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { aRole } from "../role-names.ts";

export interface InvitationView {
  visitor: Member | null;
  invitation: OpenInvitation;
  token: string;
}

export function invitationPage({ visitor, invitation, token }: InvitationView): string {
  const { accountName, role } = invitation;
  const here = `/dashboard/invitation?token=${token}`;
  const guest = html`<p>Sign in to join, or create an account.</p>
    <div class="buttons">
      <a class="button primary" href="/dashboard/sign-in?next=${encodeURIComponent(here)}">Sign in</a>
      <a class="button" href="/dashboard/sign-up?invitation=${token}">Sign up</a>
    </div>`;
  const member = ({ csrf, person }: Member) =>
    html`<form method="post" action="/dashboard/invitation" class="stack">
      !${csrfField(csrf)}
      <input type="hidden" name="token" value="${token}" />
      <p>You are signed in as ${person.email}.</p>
      <div class="buttons">
        <button class="primary">Join</button>
        <a class="button quiet" href="/dashboard">Not now</a>
      </div>
    </form>`;
  const body = html`<h1>Join ${accountName}</h1>
    <div class="card stack">
      <p>You have been invited as <strong>${aRole(role)}</strong>.</p>
      !${visitor === null ? guest : member(visitor)}
    </div>`;
  return layout({ title: `Join ${accountName}`, visitor, body, isNarrow: true });
}
