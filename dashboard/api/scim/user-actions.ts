import { GatewayError } from "../../../contract/errors.ts";
import { findAccount } from "../../../ledger/accounts/accounts.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { withdrawInvitation } from "../../../ledger/people/invitations.ts";
import { suspendMadeThingsIn } from "../../../ledger/people/made-by.ts";
import { findTokenCreator } from "../../../ledger/people/management-tokens.ts";
import { changeRole, isMore, removeMember } from "../../../ledger/people/members.ts";
import { findPerson, type Person } from "../../../ledger/people/persons.ts";
import { OTHER } from "../../../ledger/postgres/known-or-other.ts";
import { changeUser, createUser, deleteUser, findUser, type ProvisionedUser } from "../../../ledger/provisioning/users.ts";
import type { Caller } from "../caller.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createInviter } from "../../mail/inviter.ts";
import { createNotifier, createOwnerNotifier } from "../../mail/notifier.ts";
import { memberLeftLetter } from "../../mail/security-letters.ts";
import { invalidValue, readEmail, type UserChange } from "./user-resource.ts";

/** What an identity provider does with an account's users (docs/scim.md). */
export interface UserActions {
  /** Invites somebody, unless they are inactive. */
  create(caller: Caller, user: UserChange): Promise<ProvisionedUser>;
  /** Who becomes inactive leaves the account; who becomes active again is invited. @throws GatewayError `not_found`. */
  change(caller: Caller, id: string, change: UserChange): Promise<ProvisionedUser>;
  /** As if they had become inactive; then they are forgotten. @throws GatewayError `not_found`. */
  delete(caller: Caller, id: string): Promise<void>;
}

const NO_NAMES = { externalId: null, displayName: null, givenName: null, familyName: null };

export function createUserActions(deps: AppDeps): UserActions {
  const { database, mailer, publicBaseUrl } = deps;
  const invite = createInviter(deps);
  const notify = createNotifier(deps);
  const notifyOwners = createOwnerNotifier(deps);

  async function invitePerson(caller: Caller, { email, role }: Pick<ProvisionedUser, "email" | "role">): Promise<void> {
    const by = await senderOf(caller);
    const account = await findAccount(database, caller.accountId);
    if (by === undefined || account === undefined) throw new GatewayError("not_found", "This account does not exist.");
    if (role === OTHER)
      throw invalidValue("roles.value", "must be member or viewer before this user can be invited: their role is not known here");
    const { accountId, tokenId } = caller;
    const { mail } = await invite({ accountId, accountName: account.name, email, role, by, tokenId });
    if (mail === "sent") return;
    // Nobody else sees the link, so the provider has to try again.
    await withdrawInvitation(database, { accountId, email });
    const retry = { headers: { "retry-after": "3600" } };
    if (mail === "enough")
      throw new GatewayError("rate_limited", "This address has received too many emails today. Try again tomorrow.", retry);
    throw new GatewayError("overloaded", "The mail server did not accept the invitation. Try again later.", retry);
  }

  /** Invitations are from a person: of a token, whoever created it. */
  async function senderOf({ personId, tokenId }: Caller): Promise<{ id: string; name: string } | undefined> {
    if (personId !== null) return findPerson(database, personId);
    return tokenId === null ? undefined : findTokenCreator(database, tokenId);
  }

  /** @throws GatewayError `invalid_request` for the last owner. */
  async function deactivate(caller: Caller, { id, email }: ProvisionedUser): Promise<void> {
    const { accountId } = caller;
    const removed = await database.transaction(async (transaction) => {
      // Before the invitation, as whoever accepts it does.
      await lockForChange(transaction, caller, "manageMembers");
      if (await withdrawInvitation(transaction, { accountId, email }))
        await noteAction(transaction, { ...caller, action: "member.invitation_revoked", subject: email });
      // Only now: who was just accepting it is a member since.
      const { personId, isMember } = await findUser(transaction, { accountId, id });
      if (personId === null || !isMember) return undefined;
      await removeMember(transaction, { accountId, personId });
      await suspendMadeThingsIn(transaction, { accountId, personId, by: caller });
      const person = await findPerson(transaction, personId);
      await noteAction(transaction, { ...caller, action: "member.removed", subject: person?.email ?? personId });
      return person;
    });
    if (removed !== undefined) await report(accountId, removed);
  }

  async function report(accountId: string, person: Person): Promise<void> {
    const account = await findAccount(database, accountId);
    if (account === undefined) return;
    const by = { email: "The account's identity provider" };
    const about = { accountName: account.name, by, email: person.email, publicBaseUrl };
    await notifyOwners(accountId, (owner) => memberLeftLetter({ ...about, person: owner }));
    notify(memberLeftLetter({ ...about, person }));
  }

  async function changeMemberRole(
    caller: Caller,
    { personId, role }: ProvisionedUser,
    to: ProvisionedUser["role"],
  ): Promise<void> {
    if (personId === null || role === to || to === OTHER) return;
    const { accountId } = caller;
    await database.transaction(async (transaction) => {
      await admitChange(transaction, isMore(to, role) ? "settings" : null, caller, "manageMembers");
      await changeRole(transaction, { accountId, personId, role: to });
      const person = await findPerson(transaction, personId);
      await noteAction(transaction, { ...caller, action: "member.changed", subject: `${person?.email ?? personId} ${to}` });
    });
  }

  /** Leaves everything as it was if the invitation is refused. */
  async function inviteAgain(caller: Caller, { from, to }: { from: ProvisionedUser; to: ProvisionedUser }): Promise<void> {
    const { accountId } = caller;
    const store = ({ id, userName, email, role }: ProvisionedUser, isActive: boolean) =>
      changeUser(database, { accountId, id, change: { userName, email, role, isActive } });
    await store(to, false);
    try {
      await invitePerson(caller, to);
    } catch (error) {
      await store(from, from.isActive);
      throw error;
    }
    if (to.email.toLowerCase() !== from.email.toLowerCase()) await withdrawInvitation(database, { accountId, email: from.email });
  }

  function checkMail(): void {
    if (mailer === undefined)
      throw new GatewayError(
        "invalid_request",
        "This service is not set up to send email, so nobody can be invited. Ask its operator to configure email.",
      );
  }

  return {
    async create(caller, { userName, email, role = "member", isActive = true, ...names }) {
      if (userName === undefined) throw invalidValue("userName", "is required");
      if (isActive) checkMail();
      const { accountId } = caller;
      const profile = { ...NO_NAMES, ...names, userName, email: email ?? readEmail(userName), role };
      // Inactive until the invitation is sent: a refused one leaves nothing that looks like a user who can come.
      const id = await createUser(database, { accountId, ...profile });
      if (isActive) {
        try {
          await invitePerson(caller, profile);
        } catch (error) {
          await deleteUser(database, { accountId, id });
          throw error;
        }
        await changeUser(database, { accountId, id, change: { isActive } });
      }
      return findUser(database, { accountId, id });
    },

    async change(caller, id, change) {
      const { accountId } = caller;
      const user = await findUser(database, { accountId, id });
      const next = { ...user, ...change };
      // An address that has the invitation is replaced with the invitation.
      const isMoved = next.email.toLowerCase() !== user.email.toLowerCase();
      const isInvited = next.isActive && !user.isMember && (!user.isActive || isMoved);
      if (isInvited) checkMail();
      if (change.isActive === false) {
        // Of members without a row nothing would be left.
        await changeUser(database, { accountId, id, change: {} });
        await deactivate(caller, user);
      } else if (user.isMember) await changeMemberRole(caller, user, next.role);
      if (isInvited) await inviteAgain(caller, { from: user, to: next });
      await changeUser(database, { accountId, id, change: isInvited ? { ...change, isActive: true } : change });
      return findUser(database, { accountId, id });
    },

    async delete(caller, id) {
      const { accountId } = caller;
      const user = await findUser(database, { accountId, id });
      await deactivate(caller, user);
      await deleteUser(database, { accountId, id });
    },
  };
}

/** Of a PUT: what it does not name is no longer there, but for the role and whether they are active. */
export function replacing(user: UserChange): UserChange {
  if (user.userName === undefined) throw invalidValue("userName", "is required");
  return { ...NO_NAMES, ...user };
}
