import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { listChosenTargets } from "../../../ledger/people/chosen-targets.ts";
import { listInvitations, revokeInvitation } from "../../../ledger/people/invitations.ts";
import { changeRole, isMore, listMembers, removeMember, type Member as AccountMember } from "../../../ledger/people/members.ts";
import { listMadeThings, revokeMadeThingsIn } from "../../../ledger/people/made-by.ts";
import { SCIM_PATH } from "../../api/prefixes.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { createInviter, type Invited } from "../../mail/inviter.ts";
import { createNotifier, createOwnerNotifier } from "../../mail/notifier.ts";
import { memberLeftLetter } from "../../mail/security-letters.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { memberOf } from "../../session/guard.ts";
import { checkEmailProved } from "../../session/requirements.ts";
import type { Member } from "../../session/visitor.ts";
import { memberAccessPage, removeMemberPage } from "../../views/people/member-access.ts";
import { aRole } from "../../views/role-names.ts";
import { confirmInvitationPage, invitedPage, membersPage } from "../../views/people/members.ts";

type InvitationRequest = FastifyRequest<{ Params: { id: string } }>;
type PersonRequest = FastifyRequest<{ Params: { personId: string } }>;
const roleForm = z.object({ role: z.enum(["owner", "member", "viewer"], "Choose a role.") });

/** The members of the account: everybody in it sees them, its owners manage them. */
export function memberRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, mailer } = deps;
  const sendInvitation = createInviter(deps);
  const notify = createNotifier(deps);
  const notifyOwners = createOwnerNotifier(deps);
  async function render(visitor: Member, form: FormState): Promise<string> {
    const { accountId, role } = visitor.membership;
    const [members, invitations] = await Promise.all([
      listMembers(database, accountId),
      isAllowed(role, "manageMembers") ? listInvitations(database, accountId) : [],
    ]);
    return membersPage({ visitor, members, invitations, form, scimUrl: `${publicBaseUrl}${SCIM_PATH}` });
  }

  /** @throws GatewayError `not_found` for somebody outside the account, without revealing who exists. */
  async function find({ membership }: Member, personId: string): Promise<AccountMember> {
    const members = await listMembers(database, membership.accountId);
    const member = members.find((one) => one.personId === personId);
    if (member === undefined) throw new GatewayError("not_found", "This account has no such member.");
    return member;
  }

  async function accessOf({ membership: { accountId, role } }: Member, { personId }: AccountMember) {
    const made = await listMadeThings(database, { accountId, personId });
    // Only owners see where the account's data is sent to.
    const targets = isAllowed(role, "manageMembers") ? await listChosenTargets(database, { accountId, personId }) : [];
    return { made, targets };
  }

  app.get("/dashboard/members", async (request, reply) => sendPage(reply, await render(memberOf(request), EMPTY_FORM)));

  app.post("/dashboard/members/invite", async (request, reply) => {
    const visitor = memberOf(request, "manageMembers");
    checkEmailProved(visitor);
    const { accountId, accountName } = visitor.membership;
    const values = readForm(request);
    let invited: Invited = { link: "", mail: "none" };
    const failed = await submitForm(values, async () => {
      const { role } = roleForm.parse(values);
      checkIsNew(await listMembers(database, accountId), values["email"] ?? "");
      invited = await sendInvitation({ accountId, accountName, email: values["email"] ?? "", role, by: visitor.person });
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, failed), 400);
    return sendPage(reply, invitedPage({ visitor, email: values["email"] ?? "", ...invited, hasOutbox: mailer?.outbox != null }));
  });

  app.get("/dashboard/members/invitations/:id/revoke", async (request: InvitationRequest, reply) => {
    const visitor = memberOf(request, "manageMembers");
    const invitations = await listInvitations(database, visitor.membership.accountId);
    const invitation = invitations.find(({ id }) => id === request.params.id);
    if (invitation === undefined) throw new GatewayError("not_found", "This account has no such invitation.");
    return sendPage(reply, confirmInvitationPage({ visitor, invitation }));
  });

  app.post("/dashboard/members/invitations/:id/revoke", async (request: InvitationRequest, reply) => {
    const { membership, person } = memberOf(request, "manageMembers");
    const { id } = request.params;
    const actor = { accountId: membership.accountId, personId: person.id };
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, actor, "manageMembers");
      await revokeInvitation(transaction, { accountId: actor.accountId, id });
      await noteAction(transaction, { ...actor, action: "member.invitation_revoked", subject: id.slice(0, 12) });
    });
    return goTo(reply, "/dashboard/members", "Invitation revoked.");
  });

  app.post("/dashboard/members/:personId/role", async (request: PersonRequest, reply) => {
    const visitor = memberOf(request, "manageMembers");
    const member = await find(visitor, request.params.personId);
    const values = readForm(request);
    const failed = await submitForm({}, async () => {
      const { role } = roleForm.parse(values);
      if (role === member.role) return;
      const { accountId } = visitor.membership;
      await database.transaction(async (transaction) => {
        const actor = { accountId, personId: visitor.person.id };
        await admitChange(transaction, isMore(role, member.role) ? "settings" : null, actor, "manageMembers");
        await changeRole(transaction, { accountId, personId: member.personId, role });
        const subject = `${member.email} ${role}`;
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "member.changed", subject });
      });
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, asWhole(failed)), 400);
    const { role } = roleForm.parse(values);
    const isLess = isAllowed(member.role, "manageKeys") && !isAllowed(role, "manageKeys");
    return goTo(
      reply,
      isLess ? `/dashboard/members/${member.personId}/access` : "/dashboard/members",
      `${member.name} is now ${aRole(role)}.`,
    );
  });

  app.get("/dashboard/members/:personId/remove", async (request: PersonRequest, reply) => {
    const visitor = mayRemove(request);
    const member = await find(visitor, request.params.personId);
    return sendPage(reply, removeMemberPage({ visitor, member, ...(await accessOf(visitor, member)) }));
  });

  app.get("/dashboard/members/:personId/access", async (request: PersonRequest, reply) => {
    const visitor = memberOf(request, "manageMembers");
    const member = await find(visitor, request.params.personId);
    return sendPage(reply, memberAccessPage({ visitor, member, ...(await accessOf(visitor, member)) }));
  });

  app.post("/dashboard/members/:personId/access/revoke", async (request: PersonRequest, reply) => {
    const visitor = memberOf(request, "manageMembers");
    const { accountId } = visitor.membership;
    const { personId } = await find(visitor, request.params.personId);
    const byPersonId = visitor.person.id;
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, { accountId, personId: byPersonId }, "manageMembers");
      await revokeMadeThingsIn(transaction, { accountId, personId, byPersonId });
    });
    return goTo(reply, "/dashboard/members", "Keys deleted and tokens revoked.");
  });

  app.post("/dashboard/members/:personId/remove", async (request: PersonRequest, reply) => {
    const visitor = mayRemove(request);
    const member = await find(visitor, request.params.personId);
    const isRevoking = readForm(request)["revoke"] === "yes";
    const failed = await submitForm({}, async () => {
      const { accountId } = visitor.membership;
      const { personId } = member;
      const byPersonId = visitor.person.id;
      await database.transaction(async (transaction) => {
        if (personId !== byPersonId) await lockForChange(transaction, { accountId, personId: byPersonId }, "manageMembers");
        await removeMember(transaction, { accountId, personId });
        // Members who leave decide over their own things, not over the account's keys.
        if (isRevoking && isAllowed(visitor.membership.role, "manageMembers"))
          await revokeMadeThingsIn(transaction, { accountId, personId, byPersonId });
        await noteAction(transaction, { accountId, personId: byPersonId, action: "member.removed", subject: member.email });
      });
      const { accountName } = visitor.membership;
      const about = { accountName, by: visitor.person, email: member.email, publicBaseUrl };
      await notifyOwners(accountId, (person) => memberLeftLetter({ ...about, person }));
      // Removed owners are reported as members.
      notify(memberLeftLetter({ ...about, person: member }));
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, asWhole(failed)), 400);
    if (member.personId === visitor.person.id) return goTo(reply, "/dashboard", `You left ${visitor.membership.accountName}.`);
    return goTo(reply, "/dashboard/members", `${member.name} was removed.`);
  });

  /** Owners remove others; everybody may leave. */
  function mayRemove(request: PersonRequest): Member {
    return memberOf(request, request.visitor?.person.id === request.params.personId ? "see" : "manageMembers");
  }
}

/** An invitation would change nothing for a member: they keep their role. @throws GatewayError `invalid_request`. */
function checkIsNew(members: readonly AccountMember[], email: string): void {
  const member = members.find((one) => one.email.toLowerCase() === email.toLowerCase());
  if (member === undefined) return;
  const problem = `${member.name} is already a member with this address. Change their role in the list of members.`;
  throw new GatewayError("invalid_request", problem, { field: "email" });
}

/** A problem that belongs to no field of the page's own form. */
function asWhole({ problems }: FormState): FormState {
  return { values: {}, problems: { "": Object.values(problems).join(" ") } };
}
