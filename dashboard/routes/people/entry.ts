import { GatewayError } from "../../../contract/errors.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { acceptInvitation } from "../../../ledger/people/invitations.ts";
import { listMemberships } from "../../../ledger/people/members.ts";
import type { Person } from "../../../ledger/people/persons.ts";

/** Someone who comes to accept an invitation. @returns its token; "" for none. */
export function invitationIn(next: string): string {
  const [path, query] = next.split("?", 2);
  return path === "/dashboard/invitation" ? (new URLSearchParams(query).get("token") ?? "") : "";
}

/**
 * The account in view after signing in. Someone without any account joins the one that they came for.
 * @throws GatewayError `permission_denied` for someone without an account and without an invitation; `not_found` for an
 * invitation that was used or expired.
 */
export async function accountOnEntry(database: Database, person: Person, invitation: string): Promise<string> {
  const [membership] = await listMemberships(database, person.id);
  if (membership !== undefined) return membership.accountId;
  if (invitation !== "") return (await acceptInvitation(database, invitation, person)).accountId;
  throw new GatewayError(
    "permission_denied",
    "You no longer belong to an account. Ask an owner to invite you, and open the link.",
  );
}
