import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { roleColumn, type Role } from "../people/members.ts";
import type { Database, Queryable, Reader } from "../postgres/database.ts";
import { OTHER, type OrOther } from "../postgres/known-or-other.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** What an identity provider stores with a user. Their sign-in name and address here are their own. */
export interface UserProfile {
  /** Unique in the account, whatever its case. */
  userName: string;
  /** Where the invitation goes. */
  email: string;
  externalId: string | null;
  displayName: string | null;
  givenName: string | null;
  familyName: string | null;
}

/** Somebody in an account, or invited to it, or no longer in it, as its identity provider sees them. */
export interface ProvisionedUser extends UserProfile {
  /** Stays the same when an invitation is accepted. */
  id: string;
  role: OrOther<Role>;
  /** A member, or somebody who has not accepted their invitation yet. */
  isActive: boolean;
  /** null: they have never been a member. */
  personId: string | null;
  isMember: boolean;
  createdAt: Date;
  changedAt: Date;
}

const userRow = z.strictObject({
  id: z.string(),
  userName: z.string(),
  email: z.string(),
  externalId: z.string().nullable(),
  displayName: z.string().nullable(),
  givenName: z.string().nullable(),
  familyName: z.string().nullable(),
  role: roleColumn,
  isActive: z.boolean(),
  personId: z.string().nullable(),
  isMember: z.boolean(),
  createdAt: z.date(),
  changedAt: z.date(),
});

/** Of the account $1: those with a row, and all other members. Members are active; who was removed by hand is not. */
const USERS = `(
  SELECT provisioned.id, user_name AS "userName", email, external_id AS "externalId", display_name AS "displayName",
    given_name AS "givenName", family_name AS "familyName", coalesce(member.role, provisioned.role) AS role,
    member.person_id IS NOT NULL OR is_active AND (provisioned.person_id IS NULL OR EXISTS (
      SELECT FROM invitation WHERE invitation.account_id = $1 AND lower(invitation.email) = lower(provisioned.email)
        AND expires_at > now())) AS "isActive",
    provisioned.person_id AS "personId", member.person_id IS NOT NULL AS "isMember",
    created_at AS "createdAt", changed_at AS "changedAt"
  FROM provisioned_user AS provisioned
  LEFT JOIN member ON member.account_id = $1 AND member.person_id = provisioned.person_id
  WHERE provisioned.account_id = $1
  UNION ALL
  SELECT person.id, person.email, person.email, NULL, person.name, NULL, NULL, member.role, true, person.id, true, since, since
  FROM member JOIN person ON person.id = member.person_id
  WHERE member.account_id = $1
    AND NOT EXISTS (SELECT FROM provisioned_user AS other WHERE other.account_id = $1 AND other.person_id = person.id)
) AS users`;

/** Fields by which users can be found. Names and addresses match whatever their case. */
const MATCHES = {
  id: "id::text = lower($2)",
  userName: 'lower("userName") = lower($2)',
  email: "lower(email) = lower($2)",
  externalId: '"externalId" = $2',
} as const;

export interface UserFilter {
  by: keyof typeof MATCHES;
  value: string;
}

/** One page of an account's users, in the order of their ids. @param offset how many to leave out. */
export async function listUsers(
  database: Reader,
  { accountId, filter, offset, limit }: { accountId: string; filter?: UserFilter | undefined; offset: number; limit: number },
): Promise<{ users: ProvisionedUser[]; total: number }> {
  const where = filter === undefined ? "$2::text IS NULL" : MATCHES[filter.by];
  const values = [accountId, filter?.value ?? null];
  const [counted] = await database.query({
    text: `SELECT count(*)::integer AS total FROM ${USERS} WHERE ${where}`,
    values,
    row: z.strictObject({ total: z.int() }),
  });
  const users = await database.query({
    text: `SELECT * FROM ${USERS} WHERE ${where} ORDER BY id LIMIT $3 OFFSET $4`,
    values: [...values, limit, offset],
    row: userRow,
  });
  return { users, total: counted?.total ?? 0 };
}

/** @throws GatewayError `not_found`. */
export async function findUser(
  database: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<ProvisionedUser> {
  const filter = { by: "id", value: id } as const;
  const { users } = z.uuid().safeParse(id).success
    ? await listUsers(database, { accountId, filter, offset: 0, limit: 1 })
    : { users: [] };
  const [user] = users;
  if (user === undefined) throw new GatewayError("not_found", "This account has no user with this id.");
  return user;
}

/**
 * Records a user who is neither in the account nor invited yet. @returns the id.
 * @throws GatewayError `invalid_request`, status 409 if there is one of this name or address; 400 beyond the bound.
 */
export async function createUser(
  database: Database,
  { accountId, role, ...profile }: UserProfile & { accountId: string; role: Role },
): Promise<string> {
  const id = uuidv7();
  await database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    await checkFree(transaction, { accountId, id, profile });
    const max = ACCOUNT_BOUNDS.provisionedUsers;
    if ((await transaction.execute("SELECT FROM provisioned_user WHERE account_id = $1 LIMIT $2", [accountId, max])) >= max)
      throw new GatewayError(
        "invalid_request",
        `An account can have at most ${max} SCIM users, including inactive ones. Delete some first.`,
      );
    await insertUser(transaction, { id, accountId, profile, role, isActive: false, personId: null });
  });
  return id;
}

/**
 * Changes some of what is stored with a user, who has a row from then on. Of two changes at once, neither undoes the other.
 * @throws GatewayError `not_found`; otherwise as `createUser`.
 */
export async function changeUser(
  database: Database,
  {
    accountId,
    id,
    change,
  }: { accountId: string; id: string; change: Partial<UserProfile & Pick<ProvisionedUser, "role" | "isActive">> },
): Promise<void> {
  await database.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const found = await findUser(transaction, { accountId, id });
    const { personId, isMember, role: earlier } = found;
    const { role, isActive, ...profile } = { ...found, ...change };
    await checkFree(transaction, { accountId, id, profile });
    const changed = await transaction.execute(
      `UPDATE provisioned_user SET user_name = $3, email = $4, external_id = $5, display_name = $6, given_name = $7,
         family_name = $8, role = coalesce($9, role), is_active = $10, changed_at = now() WHERE account_id = $1 AND id = $2`,
      [accountId, id, ...columns(profile), role === OTHER ? null : roleOfInvitation(role), isActive],
    );
    // A member of whom nothing was stored so far. They count in the bound, but it must not keep them from being removed.
    if (changed === 0) await insertUser(transaction, { id, accountId, profile, role, isActive, personId });
    if (isMember || role === earlier || role === OTHER) return;
    await transaction.execute("UPDATE invitation SET role = $3 WHERE account_id = $1 AND lower(email) = lower($2)", [
      accountId,
      profile.email,
      role,
    ]);
  });
}

/** Forgets what is stored with a user; a member stays one. */
export async function deleteUser(database: Queryable, { accountId, id }: { accountId: string; id: string }): Promise<void> {
  await database.execute("DELETE FROM provisioned_user WHERE account_id = $1 AND id = $2", [accountId, id]);
}

/**
 * Whoever accepts the invitation to an address is that user from then on, also in place of somebody who has left, and no longer
 * the user they were before they left. Call it before they become a member: who is one already stays the user they are.
 */
export async function linkUser(
  transaction: Queryable,
  { accountId, email, personId }: { accountId: string; email: string; personId: string },
): Promise<void> {
  const isMember = await transaction.execute("SELECT FROM member WHERE account_id = $1 AND person_id = $2", [
    accountId,
    personId,
  ]);
  const [invited] = await transaction.query({
    text: `SELECT id FROM provisioned_user AS provisioned
           WHERE account_id = $1 AND lower(email) = lower($2) AND person_id IS DISTINCT FROM $3
             AND NOT EXISTS (SELECT FROM member WHERE account_id = $1 AND member.person_id = provisioned.person_id)
           ORDER BY id LIMIT 1`,
    values: [accountId, email, personId],
    row: z.strictObject({ id: z.string() }),
  });
  if (invited === undefined) return;
  if (isMember === 0)
    await transaction.execute(
      "UPDATE provisioned_user SET person_id = NULL, is_active = false WHERE account_id = $1 AND person_id = $2",
      [accountId, personId],
    );
  await transaction.execute(
    `UPDATE provisioned_user SET person_id = $3 WHERE account_id = $1 AND id = $2
     AND NOT EXISTS (SELECT FROM provisioned_user WHERE account_id = $1 AND person_id = $3)`,
    [accountId, invited.id, personId],
  );
}

interface NewRow {
  id: string;
  accountId: string;
  profile: UserProfile;
  role: OrOther<Role>;
  isActive: boolean;
  personId: string | null;
}

async function insertUser(transaction: Queryable, { id, accountId, profile, role, isActive, personId }: NewRow): Promise<void> {
  await transaction.execute(
    `INSERT INTO provisioned_user
       (account_id, id, user_name, email, external_id, display_name, given_name, family_name, role, is_active, person_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [accountId, id, ...columns(profile), roleOfInvitation(role), isActive, personId],
  );
}

/** An owner who was removed is not invited as one: only owners make owners, and not by SCIM. */
function roleOfInvitation(role: OrOther<Role>): Role {
  if (role === OTHER) return "viewer";
  return role === "owner" ? "member" : role;
}

function columns({ userName, email, externalId, displayName, givenName, familyName }: UserProfile): (string | null)[] {
  return [userName, email, externalId, displayName, givenName, familyName];
}

async function checkFree(
  transaction: Queryable,
  { accountId, id, profile: { userName, email } }: { accountId: string; id: string; profile: UserProfile },
): Promise<void> {
  const taken = await transaction.execute(
    `SELECT FROM ${USERS} WHERE id <> $2 AND (lower("userName") = lower($3) OR lower(email) = lower($4)) LIMIT 1`,
    [accountId, id, userName, email],
  );
  if (taken > 0)
    throw new GatewayError("invalid_request", "The account already has a user with this userName or email address.", {
      status: 409,
      field: "userName",
    });
}
