import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { confirmAttempt, countAttempt, forgiveAttempt, forgiveEmail, signInAttempt } from "./attempts.ts";
import { hashPassword, isOutdated, isPassword, rehashPassword } from "./password.ts";
import { checkStrength } from "./password-strength.ts";
import { findPerson, findPersonByEmail, type Person } from "../people/persons.ts";
import { endOtherSessions } from "./sessions.ts";
import { endWhatWasMade } from "../people/take-over.ts";
import { hashToken, mintToken } from "../people/token.ts";

export interface SignIn {
  email: string;
  password: string;
  /** IP address that it comes from. */
  address: string;
  /** undefined: nobody has signed in there before. */
  browser?: KnownBrowser | undefined;
}

/** A browser with a record of the people who have signed in there. */
export interface KnownBrowser {
  id: string;
  personIds: readonly string[];
}

const RESET_FOR = "interval '1 hour'";
/** Within that hour: typing in a stranger's address must not fill their mailbox. */
const MAX_RESETS = 5;

/**
 * @throws GatewayError `permission_denied` for a wrong address or password, with the same words and duration for both;
 * `rate_limited` after too many failures, whether or not the password is correct.
 */
export async function signIn(database: Database, { email, password, address, browser }: SignIn): Promise<Person> {
  const person = await findPersonByEmail(database, email);
  const isKnown = person !== undefined && browser?.personIds.includes(person.id) === true;
  const attempt = signInAttempt({ email, address, browserId: isKnown ? browser.id : undefined });
  await countAttempt(database, attempt);
  const stored = await readHash(database, person?.id);
  const isRight = await isPassword(password, stored);
  if (!isRight || person === undefined || stored === undefined) throw wrong();
  await forgiveAttempt(database, attempt);
  if (isOutdated(stored)) await replaceHash(database, { personId: person.id, stored, password });
  return person;
}

/**
 * Checks the password of a person who is signed in, before an action that requires more than a session.
 * @throws GatewayError `permission_denied` with field `current`; `rate_limited` after too many failures in this session.
 */
export async function checkPassword(
  database: Database,
  personId: string,
  { password, sessionId }: { password: string; sessionId: string },
): Promise<void> {
  const attempt = confirmAttempt(sessionId);
  await countAttempt(database, attempt);
  if (await isPassword(password, await readHash(database, personId))) return forgiveAttempt(database, attempt);
  throw new GatewayError("permission_denied", "This is not your password.", { field: "current" });
}

/** Whether a person has this password, for a program that need not be slowed down. */
export async function hasPassword(database: Queryable, personId: string, password: string): Promise<boolean> {
  return isPassword(password, await readHash(database, personId));
}

/** @returns the content of the email to the person; undefined for an unknown address, or one that has received too many. */
export async function requestReset(database: Queryable, email: string): Promise<{ person: Person; token: string } | undefined> {
  const person = await findPersonByEmail(database, email);
  if (person === undefined) return undefined;
  const { token, hash } = mintToken();
  // A change of the address that is under way ends the links to the old one: none is made for it any more.
  const isMade = await database.execute(
    `INSERT INTO password_reset (token_hash, person_id, expires_at)
     SELECT $1, id, now() + ${RESET_FOR} FROM person WHERE id = $2 AND email = $4
       AND (SELECT count(*) FROM password_reset WHERE person_id = $2 AND expires_at > now()) < $3 FOR NO KEY UPDATE`,
    [hash, person.id, MAX_RESETS, person.email],
  );
  if (isMade === 0) return undefined;
  return { person, token };
}

/**
 * Sets a new password and ends every session. The token is valid once.
 * @param options.isTakingOver a stranger signed up with the address: everything that they created ends, too.
 * @throws GatewayError `not_found` for one that was used, has expired or never existed; `invalid_request` for the password.
 */
export async function resetPassword(
  database: Database,
  token: string,
  password: string,
  { isTakingOver = false }: { isTakingOver?: boolean } = {},
): Promise<Person> {
  const { email, name } = await findReset(database, token);
  await checkStrength(password, [email, name]);
  // Before the transaction: it must not wait for the queue of hashes.
  const passwordHash = await hashPassword(password);
  return database.transaction(async (transaction) => {
    const [reset] = await transaction.query({
      text: `DELETE FROM password_reset WHERE token_hash = $1 AND expires_at > now() RETURNING person_id AS "personId"`,
      values: [hashToken(token)],
      row: z.strictObject({ personId: z.string() }),
    });
    const person = reset === undefined ? undefined : await findPerson(transaction, reset.personId);
    if (person === undefined) throw noReset();
    await transaction.execute(
      "UPDATE person SET password_hash = $2, email_verified_at = coalesce(email_verified_at, now()) WHERE id = $1",
      [person.id, passwordHash],
    );
    await transaction.execute("DELETE FROM password_reset WHERE person_id = $1", [person.id]);
    await endOtherSessions(transaction, { personId: person.id, id: null });
    if (isTakingOver) await endWhatWasMade(transaction, person.id);
    await forgiveEmail(transaction, person.email);
    return (await findPerson(transaction, person.id)) ?? person;
  });
}

/**
 * The person whose password the token changes. @throws GatewayError `not_found` for one that was used, has expired or never
 * existed.
 */
export async function findReset(database: Queryable, token: string): Promise<Person> {
  const [reset] = await database.query({
    text: `SELECT person_id AS "personId" FROM password_reset WHERE token_hash = $1 AND expires_at > now()`,
    values: [hashToken(token)],
    row: z.strictObject({ personId: z.string() }),
  });
  const person = reset === undefined ? undefined : await findPerson(database, reset.personId);
  if (person === undefined) throw noReset();
  return person;
}

function noReset(): GatewayError {
  return new GatewayError("not_found", "This link has expired or was already used. Request a new one.");
}

/** Unless the password was changed meanwhile. */
async function replaceHash(
  database: Queryable,
  { personId, stored, password }: { personId: string; stored: string; password: string },
): Promise<void> {
  await database.execute("UPDATE person SET password_hash = $3 WHERE id = $1 AND password_hash = $2", [
    personId,
    stored,
    await rehashPassword(password),
  ]);
}

async function readHash(database: Queryable, personId: string | undefined): Promise<string | undefined> {
  if (personId === undefined) return undefined;
  const [row] = await database.query({
    text: `SELECT password_hash AS "passwordHash" FROM person WHERE id = $1`,
    values: [personId],
    row: z.strictObject({ passwordHash: z.string().nullable() }),
  });
  return row?.passwordHash ?? undefined;
}

function wrong(): GatewayError {
  return new GatewayError("permission_denied", "The email address or password is wrong.", { field: "password" });
}
