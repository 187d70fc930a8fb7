import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import type { Queryable } from "../postgres/database.ts";
import { noteUse } from "../postgres/note-use.ts";
import { hashToken, isTokenId, mintToken } from "../people/token.ts";

/** One signed-in browser. */
export interface Session {
  /** The hash of its token, in hex: identifies it, grants nothing. */
  id: string;
  personId: string;
  /** The account in view. */
  accountId: string;
  userAgent: string;
  createdAt: Date;
  /** Rounded to the minute. */
  lastSeenAt: Date;
  /**
   * How long ago its person last proved who they are, by Postgres' clock, which wrote that down; below zero if it was set back since.
   */
  provenMsAgo: number;
  /** Whether they proved a second factor in this session. */
  hasSecondFactor: boolean;
  /** The provider through which they signed in; null: the dashboard itself. */
  provider: string | null;
}

/** A session ends after a week without use, and after 30 days in any case. */
const IN_FORCE = "last_seen_at > now() - interval '7 days' AND created_at > now() - interval '30 days'";
const COLUMNS = `encode(token_hash, 'hex') AS id, person_id AS "personId", account_id AS "accountId", user_agent AS "userAgent",
  created_at AS "createdAt", last_seen_at AS "lastSeenAt",
  (extract(epoch FROM now() - authenticated_at) * 1000)::float8 AS "provenMsAgo", has_second_factor AS "hasSecondFactor", provider`;
const sessionRow = z.strictObject({
  id: z.string(),
  personId: z.string(),
  accountId: z.string(),
  userAgent: z.string(),
  createdAt: z.date(),
  lastSeenAt: z.date(),
  provenMsAgo: z.number(),
  hasSecondFactor: z.boolean(),
  provider: z.string().nullable(),
});

/**
 * @param session.provenMsAgo null: it is unknown when its person proved who they are.
 * @returns the token for the browser: a new one at each sign-in, so that nobody can plant one before it.
 */
export async function startSession(
  database: Queryable,
  {
    personId,
    accountId,
    userAgent,
    hasSecondFactor = false,
    provider = null,
    provenMsAgo = 0,
  }: Pick<Session, "personId" | "accountId" | "userAgent"> &
    Partial<Pick<Session, "hasSecondFactor" | "provider"> & { provenMsAgo: number | null }>,
): Promise<string> {
  const { token, hash } = mintToken();
  await database.execute(
    `INSERT INTO session (token_hash, person_id, account_id, user_agent, has_second_factor, provider, authenticated_at)
     VALUES ($1, $2, $3, $4, $5, $6, coalesce(now() - $7 * interval '1 millisecond', 'epoch'))`,
    [hash, personId, accountId, userAgent.slice(0, 200), hasSecondFactor, provider, provenMsAgo],
  );
  await database.execute(
    `DELETE FROM session WHERE token_hash IN (
       SELECT token_hash FROM session WHERE person_id = $1 ORDER BY last_seen_at DESC, created_at DESC OFFSET $2
     )`,
    [personId, ACCOUNT_BOUNDS.sessionsOfPerson],
  );
  return token;
}

export async function findSession(database: Queryable, token: string): Promise<Session | undefined> {
  const hash = hashToken(token);
  const [session] = await database.query({
    text: `SELECT ${COLUMNS} FROM session WHERE token_hash = $1 AND ${IN_FORCE}`,
    values: [hash],
    row: sessionRow,
  });
  if (session !== undefined && Date.now() - session.lastSeenAt.getTime() > 60_000)
    await noteUse(database, "UPDATE session SET last_seen_at = now() WHERE token_hash = $1", [hash]);
  return session;
}

/** A person's sessions, most recently used first. */
export async function listSessions(database: Queryable, personId: string): Promise<Session[]> {
  return database.query({
    text: `SELECT ${COLUMNS} FROM session WHERE person_id = $1 AND ${IN_FORCE} ORDER BY last_seen_at DESC`,
    values: [personId],
    row: sessionRow,
  });
}

/** @returns false if the person has no such session. */
export async function endSession(database: Queryable, { personId, id }: Pick<Session, "personId" | "id">): Promise<boolean> {
  if (!isTokenId(id)) return false;
  const ended = await database.execute("DELETE FROM session WHERE person_id = $1 AND encode(token_hash, 'hex') = $2", [
    personId,
    id,
  ]);
  return ended > 0;
}

/** Its person has just proved who they are. @param proof.hasSecondFactor also by a second factor. */
export async function refreshSession(
  database: Queryable,
  { personId, id }: Pick<Session, "personId" | "id">,
  { hasSecondFactor }: Pick<Session, "hasSecondFactor">,
): Promise<void> {
  await database.execute(
    `UPDATE session SET authenticated_at = now(), has_second_factor = has_second_factor OR $3
     WHERE person_id = $1 AND encode(token_hash, 'hex') = $2`,
    [personId, id, hasSecondFactor],
  );
}

/** Its person has just set up a second factor. */
export async function markSecondFactor(database: Queryable, { personId, id }: Pick<Session, "personId" | "id">): Promise<void> {
  await database.execute("UPDATE session SET has_second_factor = true WHERE person_id = $1 AND encode(token_hash, 'hex') = $2", [
    personId,
    id,
  ]);
}

/** Ends all of a person's sessions but one. @returns how many. */
export async function endOtherSessions(
  database: Queryable,
  { personId, id }: { personId: string; id: string | null },
): Promise<number> {
  return database.execute("DELETE FROM session WHERE person_id = $1 AND encode(token_hash, 'hex') IS DISTINCT FROM $2", [
    personId,
    id,
  ]);
}

/** Switches to another of the person's accounts. */
export async function viewAccount(
  database: Queryable,
  { id, personId, accountId }: Pick<Session, "id" | "personId" | "accountId">,
): Promise<void> {
  await database.execute("UPDATE session SET account_id = $3 WHERE person_id = $1 AND encode(token_hash, 'hex') = $2", [
    personId,
    id,
    accountId,
  ]);
}
