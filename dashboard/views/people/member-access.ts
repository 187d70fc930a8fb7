import { html } from "ghtml";
import type { ChosenTarget } from "../../../ledger/people/chosen-targets.ts";
import type { MadeThings } from "../../../ledger/people/made-by.ts";
import type { Member as AccountMember } from "../../../ledger/people/members.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { aRole } from "../role-names.ts";
import { layout } from "../layout.ts";
import { TRACES_PATH } from "../traces/destinations.ts";
import { WEBHOOKS_PATH } from "../webhooks/webhooks.ts";

const PATH = "/dashboard/members";

export interface MemberAccessView {
  visitor: Member;
  member: AccountMember;
  /** Keys and tokens whose values they may know. */
  made: MadeThings;
  /** Whose addresses they have chosen. */
  targets: readonly ChosenTarget[];
}

export function removeMemberPage({ visitor, member, made, targets }: MemberAccessView): string {
  const isSelf = member.personId === visitor.person.id;
  const { accountName, role } = visitor.membership;
  const title = isSelf ? `Leave ${accountName}?` : `Remove ${member.name}?`;
  const parts = [
    ...(made.keys.length === 0 ? [] : ["delete these keys"]),
    ...(made.tokens.length === 0 ? [] : ["revoke these tokens"]),
  ];
  const revoke = html`<label class="check"
    ><input type="checkbox" name="revoke" value="yes" checked /> Also ${parts.join(" and ")}</label
  >`;
  const hasMade = parts.length > 0;
  return confirmPage({
    visitor,
    path: PATH,
    title,
    body: html`<p>${isSelf ? "You will lose access to this account." : `${member.email} will lose access to ${accountName}.`}</p>
      !${hasMade ? madeList(made, isSelf ? "you" : member.name, `They stop working until ${isSelf ? "you are" : `${member.name} is`} a member again:`) : ""}
      !${hasMade && isAllowed(role, "manageMembers") ? revoke : ""} !${targetList(targets, isSelf ? "you" : member.name)}`,
    action: `${PATH}/${member.personId}/remove`,
    button: isSelf ? "Leave account" : "Remove member",
    cancel: PATH,
  });
}

/** After somebody was given a role that cannot create keys. */
export function memberAccessPage({ visitor, member, made, targets }: MemberAccessView): string {
  const title = `Keys and tokens of ${member.name}`;
  const hasMade = made.keys.length + made.tokens.length > 0;
  const form = html`<form method="post" action="${PATH}/${member.personId}/access/revoke" class="card stack">
    !${csrfField(visitor.csrf)} !${madeList(made, member.name, `They can do no more than ${member.name} can now:`)}
    <p>${member.name} is now ${aRole(member.role)}, but may have kept their values.</p>
    <div class="buttons">
      <button class="danger">Delete and revoke all</button>
      <a class="button quiet" href="${PATH}">Keep all</a>
    </div>
  </form>`;
  const none = html`<div class="card stack">
    <p>${member.name} is now ${aRole(member.role)}, and created no key or token that still works.</p>
    <p><a class="button" href="${PATH}">Back to members</a></p>
  </div>`;
  const body = html`<h1>${title}</h1>
    !${hasMade ? form : none} !${targetList(targets, member.name)}`;
  return layout({ title, visitor, path: PATH, body, isNarrow: true });
}

/** @param ofTokens what becomes of them. */
function madeList({ keys, tokens }: MadeThings, maker: string, ofTokens: string): string {
  const keyItems = keys.map(({ name, masked }) => html`<li>${name} <code>${masked}</code></li>`);
  const tokenItems = tokens.map(({ name }) => html`<li>${name}</li>`);
  return [
    list(`API keys that ${maker} created or rotated. They keep working until they are deleted:`, keyItems),
    list(`Management tokens that ${maker} created. ${ofTokens}`, tokenItems),
  ].join("");
}

/** They outlive the membership: the account may rely on them, no matter who added them. */
function targetList(targets: readonly ChosenTarget[], maker: string): string {
  const items = targets.map(({ kind, id, origin }) => {
    const path = kind === "webhook" ? WEBHOOKS_PATH : TRACES_PATH;
    return html`<li><a href="${path}/${id}">${origin}</a> (${kind})</li>`;
  });
  return list(
    `Servers that ${maker} chose for webhooks and traces. They get data of this account until they are deleted:`,
    items,
  );
}

function list(words: string, items: readonly string[]): string {
  if (items.length === 0) return "";
  return html`<p>${words}</p>
    <ul>
      !${items.join("")}
    </ul>`;
}
