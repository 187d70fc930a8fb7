import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { expirePlaygroundKey } from "../keys/expire-playground-key.ts";
import type { Queryable, Reader } from "../postgres/database.ts";
import { knownOrOther, OTHER, type OrOther } from "../postgres/known-or-other.ts";
import { queueEvent } from "../webhooks/events.ts";
import { lockAccount } from "../accounts/lock-account.ts";
import { lockPerson } from "./lock-person.ts";

/** "viewer" sees everything and changes nothing; "owner" also manages members. */
export const ROLES = ["owner", "member", "viewer"] as const;
export type Role = (typeof ROLES)[number];

export interface Membership {
  accountId: string;
  accountName: string;
  role: OrOther<Role>;
  /** By operators of the service: keys are rejected, and payments are not possible. */
  isSuspended: boolean;
  /** Its owner requires a second factor of all members. */
  requiresSecondFactor: boolean;
}

export interface Member {
  personId: string;
  email: string;
  name: string;
  role: OrOther<Role>;
  since: Date;
  hasSecondFactor: boolean;
}

/** A role of a newer version allows nothing here. */
export const roleColumn = knownOrOther(ROLES);

/** Whether a role may do more than another. One of a newer version may do nothing. */
export function isMore(role: Role, than: OrOther<Role>): boolean {
  return than === OTHER || ROLES.indexOf(role) < ROLES.indexOf(than);
}
export const membershipRow = z.strictObject({
  accountId: z.string(),
  accountName: z.string(),
  role: roleColumn,
  isSuspended: z.boolean(),
  requiresSecondFactor: z.boolean(),
});
/** Columns of `membershipRow` except `role`. */
export const ACCOUNT_OF_MEMBERSHIP = `account_id AS "accountId", account.name AS "accountName", status <> 'active' AS "isSuspended",
  EXISTS (SELECT FROM second_factor_rule AS rule WHERE rule.account_id = account.id) AS "requiresSecondFactor"`;
/** Of a person. */
export const HAS_TOTP = "EXISTS (SELECT FROM person_totp WHERE person_totp.person_id = person.id)";
export const HAS_PASSKEY = "EXISTS (SELECT FROM passkey WHERE passkey.person_id = person.id)";
const memberRow = z.strictObject({
  personId: z.string(),
  email: z.string(),
  name: z.string(),
  role: roleColumn,
  since: z.date(),
  hasSecondFactor: z.boolean(),
});

/** A person's accounts, oldest first. */
export async function listMemberships(database: Queryable, personId: string): Promise<Membership[]> {
  return database.query({
    text: `SELECT ${ACCOUNT_OF_MEMBERSHIP}, role FROM member JOIN account ON account.id = account_id
           WHERE person_id = $1 ORDER BY since, account_id`,
    values: [personId],
    row: membershipRow,
  });
}

export async function listMembers(database: Reader, accountId: string): Promise<Member[]> {
  return database.query({
    text: `SELECT person_id AS "personId", email, name, role, since, ${HAS_TOTP} OR ${HAS_PASSKEY} AS "hasSecondFactor"
           FROM member JOIN person ON person.id = person_id
           WHERE account_id = $1 ORDER BY since, person_id`,
    values: [accountId],
    row: memberRow,
  });
}

/**
 * Before an invited person joins; an existing member takes no room. Call it in the transaction that adds them.
 * @throws GatewayError `invalid_request` if the account has its maximum of members, or the person of accounts.
 */
export async function checkRoomForMember(
  transaction: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  const { members, accountsOfPerson } = ACCOUNT_BOUNDS;
  await lockAccount(transaction, accountId);
  if ((await transaction.execute("SELECT FROM member WHERE account_id = $1 AND person_id = $2", [accountId, personId])) > 0)
    return;
  if ((await transaction.execute("SELECT FROM member WHERE account_id = $1 LIMIT $2", [accountId, members])) >= members)
    throw new GatewayError("invalid_request", `An account can have at most ${members} members. Ask its owner to remove one.`);
  // Their other accounts are locked by others.
  await lockPerson(transaction, personId);
  if (
    (await transaction.execute("SELECT FROM member WHERE person_id = $1 LIMIT $2", [personId, accountsOfPerson])) >=
    accountsOfPerson
  )
    throw new GatewayError("invalid_request", `A person can belong to at most ${accountsOfPerson} accounts. Leave one first.`);
}

/** An existing member keeps their role. Call it in a transaction, for the account's webhooks are told of a new one. */
export async function addMember(
  transaction: Queryable,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<void> {
  const added = await transaction.execute(
    "INSERT INTO member (account_id, person_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    [accountId, personId, role],
  );
  if (added > 0) await queueEvent(transaction, { accountId, type: "member.joined", data: { member_id: personId, role } });
}

/**
 * In a transaction. When a person ceases to be an owner, their pending invitations are revoked.
 * @throws GatewayError `not_found`; `invalid_request` if no owner would be left.
 */
export async function changeRole(
  transaction: Queryable,
  { accountId, personId, role }: { accountId: string; personId: string; role: Role },
): Promise<void> {
  await changeMember(transaction, accountId, async () => {
    if (role !== "owner") await revokeSent(transaction, { accountId, personId });
    if (role === "viewer") await expirePlaygroundKey(transaction, { accountId, personId });
    const values = [accountId, personId, role];
    const isOther = "SELECT FROM member WHERE account_id = $1 AND person_id = $2 AND role <> $3";
    if ((await transaction.execute(isOther, values)) > 0)
      await queueEvent(transaction, { accountId, type: "member.role_changed", data: { member_id: personId, role } });
    return transaction.execute("UPDATE member SET role = $3 WHERE account_id = $1 AND person_id = $2", values);
  });
}

/** Ends their sessions in the account, and the invitations that they sent. @throws as `changeRole`. */
export async function removeMember(
  transaction: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await changeMember(transaction, accountId, async () => {
    await transaction.execute("DELETE FROM session WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
    await revokeSent(transaction, { accountId, personId });
    await expirePlaygroundKey(transaction, { accountId, personId });
    await queueEvent(transaction, { accountId, type: "member.removed", data: { member_id: personId } });
    return transaction.execute("DELETE FROM member WHERE account_id = $1 AND person_id = $2", [accountId, personId]);
  });
}

async function revokeSent(
  transaction: Queryable,
  { accountId, personId }: { accountId: string; personId: string },
): Promise<void> {
  await transaction.execute("DELETE FROM invitation WHERE account_id = $1 AND invited_by = $2", [accountId, personId]);
}

/** One change of an account's members at a time: otherwise two owners who leave at once would leave none. */
async function changeMember(transaction: Queryable, accountId: string, change: () => Promise<number>): Promise<void> {
  await lockAccount(transaction, accountId);
  if ((await change()) === 0) throw new GatewayError("not_found", "This account has no such member.");
  const owners = await transaction.execute("SELECT FROM member WHERE account_id = $1 AND role = 'owner'", [accountId]);
  if (owners === 0) throw new GatewayError("invalid_request", "An account needs at least one owner.", { field: "role" });
}
