import { html } from "ghtml";
import type { Invitation } from "../../../ledger/people/invitations.ts";
import type { Member as AccountMember, Role } from "../../../ledger/people/members.ts";
import type { FormState } from "../../http/form.ts";
import type { InvitationMail } from "../../mail/inviter.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { field, formProblem } from "../field.ts";
import { outboxHint } from "./forgot.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { copyable } from "../keys/snippets.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { ROLE_NAMES, roleName } from "../role-names.ts";
import { day } from "../time.ts";

const PATH = "/dashboard/members";
const ROLES: Record<Role, string> = {
  viewer: "Viewer: read everything",
  member: "Member: manage keys and credit",
  owner: "Owner: full access",
};

/** The usual one first. */
const INVITED = (["member", "viewer", "owner"] as const).map((role): Option => [role, ROLES[role]]);

export interface MembersView {
  visitor: Member;
  members: readonly AccountMember[];
  invitations: readonly Invitation[];
  form: FormState;
  /** Of SCIM. */
  scimUrl: string;
}

export function membersPage({ visitor, members, invitations, form, scimUrl }: MembersView): string {
  const isOwner = visitor.membership.role === "owner";
  const body = html`<h1>Members</h1>
    !${formProblem(form)} !${memberTable(members, visitor, isOwner)} !${ruleSection(visitor)}
    !${isOwner ? inviteForm(visitor, form) : html`<p class="muted">Only owners of this account can invite members.</p>`}
    !${invitations.length === 0 ? "" : invitationTable(invitations)} !${isOwner ? scimSection(scimUrl) : ""}`;
  return layout({ title: "Members", visitor, path: PATH, body });
}

function memberTable(members: readonly AccountMember[], visitor: Member, isOwner: boolean): string {
  const rows = members.map((member) => {
    const { personId, email, name, role, since, hasSecondFactor } = member;
    const isSelf = personId === visitor.person.id;
    const remove = html`<a
      class="danger"
      href="${PATH}/${personId}/remove"
      data-dialog
      aria-label="${isSelf ? "Leave the account" : `Remove ${name}`}"
      >${isSelf ? "Leave the account" : "Remove"}</a
    >`;
    return html`<tr>
      <th scope="row" data-label="Member">
        <span
          >!${clipped(name)}!${isSelf ? html` <span class="muted">(you)</span>` : ""}<span class="sub"
            >!${clipped(email)}</span
          ></span
        >
      </th>
      <td data-label="Role">!${isOwner ? roleForm(member, visitor) : roleName(role)}</td>
      <td data-label="Two-factor">${hasSecondFactor ? "On" : "Off"}</td>
      <td data-label="Joined">!${day(since)}</td>
      <td class="actions">!${isOwner || isSelf ? rowMenu(name, [remove]) : ""}</td>
    </tr>`;
  });
  return responsiveTable(["Member", "Role", "Two-factor", "Joined", { hidden: "Actions" }], rows);
}

/** Whether the account requires a second factor; its owners choose. */
function ruleSection({ csrf, membership }: Member): string {
  const { requiresSecondFactor: isRequired, role } = membership;
  const words = isRequired
    ? "Required. Members without it must set it up before they can use this account, and their management tokens stop working until they do."
    : "Optional: each member decides.";
  const change = html`<input type="hidden" name="required" value="${isRequired ? "no" : "yes"}" />
    <button>${isRequired ? "Make it optional" : "Require two-factor authentication"}</button>`;
  const form = html`<form method="post" action="${PATH}/second-factor">!${csrfField(csrf)}!${change}</form>`;
  return html`<h2>Two-factor authentication</h2>
    <div class="card stack">
      <p>${words}</p>
      !${role === "owner" ? form : ""}
    </div>`;
}

function scimSection(scimUrl: string): string {
  return html`<h2>Identity provider</h2>
    <div class="card stack">
      <p>
        Your identity provider can invite and remove members with SCIM 2.0. Give it this base URL and a
        <a href="/dashboard/tokens">management token</a> with the owner role. People it removes lose access immediately, and the
        API keys that they created or rotated are disabled.
      </p>
      !${copyable({ id: "scim-url", text: scimUrl, label: "SCIM base URL" })}
    </div>`;
}

function roleForm({ personId, name, role }: AccountMember, { csrf }: Member): string {
  const options = Object.entries(ROLE_NAMES).map(
    ([value, words]) => html`<option value="${value}" !${value === role ? "selected" : ""}>${words}</option>`,
  );
  return html`<form method="post" action="${PATH}/${personId}/role" class="inline">
    !${csrfField(csrf)}
    <select name="role" aria-label="Role of ${name}">
      !${options.join("")}
    </select>
    <button class="quiet" aria-label="Save the role of ${name}">Save</button>
  </form>`;
}

function inviteForm({ csrf }: Member, form: FormState): string {
  return html`<h2>Invite a member</h2>
    <form method="post" action="${PATH}/invite" class="card stack">
      !${csrfField(csrf)} !${field({ name: "email", label: "Email", type: "email", isRequired: true }, form)}
      !${choice({ name: "role", label: "Role", options: INVITED }, form)}
      <button class="primary">Invite</button>
    </form>`;
}

function invitationTable(invitations: readonly Invitation[]): string {
  const rows = invitations.map(
    ({ id, email, role, invitedBy, expiresAt }) =>
      html`<tr>
        <th scope="row" data-label="Email">!${clipped(email)}</th>
        <td data-label="Role">${roleName(role)}</td>
        <td data-label="Invited by">!${clipped(invitedBy)}</td>
        <td data-label="Expires">!${day(expiresAt)}</td>
        <td class="actions">!${rowMenu(email, [revokeLink(id, email)])}</td>
      </tr>`,
  );
  return html`<h2>Pending invitations</h2>
    !${responsiveTable(["Email", "Role", "Invited by", "Expires", { hidden: "Actions" }], rows)}`;
}

function revokeLink(id: string, email: string): string {
  return html`<a class="danger" href="${PATH}/invitations/${id}/revoke" data-dialog aria-label="Revoke the invitation of ${email}"
    >Revoke</a
  >`;
}

export function confirmInvitationPage({ visitor, invitation }: { visitor: Member; invitation: Invitation }): string {
  return confirmPage({
    visitor,
    path: PATH,
    title: "Revoke this invitation?",
    body: html`<p>${invitation.email}</p>
      <p>The link in the email stops working. You can invite this address again.</p>`,
    action: `${PATH}/invitations/${invitation.id}/revoke`,
    button: "Revoke invitation",
    cancel: PATH,
  });
}

export interface InvitedView {
  visitor: Member;
  email: string;
  link: string;
  mail: InvitationMail;
  hasOutbox: boolean;
}

const NOT_MAILED: Record<Exclude<InvitationMail, "sent">, string> = {
  none: "This service sends no email",
  failed: "The email could not be sent",
  enough: "This address has been sent too many emails today",
};

export function invitedPage({ visitor, email, link, mail, hasOutbox }: InvitedView): string {
  const words =
    mail === "sent"
      ? html`<p role="status">An invitation was sent to ${email}. You can also share the link yourself.</p>`
      : html`<p>${NOT_MAILED[mail]}: share this link with ${email} yourself.</p>`;
  const body = html`<h1>Invitation created</h1>
    <div class="card stack">
      !${words} !${hasOutbox ? outboxHint : ""} !${copyable({ id: "link", text: link, label: "Invitation link" })}
      <p class="muted">It works once, within 7 days, for anyone who has it. You will not see it again.</p>
      <p><a class="button primary" href="${PATH}">Back to members</a></p>
    </div>`;
  return layout({ title: "Invitation created", visitor, path: PATH, body, isNarrow: true });
}
