import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database.ts";
import type { Person } from "./persons.ts";
import { hashToken, mintToken } from "./token.ts";

/** "viewer" sees everything and changes nothing; "owner" decides who is a member, too. */
const ROLES = ["owner", "member", "viewer"] as const;
export type Role = (typeof ROLES)[number];

export interface Membership {
  accountId: string;
  accountName: string;
  role: Role;
}

export interface Member {
  personId: string;
  email: string;
  name: string;
  role: Role;
  since: Date;
}

const role = z.enum(ROLES);
const membershipRow = z.strictObject({ accountId: z.string(), accountName: z.string(), role });
const memberRow = z.strictObject({ personId: z.string(), email: z.string(), name: z.string(), role, since: z.date() });
const INVITED_FOR = "interval '7 days'";

/** A person's accounts, the oldest first. */
export async function listMemberships(database: Queryable, personId: string): Promise<Membership[]> {
  return database.query({
    text: `SELECT account_id AS "accountId", account.name AS "accountName", role FROM member JOIN account ON account.id = account_id
           WHERE person_id = $1 ORDER BY since, account_id`,
    values: [personId],
    row: membershipRow,
  });
}

export async function listMembers(database: Queryable, accountId: string): Promise<Member[]> {
  return database.query({
    text: `SELECT person_id AS "personId", email, name, role, since FROM member JOIN person ON person.id = person_id
           WHERE account_id = $1 ORDER BY since, person_id`,
    values: [accountId],
    row: memberRow,
  });
}

/** One who is a member already keeps their role. */
export async function addMember(
  database: Queryable,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<void> {
  await database.execute("INSERT INTO member (account_id, person_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", [
    accountId,
    personId,
    role,
  ]);
}

export interface NewInvitation {
  accountId: string;
  email: string;
  role: Role;
  invitedBy: string;
}

/** @returns the token that goes to the address; it counts once, within 7 days. */
export async function invite(database: Queryable, { accountId, email, role, invitedBy }: NewInvitation): Promise<string> {
  if (!z.email().max(254).safeParse(email.trim()).success)
    throw new GatewayError("invalid_request", "This is not an e-mail address.", { field: "email" });
  const { token, hash } = mintToken();
  await database.execute(
    `INSERT INTO invitation (token_hash, account_id, email, role, invited_by, expires_at)
     VALUES ($1, $2, $3, $4, $5, now() + ${INVITED_FOR})`,
    [hash, accountId, email.trim(), role, invitedBy],
  );
  return token;
}

/** One that was not accepted yet. */
export interface Invitation {
  /** The hash of its token, in hex: names it, opens nothing. */
  id: string;
  email: string;
  role: Role;
  invitedBy: string;
  expiresAt: Date;
}

export async function listInvitations(database: Queryable, accountId: string): Promise<Invitation[]> {
  return database.query({
    text: `SELECT encode(token_hash, 'hex') AS id, invitation.email, role, person.email AS "invitedBy", expires_at AS "expiresAt"
           FROM invitation JOIN person ON person.id = invited_by
           WHERE account_id = $1 AND expires_at > now() ORDER BY expires_at, id`,
    values: [accountId],
    row: z.strictObject({ id: z.string(), email: z.string(), role, invitedBy: z.string(), expiresAt: z.date() }),
  });
}

/** @throws GatewayError `not_found`. */
export async function revokeInvitation(database: Queryable, { accountId, id }: { accountId: string; id: string }): Promise<void> {
  const revoked = await database.execute("DELETE FROM invitation WHERE account_id = $1 AND encode(token_hash, 'hex') = $2", [
    accountId,
    id,
  ]);
  if (revoked === 0) throw new GatewayError("not_found", "This account has no such invitation.");
}

/** What an invitation leads to. @throws GatewayError `not_found` for one that was used, ran out or never was. */
export async function readInvitation(database: Queryable, token: string): Promise<Membership & { email: string }> {
  const [invitation] = await database.query({
    text: `SELECT account_id AS "accountId", account.name AS "accountName", role, email
           FROM invitation JOIN account ON account.id = account_id WHERE token_hash = $1 AND expires_at > now()`,
    values: [hashToken(token)],
    row: membershipRow.extend({ email: z.string() }),
  });
  if (invitation === undefined) throw noInvitation();
  return invitation;
}

function noInvitation(): GatewayError {
  return new GatewayError("not_found", "This invitation was used already, or ran out. Ask for a new one.");
}

/**
 * Makes the person a member; one who is a member already keeps their role. The invitation is for whoever has it: mail may be forwarded, and addresses differ.
 * @throws GatewayError `not_found` for one that was used, ran out or never was.
 */
export async function acceptInvitation(database: Database, token: string, person: Pick<Person, "id">): Promise<Membership> {
  return database.transaction((transaction) => acceptInvitationIn(transaction, token, person));
}

/** The same as a part of something larger. */
export async function acceptInvitationIn(transaction: Queryable, token: string, person: Pick<Person, "id">): Promise<Membership> {
  const [invitation] = await transaction.query({
    text: `WITH used AS (DELETE FROM invitation WHERE token_hash = $1 AND expires_at > now() RETURNING account_id, role)
           SELECT account_id AS "accountId", account.name AS "accountName", role FROM used JOIN account ON account.id = account_id`,
    values: [hashToken(token)],
    row: membershipRow,
  });
  if (invitation === undefined) throw noInvitation();
  await addMember(transaction, { ...invitation, personId: person.id });
  const memberships = await listMemberships(transaction, person.id);
  return memberships.find(({ accountId }) => accountId === invitation.accountId) ?? invitation;
}

/** @throws GatewayError `not_found`; `invalid_request` where no owner would be left. */
export async function changeRole(
  database: Database,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<void> {
  await changeMember(database, accountId, (transaction) =>
    transaction.execute("UPDATE member SET role = $3 WHERE account_id = $1 AND person_id = $2", [accountId, personId, role]),
  );
}

/** Ends their sessions in the account, too. @throws as `changeRole`. */
export async function removeMember(
  database: Database,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await changeMember(database, accountId, async (transaction) => {
    await transaction.execute("DELETE FROM session WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
    return transaction.execute("DELETE FROM member WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
  });
}

/** One change of an account's members at a time: two owners who leave at once would leave none. */
async function changeMember(
  database: Database,
  accountId: string,
  change: (transaction: Queryable) => Promise<number>,
): Promise<void> {
  await database.transaction(async (transaction) => {
    await transaction.execute("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
    if ((await change(transaction)) === 0) throw new GatewayError("not_found", "This account has no such member.");
    const owners = await transaction.execute("SELECT FROM member WHERE account_id = $1 AND role = 'owner'", [accountId]);
    if (owners === 0) throw new GatewayError("invalid_request", "An account keeps at least one owner.", { field: "role" });
  });
}
