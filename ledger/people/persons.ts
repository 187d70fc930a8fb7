import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { createAccountIn } from "../accounts/accounts.ts";
import { countAttempt, signUpAttempt } from "../sign-in/attempts.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { addIdentity, type Identity } from "../sign-in/identities.ts";
import { acceptInvitationIn } from "./invitations.ts";
import { addMember, HAS_PASSKEY, HAS_TOTP } from "./members.ts";
import { checkLength, hashPassword } from "../sign-in/password.ts";
import { checkStrength } from "../sign-in/password-strength.ts";
import { checkPersonName } from "./person-name.ts";

/** A person who signs in. */
export interface Person {
  /** UUIDv7. */
  id: string;
  email: string;
  name: string;
  isAdmin: boolean;
  /** Have they proved that the address is theirs? */
  isEmailVerified: boolean;
  /** false: they sign in only through another service. */
  hasPassword: boolean;
  /** Codes of an authenticator app. */
  hasTotp: boolean;
  hasPasskey: boolean;
  /** Either of them: their password alone is not enough. */
  hasSecondFactor: boolean;
}

/** Signs in by a password, or through another service. */
export type NewPerson = { email: string; name: string; isEmailVerified?: boolean } & (
  | {
      password: string;
      /** IP address of an unknown person who signs up: hashing a password is too expensive to be unlimited. */
      address?: string;
    }
  | { identity: Identity }
);

const COLUMNS = `id, email, name, is_admin AS "isAdmin", email_verified_at IS NOT NULL AS "isEmailVerified",
  password_hash IS NOT NULL AS "hasPassword", ${HAS_TOTP} AS "hasTotp", ${HAS_PASSKEY} AS "hasPasskey",
  ${HAS_TOTP} OR ${HAS_PASSKEY} AS "hasSecondFactor"`;
const personRow = z.strictObject({
  id: z.string(),
  email: z.string(),
  name: z.string(),
  isAdmin: z.boolean(),
  isEmailVerified: z.boolean(),
  hasPassword: z.boolean(),
  hasTotp: z.boolean(),
  hasPasskey: z.boolean(),
  hasSecondFactor: z.boolean(),
});

/**
 * Creates a person, as owner of their own account.
 * @throws GatewayError `invalid_request` with the invalid field; `email` also when the address is known already.
 */
export async function signUp(database: Database, person: NewPerson): Promise<{ person: Person; accountId: string }> {
  const made = await makePerson(database, person);
  const accountId = accountIdFor(made);
  await database.transaction(async (transaction) => {
    await insertPerson(transaction, made);
    await createAccountIn(transaction, { id: accountId, name: made.name });
    await addMember(transaction, { accountId, personId: made.id, role: "owner" });
  });
  return { person: found(await findPerson(database, made.id)), accountId };
}

/**
 * Creates a person who joins the account of their invitation, without one of their own.
 * @throws as `signUp`; GatewayError `not_found` for an invitation that was used, has expired or never existed.
 */
export async function signUpInvited(
  database: Database,
  { invitation, ...person }: NewPerson & { invitation: string },
): Promise<{ person: Person; accountId: string }> {
  const made = await makePerson(database, person);
  return database.transaction(async (transaction) => {
    await insertPerson(transaction, made);
    const { accountId } = await acceptInvitationIn(transaction, invitation, made);
    return { person: found(await findPerson(transaction, made.id)), accountId };
  });
}

/** Creates a person as owner of an existing account. @throws as `signUp`. */
export async function addOwner(database: Database, { accountId, ...person }: NewPerson & { accountId: string }): Promise<void> {
  const made = await makePerson(database, person);
  await database.transaction(async (transaction) => {
    await insertPerson(transaction, made);
    await addMember(transaction, { accountId, personId: made.id, role: "owner" });
  });
}

export async function findPerson(database: Queryable, id: string): Promise<Person | undefined> {
  const [person] = await database.query({ text: `SELECT ${COLUMNS} FROM person WHERE id = $1`, values: [id], row: personRow });
  return person;
}

export async function findPersonByEmail(database: Queryable, email: string): Promise<Person | undefined> {
  const [person] = await database.query({
    text: `SELECT ${COLUMNS} FROM person WHERE lower(email) = lower($1)`,
    values: [email.trim()],
    row: personRow,
  });
  return person;
}

/** @throws GatewayError `invalid_request` for an invalid name. */
export async function renamePerson(database: Queryable, personId: string, name: string): Promise<void> {
  await database.execute("UPDATE person SET name = $2 WHERE id = $1", [personId, checkPersonName(name)]);
}

/** @throws GatewayError `invalid_request` for an invalid password. */
export async function setPassword(
  database: Queryable,
  { id, email, name }: Pick<Person, "id" | "email" | "name">,
  password: string,
): Promise<void> {
  checkLength(password);
  await checkStrength(password, [email, name]);
  await database.execute("UPDATE person SET password_hash = $2 WHERE id = $1", [id, await hashPassword(password)]);
}

interface MadePerson {
  id: string;
  email: string;
  name: string;
  isEmailVerified: boolean;
  passwordHash: string | null;
  identity: Identity | null;
}

async function makePerson(
  database: Database,
  { email, name, isEmailVerified = false, ...credential }: NewPerson,
): Promise<MadePerson> {
  const person = { id: uuidv7(), email: email.trim() };
  if (!z.email().max(254).safeParse(person.email).success)
    throw new GatewayError("invalid_request", "This is not an email address.", { field: "email" });
  const made = { ...person, name: checkPersonName(name), isEmailVerified };
  const passwordHash = "password" in credential ? await hashOfNew(database, { email, name, ...credential }) : null;
  if ((await findPersonByEmail(database, person.email)) !== undefined) throw emailTaken();
  return { ...made, passwordHash, identity: "identity" in credential ? credential.identity : null };
}

async function hashOfNew(
  database: Database,
  { email, name, password, address }: { email: string; name: string; password: string; address?: string },
): Promise<string> {
  checkLength(password);
  if (address !== undefined) await countAttempt(database, signUpAttempt({ address }));
  await checkStrength(password, [email, name]);
  return hashPassword(password);
}

async function insertPerson(transaction: Queryable, person: MadePerson): Promise<void> {
  const { id, email, name, isEmailVerified, passwordHash, identity } = person;
  const made = await transaction.execute(
    `INSERT INTO person (id, email, name, password_hash, email_verified_at)
     VALUES ($1, $2, $3, $4, CASE WHEN $5 THEN now() END) ON CONFLICT DO NOTHING`,
    [id, email, name, passwordHash, isEmailVerified],
  );
  // Two concurrent sign-ups.
  if (made === 0) throw emailTaken();
  if (identity !== null && !(await addIdentity(transaction, id, identity))) throw emailTaken();
}

function emailTaken(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "This address cannot be used to sign up here. If it is yours and you have signed up before, sign in instead.",
    { field: "email" },
  );
}

/** Readable in logs and resources, and unique: the person's name and the end of their id. */
function accountIdFor({ id, name }: MadePerson): string {
  const words = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return [...(words === "" ? ["account"] : [words.replace(/-+$/, "")]), id.slice(-8)].join("-");
}

function found(person: Person | undefined): Person {
  if (person === undefined) throw new Error("A person who was just made is not there.");
  return person;
}
