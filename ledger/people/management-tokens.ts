import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import type { OrOther } from "../postgres/known-or-other.ts";
import { noteUse } from "../postgres/note-use.ts";
import { HAS_PASSKEY, HAS_TOTP, roleColumn, ROLES, type Role } from "./members.ts";
import { checkPersonName } from "./person-name.ts";
import { hashToken, mintToken } from "./token.ts";
import { lockAccount } from "../accounts/lock-account.ts";

/** Lets a program manage an account, as the pages let a person; it calls no model. */
export interface ManagementToken {
  /** UUIDv7: identifies it, grants nothing. */
  id: string;
  accountId: string;
  name: string;
  /** Its rights are those of this role, and never more than its creator's current ones. */
  role: OrOther<Role>;
  /** Email address of its creator. */
  createdBy: string;
  createdAt: Date;
  expiresAt: Date | null;
  /** Rounded to the minute. */
  lastUsedAt: Date | null;
  /**
   * "stopped": its creator is no longer in the account, or lacks the second factor that the account requires; or one of the two has a
   * role of a newer version.
   */
  status: "active" | "expired" | "stopped";
  /** It reads figures of the whole service while its creator is an administrator. */
  readsService: boolean;
}

export interface NewManagementToken {
  accountId: string;
  name: string;
  role: Role;
  createdBy: string;
  expiresAt: Date | null;
  /** Has its creator proved a second factor? */
  hasSecondFactor?: boolean;
  /** Only for administrators. */
  readsService?: boolean;
}

const PREFIX = "mgmt_";
/** With 32 random bytes in base64url. */
export const MANAGEMENT_TOKEN_LENGTH = PREFIX.length + 43;
const KNOWN_ROLES = ROLES.map((role) => `'${role}'`).join(", ");
/** Of tokens joined as in `FROM`. */
const IS_STOPPED = `(member.role IS NULL OR member.role NOT IN (${KNOWN_ROLES}) OR management_token.role NOT IN (${KNOWN_ROLES}) OR (
  NOT (management_token.has_second_factor OR ${HAS_TOTP} OR ${HAS_PASSKEY})
  AND EXISTS (SELECT FROM second_factor_rule AS rule WHERE rule.account_id = management_token.account_id)))`;
const IN_FORCE = `revoked_at IS NULL AND NOT ${IS_STOPPED} AND (expires_at IS NULL OR expires_at > now())`;
const COLUMNS = `management_token.id, management_token.account_id AS "accountId", management_token.name,
  ${lesserRole("management_token.role", "coalesce(member.role, management_token.role)")} AS role, email AS "createdBy",
  management_token.created_at AS "createdAt", expires_at AS "expiresAt", last_used_at AS "lastUsedAt",
  CASE WHEN ${IS_STOPPED} THEN 'stopped' WHEN expires_at <= now() THEN 'expired' ELSE 'active' END AS status,
  reads_service AND is_admin AS "readsService"`;
const FROM = `FROM management_token JOIN person ON person.id = created_by
  LEFT JOIN member ON member.account_id = management_token.account_id AND member.person_id = created_by`;
const tokenRow = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  name: z.string(),
  role: roleColumn,
  createdBy: z.string(),
  createdAt: z.date(),
  expiresAt: z.date().nullable(),
  lastUsedAt: z.date().nullable(),
  status: z.enum(["active", "expired", "stopped"]),
  readsService: z.boolean(),
});

/** As SQL: the lower of two roles; that of a newer version if one is. */
function lesserRole(one: string, other: string): string {
  return `CASE WHEN ${one} NOT IN (${KNOWN_ROLES}) THEN ${one} WHEN ${other} NOT IN (${KNOWN_ROLES}) THEN ${other}
    WHEN 'viewer' IN (${one}, ${other}) THEN 'viewer' WHEN 'member' IN (${one}, ${other}) THEN 'member' ELSE 'owner' END`;
}

/** Was this meant to be one? */
export function isManagementToken(credential: string): boolean {
  return credential.startsWith(PREFIX);
}

/**
 * @returns value: the full text, which is not stored anywhere.
 * @throws GatewayError `invalid_request` with the invalid field.
 */
export async function createManagementToken(
  database: Queryable,
  { accountId, name, role, createdBy, expiresAt, hasSecondFactor = false, readsService = false }: NewManagementToken,
): Promise<{ id: string; value: string }> {
  if (expiresAt !== null && expiresAt.getTime() <= Date.now())
    throw new GatewayError("invalid_request", "Choose today or a later day.", { field: "expires" });
  const id = uuidv7();
  const { token } = mintToken();
  const value = `${PREFIX}${token}`;
  // One at a time: concurrent calls would all find room.
  await lockAccount(database, accountId);
  const made = await database.execute(
    `INSERT INTO management_token (id, account_id, name, role, token_hash, created_by, expires_at, has_second_factor, reads_service)
     SELECT $1, $2, $3, $4, $5, $6, $7, $9, $10
     WHERE (SELECT count(*) FROM management_token WHERE account_id = $2 AND (revoked_at IS NULL OR revoked_at > now() - interval '1 day')) < $8`,
    [
      id,
      accountId,
      checkPersonName(name),
      role,
      hashToken(value),
      createdBy,
      expiresAt,
      ACCOUNT_BOUNDS.managementTokens,
      hasSecondFactor,
      readsService,
    ],
  );
  if (made === 0)
    throw new GatewayError(
      "invalid_request",
      `An account can have at most ${ACCOUNT_BOUNDS.managementTokens} tokens, including those revoked in the last 24 hours. Revoke unused tokens, and try again a day later.`,
    );
  return { id, value };
}

/** The token of this value, while it is in force; its use is recorded. */
export async function findManagementToken(database: Queryable, value: string): Promise<ManagementToken | undefined> {
  const [token] = await database.query({
    text: `SELECT ${COLUMNS} ${FROM} WHERE token_hash = $1 AND ${IN_FORCE}`,
    values: [hashToken(value)],
    row: tokenRow,
  });
  if (token !== undefined && (token.lastUsedAt === null || Date.now() - token.lastUsedAt.getTime() > 60_000))
    await noteUse(database, "UPDATE management_token SET last_used_at = date_trunc('minute', now()) WHERE id = $1", [token.id]);
  return token;
}

/** Of a token in force; undefined otherwise. */
export async function readTokenRole(database: Queryable, id: string | null): Promise<OrOther<Role> | undefined> {
  const [token] = await database.query({
    text: `SELECT ${COLUMNS} ${FROM} WHERE management_token.id = $1 AND ${IN_FORCE}`,
    values: [id],
    row: tokenRow,
  });
  return token?.role;
}

/** Who created a token. */
export async function findTokenCreator(
  database: Queryable,
  id: string,
): Promise<{ id: string; name: string; email: string } | undefined> {
  const [creator] = await database.query({
    text: "SELECT person.id, person.name, email FROM management_token JOIN person ON person.id = created_by WHERE management_token.id = $1",
    values: [id],
    row: z.strictObject({ id: z.string(), name: z.string(), email: z.string() }),
  });
  return creator;
}

/** An account's, newest first, excluding revoked ones. */
export async function listManagementTokens(database: Queryable, accountId: string): Promise<ManagementToken[]> {
  return database.query({
    text: `SELECT ${COLUMNS} ${FROM} WHERE management_token.account_id = $1 AND revoked_at IS NULL ORDER BY management_token.id DESC`,
    values: [accountId],
    row: tokenRow,
  });
}

/** @throws GatewayError `not_found` when the account has no such token, or it was revoked. */
export async function revokeManagementToken(
  database: Queryable,
  { accountId, id }: { accountId: string; id: string },
): Promise<void> {
  const revoked = z.uuid().safeParse(id).success
    ? await database.execute(
        "UPDATE management_token SET revoked_at = now() WHERE account_id = $1 AND id = $2 AND revoked_at IS NULL",
        [accountId, id],
      )
    : 0;
  if (revoked === 0) throw new GatewayError("not_found", "This account has no such token.");
}
