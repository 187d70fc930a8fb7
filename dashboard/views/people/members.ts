import { html } from "ghtml";
import type { Invitation } from "../../../ledger/people/invitations.ts";
import type { Member as AccountMember, Role } from "../../../ledger/people/members.ts";
import type { FormState } from "../../form.ts";
import type { Member } from "../../session/visitor.ts";
import { choice } from "../choice.ts";
import { field, formProblem } from "../field.ts";
import { outboxHint } from "./forgot.ts";
import { csrfField, layout } from "../layout.ts";
import { copyable } from "../keys/snippets.ts";
import { day } from "../time.ts";
import { responsiveTable } from "../responsive-table.ts";

const PATH = "/dashboard/members";
const ROLES: Record<Role, string> = {
  viewer: "Viewer: sees everything, changes nothing",
  member: "Member: makes keys and adds credit, too",
  owner: "Owner: decides who is in the account, too",
};

export interface MembersView {
  visitor: Member;
  members: readonly AccountMember[];
  invitations: readonly Invitation[];
  form: FormState;
}

export function membersPage({ visitor, members, invitations, form }: MembersView): string {
  const isOwner = visitor.membership.role === "owner";
  const body = html`<h1>Members of ${visitor.membership.accountName}</h1>
    !${formProblem(form)} !${memberTable(members, visitor, isOwner)} !${ruleSection(visitor)}
    !${isOwner ? inviteForm(visitor, form) : html`<p class="muted">Only an owner of this account can invite somebody.</p>`}
    !${invitations.length === 0 ? "" : invitationTable(invitations, visitor)}`;
  return layout({ title: "Members", visitor, path: PATH, body });
}

function memberTable(members: readonly AccountMember[], visitor: Member, isOwner: boolean): string {
  const rows = members.map((member) => {
    const { personId, email, name, role, since, hasSecondFactor } = member;
    const isSelf = personId === visitor.person.id;
    const remove = html`<a
      class="button quiet danger"
      href="${PATH}/${personId}/remove"
      aria-label="${isSelf ? "Leave the account" : `Remove ${name}`}"
      >${isSelf ? "Leave" : "Remove"}</a
    >`;
    return html`<tr>
      <th scope="row" data-label="Name">${name}!${isSelf ? html` <span class="muted">(you)</span>` : ""}</th>
      <td data-label="E-mail">${email}</td>
      <td data-label="Role">!${isOwner ? roleForm(member, visitor) : role}</td>
      <td data-label="Second factor">${hasSecondFactor ? "on" : "off"}</td>
      <td data-label="Since">!${day(since)}</td>
      <td class="actions">!${isOwner || isSelf ? remove : ""}</td>
    </tr>`;
  });
  return responsiveTable(["Name", "E-mail", "Role", "Second factor", "Since", { hidden: "Actions" }], rows);
}

/** Whether the account asks for a second factor; its owners choose. */
function ruleSection({ csrf, membership }: Member): string {
  const { requiresSecondFactor: isRequired, role } = membership;
  const words = isRequired
    ? "Required. Members without one are asked to set it up, and can do nothing else in this account until then; their management tokens stop."
    : "Optional: each member decides.";
  const change = html`<input type="hidden" name="required" value="${isRequired ? "no" : "yes"}" />
    <button>${isRequired ? "Make it optional" : "Require a second factor"}</button>`;
  return html`<h2>Second factor</h2>
    <form method="post" action="${PATH}/second-factor" class="card stack">
      !${csrfField(csrf)}
      <p>${words}</p>
      !${role === "owner" ? change : ""}
    </form>`;
}

function roleForm({ personId, name, role }: AccountMember, { csrf }: Member): string {
  const options = Object.keys(ROLES).map(
    (value) => html`<option value="${value}" !${value === role ? "selected" : ""}>${value}</option>`,
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
  return html`<h2>Invite somebody</h2>
    <form method="post" action="${PATH}/invite" class="card stack">
      !${csrfField(csrf)} !${field({ name: "email", label: "E-mail", type: "email", isRequired: true }, form)}
      !${choice({ name: "role", label: "Role", options: { member: ROLES.member, viewer: ROLES.viewer, owner: ROLES.owner } }, form)}
      <button class="primary">Invite</button>
    </form>`;
}

function invitationTable(invitations: readonly Invitation[], { csrf }: Member): string {
  const rows = invitations.map(
    ({ id, email, role, invitedBy, expiresAt }) =>
      html`<tr>
        <th scope="row" data-label="E-mail">${email}</th>
        <td data-label="Role">${role}</td>
        <td data-label="Invited by">${invitedBy}</td>
        <td data-label="Until">!${day(expiresAt)}</td>
        <td class="actions">
          <form method="post" action="${PATH}/invitations/${id}/revoke">
            !${csrfField(csrf)}<button class="quiet danger" aria-label="Revoke the invitation of ${email}">Revoke</button>
          </form>
        </td>
      </tr>`,
  );
  return html`<h2>Not accepted yet</h2>
    !${responsiveTable(["E-mail", "Role", "Invited by", "Until", { hidden: "Actions" }], rows)}`;
}

/** What became of the letter; "enough": the mailbox got too many of them today. */
export type InvitationMail = "sent" | "none" | "failed" | "enough";

export interface InvitedView {
  visitor: Member;
  email: string;
  link: string;
  mail: InvitationMail;
  hasOutbox: boolean;
}

const NOT_MAILED: Record<Exclude<InvitationMail, "sent">, string> = {
  none: "This service sends no mail",
  failed: "The letter could not be sent",
  enough: "This address has been sent too many letters today",
};

export function invitedPage({ visitor, email, link, mail, hasOutbox }: InvitedView): string {
  const words =
    mail === "sent"
      ? html`<p role="status">The invitation is on its way to ${email}. You can also hand over the link yourself.</p>`
      : html`<p>${NOT_MAILED[mail]}: hand this link to ${email} yourself.</p>`;
  const body = html`<h1>Invited</h1>
    <div class="card stack">
      !${words} !${hasOutbox ? outboxHint : ""} !${copyable({ id: "link", text: link, label: "The invitation's link" })}
      <p class="muted">It works once, within 7 days, for whoever has it. You will not see it again.</p>
      <p><a class="button primary" href="${PATH}">Back to the members</a></p>
    </div>`;
  return layout({ title: "Invited", visitor, path: PATH, body, isNarrow: true });
}
