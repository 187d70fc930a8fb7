import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { OTHER, type OrOther } from "../postgres/known-or-other.ts";
import { linkUser } from "../provisioning/users.ts";
import { lockForChange } from "./actor.ts";
import { noteAction } from "./audit.ts";
import {
  ACCOUNT_OF_MEMBERSHIP,
  addMember,
  checkRoomForMember,
  listMemberships,
  membershipRow,
  roleColumn,
  type Membership,
  type Role,
} from "./members.ts";
import { hashToken, isTokenId, mintToken } from "./token.ts";
import { DAY_MS } from "../../contract/days.ts";
import { lockAccount } from "../accounts/lock-account.ts";

const INVITED_FOR = "interval '7 days'";
const { invitationsADay, openInvitations } = ACCOUNT_BOUNDS;

export interface NewInvitation {
  accountId: string;
  email: string;
  role: Role;
  invitedBy: string;
  /** The management token that invites in the name of its creator, for the audit log. */
  tokenId?: string | null;
}

/**
 * An earlier one to the same address ends.
 * @returns the token for the address; it is valid once, within 7 days.
 * @throws GatewayError `invalid_request` for an invalid address; `rate_limited` for too many in a day.
 */
export async function invite(
  database: Database,
  { accountId, email, role, invitedBy, tokenId = null }: NewInvitation,
): Promise<string> {
  if (!z.email().max(254).safeParse(email.trim()).success)
    throw new GatewayError("invalid_request", "This is not an email address.", { field: "email" });
  const { token, hash } = mintToken();
  const by = { accountId, personId: tokenId === null ? invitedBy : null, tokenId };
  await database.transaction(async (transaction) => {
    await lockForChange(transaction, by, "manageMembers");
    // An account must not be a way to send mail to the world in our name.
    if ((await countInvited(transaction, accountId)) >= invitationsADay)
      throw new GatewayError(
        "rate_limited",
        `An account can send at most ${invitationsADay} invitations per day. Try again tomorrow.`,
        { headers: { "retry-after": "3600" } },
      );
    await withdrawInvitation(transaction, { accountId, email });
    if ((await countOpen(transaction, accountId)) >= openInvitations)
      throw new GatewayError(
        "invalid_request",
        `An account can have at most ${openInvitations} pending invitations. Revoke one first.`,
        { field: "email" },
      );
    await transaction.execute(
      `INSERT INTO invitation (token_hash, account_id, email, role, invited_by, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + ${INVITED_FOR})`,
      [hash, accountId, email.trim(), role, invitedBy],
    );
    await noteAction(transaction, { ...by, action: "member.invited", subject: email.trim() });
  });
  return token;
}

/** Since this time yesterday, including those used, revoked or replaced since: the audit log loses nothing. */
async function countInvited(transaction: Queryable, accountId: string): Promise<number> {
  return transaction.execute(
    "SELECT FROM audit_entry WHERE account_id = $1 AND action = 'member.invited' AND id > $2",
    // An id contains its creation time.
    [accountId, uuidv7({ msecs: Date.now() - DAY_MS })],
  );
}

async function countOpen(transaction: Queryable, accountId: string): Promise<number> {
  return transaction.execute("SELECT FROM invitation WHERE account_id = $1 AND expires_at > now()", [accountId]);
}

/** One that has not been accepted yet. */
export interface Invitation {
  /** The hash of its token, in hex: identifies it, grants nothing. */
  id: string;
  email: string;
  role: OrOther<Role>;
  invitedBy: string;
  expiresAt: Date;
}

export async function listInvitations(database: Queryable, accountId: string): Promise<Invitation[]> {
  return database.query({
    text: `SELECT encode(token_hash, 'hex') AS id, invitation.email, role, person.email AS "invitedBy", expires_at AS "expiresAt"
           FROM invitation JOIN person ON person.id = invited_by
           WHERE account_id = $1 AND expires_at > now() ORDER BY expires_at, id`,
    values: [accountId],
    row: z.strictObject({ id: z.string(), email: z.string(), role: roleColumn, invitedBy: z.string(), expiresAt: z.date() }),
  });
}

/** @throws GatewayError `not_found`. */
export async function revokeInvitation(database: Queryable, { accountId, id }: { accountId: string; id: string }): Promise<void> {
  const revoked = isTokenId(id)
    ? await database.execute("DELETE FROM invitation WHERE account_id = $1 AND encode(token_hash, 'hex') = $2", [accountId, id])
    : 0;
  if (revoked === 0) throw new GatewayError("not_found", "This account has no such invitation.");
}

/** Withdraws the invitation to an address. @returns whether there was one. */
export async function withdrawInvitation(
  database: Queryable,
  { accountId, email }: { accountId: string; email: string },
): Promise<boolean> {
  const values = [accountId, email.trim()];
  return (await database.execute("DELETE FROM invitation WHERE account_id = $1 AND lower(email) = lower($2)", values)) > 0;
}

/** What an invitation offers. */
export interface OpenInvitation extends Membership {
  role: Role;
  email: string;
}

/** @throws GatewayError `invalid_request` for a role of a newer version. */
function opened({ role, ...invitation }: z.infer<typeof invitationRow>): OpenInvitation {
  if (role === OTHER)
    throw new GatewayError(
      "invalid_request",
      "This invitation is for a role that this service does not offer at the moment. Ask for a new one.",
    );
  return { ...invitation, role };
}

const invitationRow = membershipRow.extend({ email: z.string() });

/** The target of an invitation. @throws GatewayError as `acceptInvitation`. */
export async function readInvitation(database: Queryable, token: string): Promise<OpenInvitation> {
  const [invitation] = await database.query({
    text: `SELECT ${ACCOUNT_OF_MEMBERSHIP}, role, email
           FROM invitation JOIN account ON account.id = account_id WHERE token_hash = $1 AND expires_at > now()`,
    values: [hashToken(token)],
    row: invitationRow,
  });
  if (invitation === undefined) throw noInvitation();
  return opened(invitation);
}

function noInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation has expired or was already used. Ask for a new one.");
}

/**
 * Makes the person a member; an existing member keeps their role. The invitation is valid for anybody who has it: mail may be
 * forwarded, and addresses differ.
 * @throws GatewayError `not_found` for one that was used, has expired or never existed; `invalid_request` for one with a role that a
 * newer version added.
 */
export async function acceptInvitation(database: Database, token: string, person: { id: string }): Promise<Membership> {
  return database.transaction((transaction) => acceptInvitationIn(transaction, token, person));
}

/** The same as part of a larger transaction. */
export async function acceptInvitationIn(transaction: Queryable, token: string, person: { id: string }): Promise<Membership> {
  // The account first, as whoever removes its members and revokes their invitations does.
  const { accountId } = await readInvitation(transaction, token);
  await lockAccount(transaction, accountId);
  const [invitation] = await transaction.query({
    text: `WITH used AS (DELETE FROM invitation WHERE token_hash = $1 AND expires_at > now() RETURNING account_id, role, email)
           SELECT ${ACCOUNT_OF_MEMBERSHIP}, role, email FROM used JOIN account ON account.id = account_id`,
    values: [hashToken(token)],
    row: invitationRow,
  });
  if (invitation === undefined) throw noInvitation();
  const { role, email } = opened(invitation);
  const joining = { accountId, personId: person.id };
  await checkRoomForMember(transaction, joining);
  await linkUser(transaction, { ...joining, email });
  await addMember(transaction, { ...joining, role });
  const memberships = await listMemberships(transaction, person.id);
  return memberships.find((membership) => membership.accountId === accountId) ?? invitation;
}
