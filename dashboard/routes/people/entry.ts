import { GatewayError } from "../../../contract/errors.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { acceptInvitation } from "../../../ledger/people/invitations.ts";
import { listMemberships, type Membership } from "../../../ledger/people/members.ts";
import type { Person } from "../../../ledger/people/persons.ts";
import type { AppDeps } from "../../app-deps.ts";
import { createOwnerNotifier } from "../../mail/notifier.ts";
import { memberJoinedLetter } from "../../mail/security-letters.ts";

/** Someone who comes to accept an invitation. @returns its token; "" for none. */
export function invitationIn(next: string): string {
  const [path, query] = next.split("?", 2);
  return path === "/dashboard/invitation" ? (new URLSearchParams(query).get("token") ?? "") : "";
}

/** How people with an invitation join an account, in whichever way they sign in or up. Its owners get an email. */
export interface Entry {
  /**
   * The account in view after signing in. Someone without any account joins the one that they came for.
   * @throws GatewayError `permission_denied` for someone without an account and without an invitation; `not_found` for an
   * invitation that was used or expired.
   */
  accountOf(person: Person, invitation: string): Promise<string>;
  /** Of somebody who is signed in. @throws GatewayError as `acceptInvitation`. */
  accept(person: Person, invitation: string): Promise<Membership>;
  /** Of somebody who has just signed up with an invitation. */
  welcome(person: Person, joined: Pick<Membership, "accountId" | "accountName">): Promise<void>;
}

export function createEntry(deps: AppDeps): Entry {
  const { database, publicBaseUrl } = deps;
  const notifyOwners = createOwnerNotifier(deps);

  async function welcome(
    person: Person,
    { accountId, accountName }: Pick<Membership, "accountId" | "accountName">,
  ): Promise<void> {
    await notifyOwners(accountId, (to) => memberJoinedLetter({ person: to, by: person, accountName, publicBaseUrl }));
  }

  async function accept(person: Person, invitation: string): Promise<Membership> {
    const joined = await acceptInvitation(database, invitation, person);
    const { accountId } = joined;
    await noteAction(database, { accountId, personId: person.id, action: "member.joined", subject: person.email });
    await welcome(person, joined);
    return joined;
  }

  return {
    async accountOf(person, invitation) {
      const [membership] = await listMemberships(database, person.id);
      if (membership !== undefined) return membership.accountId;
      if (invitation !== "") return (await accept(person, invitation)).accountId;
      throw new GatewayError(
        "permission_denied",
        "You no longer belong to an account. Ask an owner to invite you, and open the link.",
      );
    },
    accept,
    welcome,
  };
}
